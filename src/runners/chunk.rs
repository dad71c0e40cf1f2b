//! The messages of one call of a bulk handler, with their results and the consequences for their lanes.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use redrive_engine::keys::{BatchKey, MessageKey};
use redrive_engine::{Disposition, ErrorSummary, Outcome, Ran, Worked};

/// The default number of messages in a call.
const MESSAGES: usize = 100;

/// The size of the calls of a bulk handler, for [`Consumer::chunks`](crate::Consumer::chunks).
///
/// [`concurrency`](crate::Consumer::concurrency) limits the number of calls that run at the same time (default: 10). Each may need
/// its own connection. [`time_limit`](crate::Consumer::time_limit) limits the time of one call.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Chunks {
    pub(crate) messages: usize,
    /// The maximum size of the received bodies.
    pub(crate) bytes: Option<usize>,
    /// Whether a call that fails as a whole is tried again in halves.
    pub(crate) halves: bool,
}

impl Default for Chunks {
    fn default() -> Self {
        Self::of(MESSAGES)
    }
}

impl Chunks {
    /// The maximum number of messages in one call, 1 to 10,000. Default: 100, because many APIs have limits, such as the number
    /// of parameters of an SQL statement. `COPY` and `unnest` accept thousands. A batch has at most 10,000 messages, and 10 on a
    /// FIFO queue.
    pub const fn of(messages: usize) -> Self {
        Self { messages, bytes: None, halves: false }
    }

    /// The maximum total size of the bodies in one call, in bytes, 1 to 4,294,967,295, as received. A larger message is handled
    /// alone. Default on Lambda: no limit, because a batch has at most 6 MB. Default in a worker: 64 MiB divided by the
    /// concurrency, but at least 1 MiB. Bodies from [`Consumer::bodies`](crate::Consumer::bodies) do not count. All bodies of a
    /// call are in memory at the same time, so choose the number of messages for the largest.
    pub const fn bytes(self, bytes: usize) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// Splits a call that failed as a whole into halves and repeats them, until it finds the messages that fail
    /// alone. Default: all open messages of the call have failed.
    ///
    /// A call fails as a whole if it leaves several messages open and panics, or returns an error or a rejection.
    /// Results that concern all its messages are not repeated: `retry_after`, `defer`, `discard` and a timeout.
    /// Halves run one after the other, with the messages that are still open. They run only while at least as much
    /// time is left as the first call took. Messages of a half that succeeded are done. If time runs out, the
    /// remaining messages are retried. Each call decodes its messages again.
    ///
    /// Return an error or a rejection if one of the messages may be at fault. Return
    /// [`Failure::retry_after`](crate::Failure::retry_after) if no message is, for example when the database is down.
    ///
    /// The handler must be a transaction: a call that failed must leave nothing behind.
    pub const fn halve_on_failure(self) -> Self {
        Self { halves: true, ..self }
    }
}

/// The head of a lane. The rest waits until the head has ended, so that a lane is in one chunk at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) items: Range<usize>,
    pub(crate) rest: Range<usize>,
}

/// Takes the first messages that fit into one call, at least one. Returns nothing if there are no lanes.
pub(crate) fn cut(
    lanes: &mut VecDeque<Range<usize>>,
    limits: Chunks,
    bytes_of: impl Fn(usize) -> usize,
) -> Vec<Segment> {
    let (mut segments, mut messages, mut bytes) = (Vec::new(), 0, 0_usize);
    while let Some(lane) = lanes.front() {
        let mut end = lane.start;
        while end < lane.end && messages < limits.messages {
            let more = bytes.saturating_add(bytes_of(end));
            if messages > 0 && limits.bytes.is_some_and(|most| more > most) {
                break;
            }
            (messages, bytes, end) = (messages + 1, more, end + 1);
        }
        if end == lane.start {
            break;
        }
        segments.push(Segment { items: lane.start..end, rest: end..lane.end });
        let is_full = end < lane.end;
        lanes.pop_front();
        if is_full {
            break;
        }
    }
    segments
}

/// The messages of a chunk, numbered from 0 in the order of their lanes. Empty once it has ended.
pub(crate) struct Chunk {
    batch: BatchKey,
    segments: Vec<Segment>,
    items: Vec<Item>,
    /// The number of the last call.
    call: u32,
    /// The outcomes of a chunk that has ended, if they are kept.
    ended: Option<Vec<Outcome>>,
}

struct Item {
    /// The number of its lane within the chunk.
    lane: usize,
    standing: ItemResult,
    /// True if the call under way has the message.
    is_taken: bool,
    /// The number and the time of the last call that had the message.
    ran: Option<(u32, Ran)>,
}

impl Item {
    /// Returns true if the handler failed or discarded the message in the call under way. It may have stopped there, so the end
    /// of the call says nothing about the messages behind it.
    fn has_failed(&self) -> bool {
        self.is_taken
            && matches!(&self.standing, ItemResult::Ended(outcome) if !matches!(outcome, Outcome::Done))
    }
}

/// The result of a message so far.
#[derive(Debug)]
enum ItemResult {
    /// No result is set. This is the outcome unless a call changes it.
    Open(Outcome),
    /// The message could not be fetched or decoded, so the handler did not get it.
    Unread(Outcome),
    /// The handler set the result, or the message was open when a call ended.
    Ended(Outcome),
}

impl ItemResult {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Returns true if no call takes the messages behind it.
    fn stops_its_lane(&self) -> bool {
        matches!(self, Self::Unread(outcome) | Self::Ended(outcome) if !outcome.lets_the_lane_go_on())
    }

    /// Returns true if the call under way did not get the messages behind it.
    fn withholds_its_lane(&self) -> bool {
        matches!(self, Self::Unread(_)) && self.stops_its_lane()
    }
}

impl Chunk {
    pub(crate) fn new(batch: BatchKey, segments: Vec<Segment>) -> Self {
        let item =
            |lane| Item { lane, standing: ItemResult::Open(Outcome::NotStarted), is_taken: false, ran: None };
        let lanes = segments.iter().enumerate();
        let items =
            lanes.flat_map(|(lane, segment)| segment.items.clone().map(move |_| item(lane))).collect();
        Self { batch, segments, items, call: 0, ended: None }
    }

    /// Returns the places of its messages in the order of the batch.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.segments.iter().flat_map(|segment| segment.items.clone())
    }

    /// Returns the number of the call under way.
    pub(crate) const fn call(&self) -> u32 {
        self.call
    }

    /// Begins a call with the messages of this range that are open.
    pub(crate) fn begin(&mut self, items: &Range<usize>) -> Vec<usize> {
        let mut open = self.open_behind(|item| item.standing.stops_its_lane());
        open.retain(|item| items.contains(item));
        open.iter().for_each(|&item| self.items[item].is_taken = true);
        self.call += 1;
        open
    }

    /// Returns the messages that the call under way has left open so far.
    pub(crate) fn open(&self) -> Vec<usize> {
        self.taken_behind(|item| item.standing.stops_its_lane() || item.has_failed())
    }

    /// Returns the open messages that the handler got in the call under way. Any of them may be to blame if it fails.
    fn held(&self) -> Vec<usize> {
        self.taken_behind(|item| item.standing.withholds_its_lane())
    }

    fn taken_behind(&self, stops: fn(&Item) -> bool) -> Vec<usize> {
        let mut open = self.open_behind(stops);
        open.retain(|&item| self.items[item].is_taken);
        open
    }

    /// Returns the open messages that are not behind a message that stops its lane.
    fn open_behind(&self, stops: fn(&Item) -> bool) -> Vec<usize> {
        let mut stopped = None;
        let is_open = |item: &Item| {
            if stops(item) {
                stopped = Some(item.lane);
            }
            item.standing.is_open() && stopped != Some(item.lane)
        };
        let open = self.items.iter().map(is_open).enumerate();
        open.filter(|(_, is_open)| *is_open).map(|(item, _)| item).collect()
    }

    /// Notes that a message could not be fetched or decoded. Returns the next one that may be read: the rest of its lane waits,
    /// unless this one is discarded.
    pub(crate) fn unread(&mut self, item: usize, outcome: Outcome) -> usize {
        let goes_on = outcome.lets_the_lane_go_on();
        let Some(unread) = self.items.get_mut(item) else { return item + 1 };
        unread.standing = ItemResult::Unread(outcome);
        let lane = unread.lane;
        if goes_on { item + 1 } else { self.items.partition_point(|item| item.lane <= lane) }
    }

    /// Keeps the outcomes of its messages when it is given up, to record them.
    pub(crate) fn keep_outcomes(&mut self) {
        self.ended = Some(Vec::new());
    }

    /// Returns the outcome that a message has between two calls, or had when the chunk was given up.
    pub(crate) fn outcome(&self, item: usize) -> Option<&Outcome> {
        let known = self.items.get(item).map(|item| match &item.standing {
            ItemResult::Open(outcome) | ItemResult::Unread(outcome) | ItemResult::Ended(outcome) => outcome,
        });
        known.or_else(|| self.ended.as_ref()?.get(item))
    }

    /// Sets the outcome of a message whose calls have ended, after the store has answered.
    pub(crate) fn recorded(&mut self, item: usize, outcome: Outcome) {
        if let Some(Item { standing: ItemResult::Ended(known), .. }) = self.items.get_mut(item) {
            *known = outcome;
        }
    }

    /// Sets the handler's result for a message. It counts only until the call ends.
    pub(crate) fn rule(&mut self, call: u32, item: usize, outcome: Outcome) {
        if let Some(item) = self.items.get_mut(item).filter(|item| item.is_taken && self.call == call) {
            item.standing = ItemResult::Ended(outcome);
        }
    }

    /// Ends a call, with outcomes of open messages or with one for all of them. With `halves`, returns the messages to try
    /// again if the call failed as a whole.
    pub(crate) fn end_call(
        &mut self,
        ended: Result<Vec<(usize, Outcome)>, Outcome>,
        ran: Option<Ran>,
        halves: bool,
    ) -> Option<Range<usize>> {
        self.note_ran(ran);
        let open = self.open();
        let is_shared = self.held().len() > 1;
        let outcomes = ended.unwrap_or_else(|whole| {
            let whole = of_each(whole, is_shared);
            open.iter().map(|&item| (item, whole.clone())).collect()
        });
        let tries_again = halves && is_shared && outcomes.iter().all(|(_, outcome)| may_be_of_one(outcome));
        for (item, outcome) in outcomes.into_iter().filter(|(item, _)| open.binary_search(item).is_ok()) {
            self.items[item].standing = match tries_again {
                true => ItemResult::Open(spared(outcome)),
                false => ItemResult::Ended(outcome),
            };
        }
        self.items.iter_mut().for_each(|item| item.is_taken = false);
        open.first().zip(open.last()).filter(|_| tries_again).map(|(first, last)| *first..last + 1)
    }

    /// Ends the chunk, and a call under way with the outcome `whole`. Returns the outcomes in the order of lanes, successes
    /// first, and rests of lanes that may run now. Later results change nothing.
    pub(crate) fn end(&mut self, whole: &Outcome, ran: Option<Ran>) -> (Vec<Worked>, Vec<Range<usize>>) {
        self.note_ran(ran);
        let held = self.held();
        let is_shared = held.len() > 1;
        let open = if matches!(whole, Outcome::Stuck) { held } else { self.open() };
        for item in open {
            self.items[item].standing = ItemResult::Ended(of_each(whole.clone(), is_shared));
        }
        let (mut ended, mut rests) = (Vec::with_capacity(self.items.len()), Vec::new());
        let mut items = std::mem::take(&mut self.items).into_iter().map(|item| (item.standing, item.ran));
        for Segment { items: places, rest } in std::mem::take(&mut self.segments) {
            let (lane, ran): (Vec<_>, Vec<_>) = items.by_ref().take(places.len()).unzip();
            let lane: Vec<_> = outcomes(lane).collect();
            if lane.iter().all(Outcome::lets_the_lane_go_on) && !rest.is_empty() {
                rests.push(rest);
            }
            ended.extend(places.zip(lane).zip(ran).map(|((at, outcome), ran)| {
                let has_run = !matches!(outcome, Outcome::NotStarted);
                let key = MessageKey { batch: self.batch, at };
                (Worked { key, outcome, ran: None }, ran.filter(|_| has_run))
            }));
        }
        if let Some(kept) = &mut self.ended {
            kept.extend(ended.iter().map(|(worked, _)| worked.outcome.clone()));
        }
        (with_calls(ended), rests)
    }

    fn note_ran(&mut self, ran: Option<Ran>) {
        let call = self.call;
        let was_read = |item: &&mut Item| item.is_taken && !matches!(item.standing, ItemResult::Unread(_));
        self.items.iter_mut().filter(was_read).for_each(|item| item.ran = ran.map(|ran| (call, ran)));
    }
}

/// Returns the outcomes of a lane. A failed message stops those behind it, except messages with results and those that failed
/// in the same call.
fn outcomes(lane: Vec<ItemResult>) -> impl Iterator<Item = Outcome> {
    let (mut is_stopped, mut is_disturbed) = (false, false);
    lane.into_iter().map(move |standing| {
        let outcome = match standing {
            ItemResult::Ended(outcome) => outcome,
            ItemResult::Open(outcome) => {
                is_disturbed |= !outcome.lets_the_lane_go_on();
                return if is_stopped { Outcome::NotStarted } else { outcome };
            }
            ItemResult::Unread(_) if is_stopped || is_disturbed => Outcome::NotStarted,
            ItemResult::Unread(outcome) => outcome,
        };
        is_stopped |= !outcome.lets_the_lane_go_on();
        outcome
    })
}

/// Returns the outcome of a call for each message that it left open. A panic with several messages is not blamed on any.
fn of_each(whole: Outcome, is_shared: bool) -> Outcome {
    match whole {
        Outcome::Panicked { text, again, is_early } => {
            Outcome::Panicked { text, again: again || is_shared, is_early }
        }
        whole => whole,
    }
}

/// Returns the outcome of a message if no time is left to try it again. A failure of several messages must not dead-letter one.
fn spared(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(summary) => {
            Outcome::Failed(Box::new(ErrorSummary { disposition: Disposition::Retry, ..*summary }))
        }
        outcome => outcome,
    }
}

/// Returns true if one message may be to blame for the outcome of a call with several.
fn may_be_of_one(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed(summary) => match summary.disposition {
            Disposition::Retry | Disposition::Reject | Disposition::Malformed => true,
            Disposition::RetryAfter(_)
            | Disposition::Defer(_)
            | Disposition::Discard
            | Disposition::Outage => false,
        },
        Outcome::Panicked { .. } => true,
        Outcome::Done
        | Outcome::Replayed
        | Outcome::Unrecorded
        | Outcome::TimedOut
        | Outcome::Stuck
        | Outcome::Interrupted
        | Outcome::LeaseLost
        | Outcome::NotStarted
        | Outcome::BreakerOpen => false,
    }
}

/// Assigns the duration of each call to one message, a panicked one if there is any. Puts successes first, because they were
/// set before a panic.
fn with_calls(mut ended: Vec<(Worked, Option<(u32, Ran)>)>) -> Vec<Worked> {
    ended.sort_by_key(|(worked, _)| !worked.outcome.lets_the_lane_go_on());
    let is_panic = |worked: &Worked| matches!(worked.outcome, Outcome::Panicked { .. });
    let mut known = HashSet::new();
    for panics in [true, false] {
        for (worked, ran) in &mut ended {
            if let Some((call, ran)) = *ran
                && is_panic(worked) == panics
            {
                let is_shared = !known.insert(call);
                worked.ran = Some(Ran { is_shared, ..ran });
            }
        }
    }
    ended.into_iter().map(|(worked, _)| worked).collect()
}

#[cfg(test)]
mod tests;
