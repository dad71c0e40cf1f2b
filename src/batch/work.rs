//! Lanes and a handler to outcomes: so many at a time, until time is up, whatever the handler does.

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::{Instrument, Span};

use crate::batch::{Outcome, Ran};
use crate::judge::Judge;
use crate::message::FromMessage;
use crate::record::Record;
use crate::{Failure, Handler};

/// How long a cancelled handler may take to let go of its thread.
const GRACE: Duration = Duration::from_millis(50);

/// How a batch is worked through.
pub(crate) struct Terms<'a> {
    /// Where handlers run.
    pub(crate) workers: &'a Handle,
    pub(crate) concurrency: usize,
    /// For each message.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) judge: &'a Judge,
    /// For all of them.
    pub(crate) until: Instant,
    /// When the batch began.
    pub(crate) began: Instant,
}

/// What came of a record, and of its handler if it ran.
pub(crate) type Worked = (usize, Outcome, Option<Ran>);

/// A record that does not appear in the answer was not started.
pub(crate) async fn work<H, M>(
    records: &[Record<'_>],
    order: &[usize],
    lanes: Vec<Range<usize>>,
    handler: &Arc<H>,
    terms: &Terms<'_>,
    span: impl Fn(&Record<'_>) -> Span,
) -> Vec<Worked>
where
    H: Handler<M>,
    M: FromMessage,
{
    let mut shift =
        Shift { worked: Vec::with_capacity(order.len()), tasks: JoinSet::new(), running: HashMap::new() };
    let mut waiting = lanes.into_iter();
    loop {
        while shift.running.len() < terms.concurrency.max(1) && Instant::now() < terms.until {
            let Some(lane) = waiting.next() else { break };
            shift.start(lane, records, order, handler, terms, &span);
        }
        let ended = tokio::select! {
            biased;
            ended = shift.tasks.join_next_with_id() => ended,
            () = sleep_until(terms.until) => break,
        };
        let Some(ended) = ended else { break };
        let rest = shift.finish(ended, order, terms.began);
        if !rest.is_empty() && Instant::now() < terms.until {
            shift.start(rest, records, order, handler, terms, &span);
        }
    }
    shift.close(order, terms.began).await
}

/// What runs at the moment, and what has run.
struct Shift {
    worked: Vec<Worked>,
    tasks: JoinSet<(Outcome, Option<Ran>)>,
    running: HashMap<Id, Running>,
}

/// The lane whose first message is running, and since when.
struct Running {
    lane: Range<usize>,
    spawned: Instant,
    /// A task that has not begun when it is cancelled never will.
    begun: Arc<AtomicBool>,
}

impl Shift {
    /// Starts the first message of the lane.
    fn start<H, M>(
        &mut self,
        lane: Range<usize>,
        records: &[Record<'_>],
        order: &[usize],
        handler: &Arc<H>,
        terms: &Terms<'_>,
        span: &impl Fn(&Record<'_>) -> Span,
    ) where
        H: Handler<M>,
        M: FromMessage,
    {
        let record = &records[order[lane.start]];
        let begun = Arc::new(AtomicBool::new(false));
        let task = Task {
            handler: Arc::clone(handler),
            record: record.to_static(),
            judge: terms.judge.clone(),
            time_limit: terms.time_limit,
            began: terms.began,
            begun: Arc::clone(&begun),
        };
        let task = self.tasks.spawn_on(task.run_and_catch().instrument(span(record)), terms.workers);
        self.running.insert(task.id(), Running { lane, spawned: Instant::now(), begun });
    }

    /// Notes the outcome and hands back what the lane may go on with.
    fn finish(&mut self, ended: Ended, order: &[usize], began: Instant) -> Range<usize> {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let running = self.running.remove(&id).expect("every task was noted when it was started");
        let (outcome, ran) = match ended {
            Ok((_, worked)) => worked,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => {
                    // What panics while a panic is dropped is not dropped here, where nothing may panic.
                    std::mem::forget(panic);
                    (Outcome::Panicked("a panic while panicking".to_owned()), Some(running.ran(began)))
                }
                Err(_cancelled) => running.cut_off(Outcome::TimedOut, began),
            },
        };
        let lane = running.lane;
        let goes_on = outcome.lets_the_lane_go_on();
        self.worked.push((order[lane.start], outcome, ran));
        if goes_on { lane.start + 1..lane.end } else { lane.end..lane.end }
    }

    /// Cancels what still runs. What a handler finished in the meantime counts; one that holds on to its thread is
    /// left behind.
    async fn close(mut self, order: &[usize], began: Instant) -> Vec<Worked> {
        self.tasks.abort_all();
        let grace = Instant::now() + GRACE;
        while let Ok(Some(ended)) = timeout_at(grace, self.tasks.join_next_with_id()).await {
            self.finish(ended, order, began);
        }
        for running in std::mem::take(&mut self.running).into_values() {
            let (outcome, ran) = running.cut_off(Outcome::Stuck, began);
            self.worked.push((order[running.lane.start], outcome, ran));
        }
        self.worked
    }
}

impl Running {
    fn ran(&self, began: Instant) -> Ran {
        Ran { took: self.spawned.elapsed(), ended: began.elapsed() }
    }

    /// Behind handlers that block all threads, a task may never have had its turn.
    fn cut_off(&self, outcome: Outcome, began: Instant) -> (Outcome, Option<Ran>) {
        if self.begun.load(Ordering::Acquire) {
            (outcome, Some(self.ran(began)))
        } else {
            (Outcome::NotStarted, None)
        }
    }
}

type Ended = Result<(Id, (Outcome, Option<Ran>)), JoinError>;

/// One message on the workers' side: everything of the user's happens here, decoding included.
struct Task<H> {
    handler: Arc<H>,
    record: Record<'static>,
    judge: Judge,
    time_limit: Option<Duration>,
    began: Instant,
    begun: Arc<AtomicBool>,
}

impl<H> Task<H> {
    async fn run_and_catch<M>(self) -> (Outcome, Option<Ran>)
    where
        H: Handler<M>,
        M: FromMessage,
    {
        self.begun.store(true, Ordering::Release);
        let (began, started) = (self.began, Instant::now());
        match AssertUnwindSafe(self.run()).catch_unwind().await {
            Ok(worked) => worked,
            Err(panic) => {
                let ran = Ran { took: started.elapsed(), ended: began.elapsed() };
                (Outcome::Panicked(text_of(&*panic)), Some(ran))
            }
        }
    }

    async fn run<M>(self) -> (Outcome, Option<Ran>)
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let Self { handler, record, judge, time_limit, began, .. } = self;
        let attempt = record.attempt();
        let message = match M::from_message(&record) {
            Ok(message) => message,
            Err(error) => {
                return (Outcome::Failed(judge.malformed(Failure::malformed(error), attempt)), None);
            }
        };
        drop(record);
        let started = Instant::now();
        let handled = handler.call(message);
        let result = match time_limit {
            Some(limit) => timeout(limit, handled).await,
            None => Ok(handled.await),
        };
        let outcome = match result {
            Ok(Ok(())) => Outcome::Done,
            Ok(Err(failure)) => Outcome::Failed(judge.failed(failure, attempt)),
            Err(_elapsed) => Outcome::TimedOut,
        };
        (outcome, Some(Ran { took: started.elapsed(), ended: began.elapsed() }))
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").chars().take(256).collect()
}
