//! Lanes and a handler to outcomes: so many at a time, until time is up, whatever the handler does.

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::{Instrument, Span};

use crate::batch::{Outcome, Ran};
use crate::consumer::Classify;
use crate::message::{FromMessage, Record};
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
    pub(crate) classify: Option<&'a Classify>,
    /// For all of them.
    pub(crate) until: Instant,
    /// When the batch began.
    pub(crate) began: Instant,
    /// Start one message even if time is up: each invocation gets on with something.
    pub(crate) at_least_one: bool,
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
    let mut started = !terms.at_least_one;
    loop {
        while shift.running.len() < terms.concurrency.max(1) && (!started || Instant::now() < terms.until) {
            let Some(lane) = waiting.next() else { break };
            shift.start(lane, records, order, handler, terms, &span);
            started = true;
        }
        let ended = tokio::select! {
            biased;
            ended = shift.tasks.join_next_with_id() => ended,
            () = sleep_until(terms.until) => break,
        };
        let Some(ended) = ended else { break };
        let rest = shift.finish(ended, order);
        if !rest.is_empty() && Instant::now() < terms.until {
            shift.start(rest, records, order, handler, terms, &span);
        }
    }
    shift.close(order, terms.began).await
}

/// What runs at the moment, and what has run.
struct Shift {
    worked: Vec<Worked>,
    tasks: JoinSet<(Outcome, Ran)>,
    running: HashMap<Id, Range<usize>>,
}

impl Shift {
    /// Starts the first message of the lane that can be decoded.
    fn start<H, M>(
        &mut self,
        mut lane: Range<usize>,
        records: &[Record<'_>],
        order: &[usize],
        handler: &Arc<H>,
        terms: &Terms<'_>,
        span: &impl Fn(&Record<'_>) -> Span,
    ) where
        H: Handler<M>,
        M: FromMessage,
    {
        while !lane.is_empty() {
            let index = order[lane.start];
            let record = &records[index];
            let outcome = match catch_unwind(AssertUnwindSafe(|| M::from_message(record))) {
                Ok(Ok(message)) => {
                    let call = call(
                        Arc::clone(handler),
                        message,
                        terms.time_limit,
                        terms.classify.cloned(),
                        terms.began,
                    );
                    let task = self.tasks.spawn_on(call.instrument(span(record)), terms.workers);
                    self.running.insert(task.id(), lane);
                    return;
                }
                Ok(Err(error)) => Outcome::Failed(Failure::malformed(error)),
                Err(panic) => Outcome::Panicked(text_of(&*panic)),
            };
            let goes_on = outcome.lets_the_lane_go_on();
            self.worked.push((index, outcome, None));
            lane.start += 1;
            if !goes_on {
                return;
            }
        }
    }

    /// Notes the outcome and hands back what the lane may go on with.
    fn finish(&mut self, ended: Result<(Id, (Outcome, Ran)), JoinError>, order: &[usize]) -> Range<usize> {
        let (id, outcome, ran) = match ended {
            Ok((id, (outcome, ran))) => (id, outcome, Some(ran)),
            Err(error) => {
                let id = error.id();
                match error.try_into_panic() {
                    Ok(panic) => (id, Outcome::Panicked(text_of(&*panic)), None),
                    Err(_cancelled) => (id, Outcome::TimedOut, None),
                }
            }
        };
        let lane = self.running.remove(&id).expect("every task was noted when it was started");
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
            self.finish(ended, order);
        }
        for lane in std::mem::take(&mut self.running).into_values() {
            let ended = began.elapsed();
            self.worked.push((order[lane.start], Outcome::Stuck, Some(Ran { took: ended, ended })));
        }
        self.worked
    }
}

async fn call<H, M>(
    handler: Arc<H>,
    message: M,
    time_limit: Option<Duration>,
    classify: Option<Classify>,
    began: Instant,
) -> (Outcome, Ran)
where
    H: Handler<M>,
{
    let started = Instant::now();
    let handled = handler.call(message);
    let result = match time_limit {
        Some(limit) => timeout(limit, handled).await,
        None => Ok(handled.await),
    };
    let outcome = match result {
        Ok(Ok(())) => Outcome::Done,
        Ok(Err(failure)) => Outcome::Failed(match classify {
            Some(classify) => classify(failure),
            None => failure,
        }),
        Err(_elapsed) => Outcome::TimedOut,
    };
    (outcome, Ran { took: started.elapsed(), ended: began.elapsed() })
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text")
        .to_owned()
}
