//! Going through a dead-letter queue once: receive, decide, send, delete, ten at a time. A letter is never deleted before
//! it was sent, and those that stay are visible again in the end.

mod ask;
mod calls;
mod ledger;
mod pace;
mod scope;
mod send;
mod story;
mod tally;
#[cfg(test)]
mod tests;
mod work;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::Context;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::future::join_all;

use self::ledger::{Folding, Ledger};
use self::pace::Pace;
use self::scope::Scope;
pub(crate) use self::story::{Deed, Story, Talk, bar};
pub(crate) use self::tally::Tally;
use super::hold::{Hold, hold};
use super::letter::Letter;
use super::retry::{Destination, Editor};
use super::select::Selection;
use super::triage::Desk;
use crate::aws::Aws;
use crate::find::Queue;
use crate::problem::Problem;

/// Batches in flight at once, where order does not matter; one for so many letters.
const MOST_WORKERS: u64 = 4;
const LETTERS_A_WORKER: u64 = 50;

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) from: Queue,
    pub(crate) deed: Doing,
    pub(crate) selection: Selection,
    /// Of the source queue, from which attempts are counted.
    pub(crate) max_receive_count: Option<u32>,
    /// Letters that are sent a second.
    pub(crate) rate: Option<u32>,
    pub(crate) dry_run: bool,
    pub(crate) talk: Talk,
}

/// What is done with each letter.
#[derive(Debug)]
pub(crate) enum Doing {
    Send(Route),
    Delete,
    /// What somebody says.
    Ask(Box<Triage>),
}

/// Somebody at a desk, and where what they send goes.
#[derive(Debug)]
pub(crate) struct Triage {
    pub(crate) route: Route,
    pub(crate) desk: Desk,
}

/// Where letters go, and how.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) to: Queue,
    /// Whether `to` was named, so that letters of other queues go there too.
    pub(crate) named: bool,
    pub(crate) editor: Option<Editor>,
}

/// Does it.
///
/// # Errors
/// Some letters failed or may be twice, ids were not found, a call failed, or it was interrupted. The sum is told before.
pub(crate) async fn sweep(aws: &Aws, order: &Order) -> Result<Tally, Problem> {
    hold(aws, &order.from, async |hold| Sweep::new(aws, order, hold).run().await).await
}

/// A run.
#[derive(Debug)]
struct Sweep<'run> {
    sqs: Client,
    order: &'run Order,
    hold: &'run Hold,
    pace: Pace,
    story: Story,
    ledger: Mutex<Ledger>,
    /// Letters whose message is being worked on elsewhere.
    twins: Mutex<Vec<Letter>>,
    /// What ends the run before its time.
    fatal: Mutex<Option<anyhow::Error>>,
    /// How many letters somebody was shown, and whether they have had enough.
    asked: AtomicU64,
    quit: AtomicBool,
    began: SystemTime,
}

impl<'run> Sweep<'run> {
    fn new(aws: &Aws, order: &'run Order, hold: &'run Hold) -> Self {
        let began = SystemTime::now();
        let (visible, counted) = (visible(&order.from), counted(&order.from));
        let most = order.selection.most();
        let expected = most.map_or(visible, |most| most.min(visible));
        let with_bar = !matches!(&order.deed, Doing::Send(Route { editor: Some(_), .. }) | Doing::Ask(_));
        Self {
            sqs: aws.sqs(),
            order,
            hold,
            pace: Pace::new(order.rate),
            story: Story::new(order.talk, order.deed.deed(), order.dry_run, with_bar, expected),
            ledger: Mutex::new(Ledger::new(Scope::new(began, visible, counted), order.deed.folding(), most)),
            twins: Mutex::default(),
            fatal: Mutex::default(),
            asked: AtomicU64::new(0),
            quit: AtomicBool::new(false),
            began,
        }
    }

    async fn run(self) -> Result<Tally, Problem> {
        join_all((0..self.workers()).map(|_| self.work())).await;
        self.settle_twins().await;
        if self.hold.is_full() {
            self.story.say("so many letters are held that SQS hands out no more: run it again for the rest");
        }
        let unmet = self.ledger().scope.unmet();
        let to_the_end =
            !self.is_stopping() && self.ledger().room() > 0 && !self.order.selection.is_complete();
        if self.order.from.is_fifo() && unmet > 0 && to_the_end {
            self.story
                .say(&format!("{unmet} letters are behind others of their group and were not looked at"));
        }
        if let Doing::Ask(_) = &self.order.deed {
            self.story.not_shown(unmet);
        }
        let is_cut = self.is_stopping() || self.ledger().room() == 0;
        let missing = if is_cut { vec![] } else { self.order.selection.missing() };
        let hidden = self.ledger().scope.hidden();
        if hidden > 0 && to_the_end {
            self.story.say(&format!(
                "about {hidden} more were in flight and not looked at: a run that was killed hides its letters for up \
                 to 60 s, whoever else holds some for as long as they asked for"
            ));
        }
        let (order, deed) = (self.order, self.order.deed.deed());
        let fatal = self.fatal.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (tally, broken) = self.story.end();
        let sum = tally.sum(deed, order.dry_run, order.from.name(), order.deed.to());
        let written = match (broken, order.talk) {
            (Some(broken), _) => Err(broken),
            (None, Talk::Plain) => write_line(&sum),
            (None, Talk::Json) => Ok(()),
        };
        let not_found = (!missing.is_empty()).then(|| format!("not found: {}", missing.join(" ")));
        let parts: Vec<String> = [tally.problem(deed), not_found].into_iter().flatten().collect();
        let fatal = fatal.map(|fatal| match tally.so_far(deed, order.dry_run) {
            Some(so_far) => anyhow::anyhow!("{fatal:#}; {so_far}"),
            None => fatal,
        });
        // That nobody reads stdout is no excuse for what failed.
        match (fatal, parts.is_empty()) {
            (Some(fatal), true) => Err(Problem::Failed(fatal)),
            (Some(fatal), false) => Err(Problem::Failed(fatal.context(parts.join("; ")))),
            (None, false) => Err(Problem::Failed(anyhow::anyhow!(parts.join("; ")))),
            (None, true) => match written.with_context(|| format!("could not write to stdout, but {sum}")) {
                Ok(()) => Ok(tally),
                Err(error) => Err(Problem::Failed(error)),
            },
        }
    }

    /// One where order matters or somebody looks at each letter.
    fn workers(&self) -> u64 {
        let alone = match &self.order.deed {
            Doing::Send(route) => self.order.from.is_fifo() || route.editor.is_some(),
            Doing::Delete => self.order.from.is_fifo(),
            Doing::Ask(_) => true,
        };
        let letters = self.order.selection.most().unwrap_or(u64::MAX).min(visible(&self.order.from));
        if alone || self.order.dry_run {
            1
        } else {
            letters.div_ceil(LETTERS_A_WORKER).clamp(1, MOST_WORKERS)
        }
    }

    /// That nobody reads stdout any more ends only what was to be read: a letter is moved because somebody asked for it.
    fn is_stopping(&self) -> bool {
        let fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let unread = self.order.dry_run && self.story.is_broken();
        fatal || self.quit.load(Ordering::Relaxed) || self.hold.is_stopped() || unread
    }

    fn fail(&self, error: anyhow::Error) {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Doing {
    pub(crate) fn deed(&self) -> Deed {
        match self {
            Self::Send(_) => Deed::Send,
            Self::Delete => Deed::Delete,
            Self::Ask(_) => Deed::Ask,
        }
    }

    fn route(&self) -> Option<&Route> {
        match self {
            Self::Send(route) => Some(route),
            Self::Ask(triage) => Some(&triage.route),
            Self::Delete => None,
        }
    }

    fn folding(&self) -> Folding {
        match self {
            Self::Send(_) | Self::Ask(_) => Folding::ByMessage,
            Self::Delete => Folding::ByLetter,
        }
    }

    fn to(&self) -> &str {
        self.route().map_or("", |route| route.to.name())
    }
}

impl Route {
    /// What the queue takes.
    pub(crate) fn destination(&self) -> Destination {
        let largest = usize::try_from(self.to.count(&QueueAttributeName::MaximumMessageSize));
        let largest = largest.ok().filter(|largest| *largest > 0).unwrap_or(redrive_sqs::MAX_BYTES);
        Destination { is_fifo: self.to.is_fifo(), largest }
    }
}

/// How many letters can be received.
pub(crate) fn visible(queue: &Queue) -> u64 {
    queue.count(&QueueAttributeName::ApproximateNumberOfMessages)
}

/// How many there are, in flight and delayed ones too.
pub(crate) fn counted(queue: &Queue) -> u64 {
    visible(queue)
        + queue.count(&QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
        + queue.count(&QueueAttributeName::ApproximateNumberOfMessagesDelayed)
}

/// Data, for stdout.
pub(crate) fn write_line(line: &str) -> std::io::Result<()> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}")
}
