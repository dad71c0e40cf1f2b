//! Runs a mapping, from one moment to the next.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until};

use super::{Invocation, Invoker, Mapping};
use crate::kit::{Queue, clock};
use crate::mapping::{Capacity, Poller};
use crate::sqs::QueueEvent;

/// Longest run. A longer one would probably never end.
const LONGEST_RUN: Duration = Duration::from_secs(30 * 86_400);

/// Most invocations of a run. One with more would probably never end.
const MOST_INVOCATIONS: usize = 10_000;

impl Mapping<'_> {
    pub(super) async fn run(&mut self, end: Option<Instant>) -> Vec<Invocation> {
        self.begin();
        let _run = clock::Run::begin();
        let began = Instant::now();
        let Self { poller, invoker } = self;
        let reports = poller.config.report_batch_item_failures;
        let mut changes = invoker.queue.aws.shared.changes.subscribe();
        let (mut running, mut ended) = (FuturesUnordered::new(), Vec::new());
        loop {
            let is_over = end.is_some_and(|end| end <= Instant::now());
            while !is_over && let Some(delivery) = invoker.poll(poller) {
                running.push(invoker.invoke(delivery, reports));
            }
            changes.mark_unchanged();
            if running.is_empty() && (is_over || (end.is_none() && invoker.is_at_rest())) {
                break;
            }
            invoker.expect_an_end(began, ended.len() + running.len());
            let next = if is_over { None } else { invoker.next_change(poller) };
            let latest = end.filter(|_| !is_over).unwrap_or(began + LONGEST_RUN);
            tokio::select! {
                biased;
                Some(invocation) = running.next() => {
                    poller.end();
                    ended.push(invocation);
                }
                _ = changes.changed() => (),
                () = sleep_until(next.map_or(latest, |next| next.min(latest))) => (),
            }
        }
        ended
    }
}

impl Invoker<'_> {
    /// Returns the next time at which a batch may start, because a message becomes visible or the window of a batch ends.
    fn next_change(&self, poller: &Poller) -> Option<Instant> {
        let aws = &self.queue.aws;
        let [shown, sent] =
            aws.with(|account, now| [account.next_change(&self.queue.name, now), account.next_action()]);
        let next = shown
            .into_iter()
            .chain(sent)
            .chain(poller.due())
            .filter(|_| poller.room(Capacity::Room) > 0)
            .min()?;
        Some(Instant::now() + next.duration_since(aws.now()).unwrap_or_default())
    }

    fn is_at_rest(&self) -> bool {
        self.queue.aws.with(|account, now| account.is_at_rest(&self.queue.name, now))
    }

    fn expect_an_end(&self, began: Instant, invocations: usize) {
        let (name, elapsed) = (&self.queue.name, began.elapsed());
        assert!(
            elapsed < LONGEST_RUN && invocations <= MOST_INVOCATIONS,
            "queue {name} is not idle after {elapsed:?} and {invocations} invocations, allowed: \
             {LONGEST_RUN:?} and {MOST_INVOCATIONS}: {}",
            waiting(&self.queue)
        );
    }
}

/// Describes a few of the messages because of which a queue is not empty.
pub(in crate::kit) fn waiting(queue: &Queue) -> String {
    let gone = queue.aws.find(|_, event| match event {
        QueueEvent::Deleted { queue: from, message_id }
        | QueueEvent::Expired { queue: from, message_id }
        | QueueEvent::Moved { queue: from, message_id, .. } => {
            (*from == queue.name).then(|| message_id.clone())
        }
        QueueEvent::Sent { .. } | QueueEvent::Received { .. } | QueueEvent::VisibilityChanged { .. } => None,
    });
    let gone: HashSet<_> = gone.into_iter().collect();
    let waits = queue.messages().into_iter().filter(|message| !gone.contains(message.id()));
    let waits: Vec<_> = waits
        .take(5)
        .map(|message| format!("{message} {}{}", message.state(), message.last_error()))
        .collect();
    if waits.is_empty() { "it is empty".to_owned() } else { waits.join("; ") }
}
