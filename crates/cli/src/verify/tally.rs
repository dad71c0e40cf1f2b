//! Counts what happened to the messages, in the words of Jepsen's checker of queues
//! (<https://jepsen-io.github.io/jepsen/jepsen.checker.html#var-total-queue>). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::history::{Step, StepKind};
use super::plan::{DELAY, Job, NEXT_DELAY, Plan, Planned, QUICK, SLOW, VISIBILITY};

/// The difference between two clocks of one machine, at most.
const CLOCKS: Duration = Duration::from_millis(100);

/// The results of a run.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) plan: &'a Plan,
    /// The result of sending each message, by its number.
    pub(super) sends: &'a [Sent],
    /// The steps of each worker, and whether it was killed.
    pub(super) workers: &'a [Worker],
    pub(super) letters: &'a [Letter],
    /// Messages that are still in the queues.
    pub(super) left: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Sent {
    /// Calls that may have sent it.
    pub(super) calls: usize,
    pub(super) is_acknowledged: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Worker {
    pub(super) steps: Vec<Step>,
    pub(super) was_killed: bool,
}

/// A message of a dead-letter queue.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    pub(super) id: String,
    pub(super) body: String,
    pub(super) attribute: Option<String>,
    pub(super) is_fifo: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Tally {
    pub(super) attempted: usize,
    /// Workers that were killed.
    pub(super) kills: usize,
    pub(super) acknowledged: usize,
    /// Messages that arrived although SQS has not acknowledged them.
    pub(super) recovered: usize,
    pub(super) handled: usize,
    pub(super) dead_lettered: usize,
    /// Further successes or letters of a message, after a kill or a send without an answer.
    pub(super) duplicated: usize,
    pub(super) faults: Faults,
}

/// What must not happen: numbers of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Faults {
    /// SQS acknowledged no send of them.
    pub(super) not_accepted: BTreeSet<usize>,
    pub(super) lost: BTreeSet<usize>,
    pub(super) duplicated_without_cause: BTreeSet<usize>,
    pub(super) out_of_order: BTreeSet<usize>,
    pub(super) before_delay: BTreeSet<usize>,
    pub(super) wrong_receive_count: BTreeSet<usize>,
    pub(super) dead_lettered_by_mistake: BTreeSet<usize>,
    /// Message ids: nobody sent them, or they changed.
    pub(super) unexpected: BTreeSet<String>,
    pub(super) left_in_queue: u64,
}

impl Faults {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A delivery to a handler.
#[derive(Debug)]
struct Delivery<'a> {
    number: usize,
    id: &'a str,
    attempt: u32,
    began: u64,
    /// When it ended, and whether it succeeded.
    ended: Option<(u64, bool)>,
    /// When SQS confirmed the outcome.
    settled: Option<u64>,
    was_killed: bool,
}

pub(super) fn tally(evidence: &Evidence<'_>) -> Tally {
    let Evidence { plan, sends, letters, left, .. } = evidence;
    let mut faults = Faults { left_in_queue: *left, ..Faults::default() };
    let deliveries = deliveries(evidence, &mut faults);
    let mut by_number: BTreeMap<usize, Vec<&Delivery<'_>>> = BTreeMap::new();
    deliveries.iter().for_each(|each| by_number.entry(each.number).or_default().push(each));
    let received = received(evidence.workers);
    let dead = letters_by_number(plan, letters, &mut faults);

    let kills = evidence.workers.iter().filter(|worker| worker.was_killed).count();
    let mut tally = Tally { kills, ..Tally::default() };
    for planned in &plan.messages {
        let number = planned.number;
        let (send, none) = (&sends[number], Vec::new());
        let of_it = by_number.get(&number).unwrap_or(&none);
        let its_letters = dead.get(&number).copied().unwrap_or_default();
        let (is_handled, is_dead) = (of_it.iter().any(|each| each.has_succeeded()), its_letters > 0);
        tally.attempted += usize::from(send.calls > 0);
        tally.acknowledged += usize::from(send.is_acknowledged);
        tally.recovered += usize::from(!send.is_acknowledged && (is_handled || is_dead));
        tally.handled += usize::from(is_handled);
        tally.dead_lettered += usize::from(is_dead);
        if !send.is_acknowledged {
            faults.not_accepted.insert(number);
        }
        let has_ended = if planned.job.becomes_letter() { is_dead } else { is_handled };
        if is_dead && !planned.job.becomes_letter() {
            faults.dead_lettered_by_mistake.insert(number);
        } else if send.is_acknowledged && !has_ended {
            faults.lost.insert(number);
        }
        let duplicates = duplicates(planned, send, of_it, its_letters);
        if duplicates.has_others {
            faults.duplicated_without_cause.insert(number);
        } else {
            tally.duplicated += duplicates.with_cause;
        }
        check_redeliveries(of_it, planned.job, &mut faults);
        check_receive_counts(
            plan,
            &received,
            of_it,
            kills,
            is_dead && planned.job == Job::Failed,
            &mut faults,
        );
    }
    check_order(plan, &by_number, &mut faults);
    Tally { faults, ..tally }
}

impl Delivery<'_> {
    fn has_succeeded(&self) -> bool {
        self.ended.is_some_and(|(_, succeeds)| succeeds)
    }

    /// Returns true if it took so long that the worker must have stood still: the visibility timeout may have ended.
    fn is_late(&self, job: Job) -> bool {
        let time = if job == Job::Slow { SLOW } else { QUICK };
        self.ended.is_some_and(|(end, _)| end.saturating_sub(self.began) > millis(time + VISIBILITY / 2))
    }

    /// Returns when the next message of its group may begin, if it may after this delivery.
    fn group_goes_on(&self, job: Job, max_receive_count: u32) -> Option<u64> {
        let is_last = self.attempt >= max_receive_count;
        match self.ended {
            Some((at, succeeds)) => (succeeds || is_last || job == Job::Rejected).then_some(at),
            None => is_last.then_some(self.began),
        }
    }
}

#[derive(Debug, Default)]
struct Duplicates {
    with_cause: usize,
    has_others: bool,
}

/// Counts successes and letters beyond the first. Each delivery whose worker was killed, or stood still, before SQS confirmed the
/// outcome explains one more of the same message. A send without an answer explains a copy with another id, also of a letter.
fn duplicates(planned: &Planned, send: &Sent, of_it: &[&Delivery<'_>], letters: usize) -> Duplicates {
    let was_cut =
        |each: &Delivery<'_>| each.was_killed && each.settled.is_none() || each.is_late(planned.job);
    let mut by_id: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for each in of_it {
        let (successes, cuts) = by_id.entry(each.id).or_default();
        *successes += usize::from(each.has_succeeded());
        *cuts += usize::from(was_cut(each));
    }
    let copies = if planned.group.is_some() { 1 } else { send.calls.max(1) };
    let again = |(successes, _): &(usize, usize)| successes.saturating_sub(1);
    Duplicates {
        with_cause: by_id.values().map(again).sum::<usize>()
            + by_id.len().saturating_sub(1)
            + letters.saturating_sub(1),
        has_others: by_id.len() > copies || by_id.values().any(|each| again(each) > each.1),
    }
}

/// The receive counts that workers have seen, by message id.
type Received<'a> = BTreeMap<&'a str, BTreeSet<u32>>;

fn received(workers: &[Worker]) -> Received<'_> {
    let mut received = Received::new();
    for step in workers.iter().flat_map(|worker| &worker.steps) {
        received.entry(&step.id).or_default().insert(step.attempt);
    }
    received
}

/// Returns the deliveries in the order in which they began.
fn deliveries<'a>(evidence: &Evidence<'a>, faults: &mut Faults) -> Vec<Delivery<'a>> {
    let mut all = Vec::new();
    for Worker { steps, was_killed } in evidence.workers {
        let mut of_worker: Vec<Delivery<'a>> = Vec::new();
        for Step { at, id, attempt, what } in steps {
            // Handlers of one worker never have the same message at the same time.
            let open = of_worker.iter_mut().rev().find(|each| each.id == id && each.attempt == *attempt);
            match (what, open) {
                (StepKind::Began { body, attribute, group }, _) => {
                    let found = evidence.plan.find(body).filter(|planned| planned.has(attribute.as_deref()));
                    let found = found.filter(|planned| planned.group.map(|it| it.to_string()) == *group);
                    match found.map(|planned| planned.number) {
                        Some(number) => of_worker.push(Delivery {
                            number,
                            id,
                            attempt: *attempt,
                            began: *at,
                            ended: None,
                            settled: None,
                            was_killed: *was_killed,
                        }),
                        None => drop(faults.unexpected.insert(id.clone())),
                    }
                }
                (StepKind::Ended { succeeds }, Some(open)) => open.ended = Some((*at, *succeeds)),
                (StepKind::Settled { .. }, Some(open)) => open.settled = Some(*at),
                // Its begin is among the unexpected ones, or it was returned without having begun.
                (StepKind::Ended { .. } | StepKind::Settled { .. }, None) => {}
            }
        }
        all.extend(of_worker);
    }
    all.sort_by_key(|each| each.began);
    all
}

/// Returns how many letters each message has. A letter that returns after it was deleted is a fault.
fn letters_by_number(plan: &Plan, letters: &[Letter], faults: &mut Faults) -> BTreeMap<usize, usize> {
    let (mut dead, mut ids) = (BTreeMap::new(), BTreeSet::new());
    for letter in letters {
        let found = plan.find(&letter.body).filter(|planned| planned.has(letter.attribute.as_deref()));
        match found.filter(|planned| planned.group.is_some() == letter.is_fifo) {
            Some(planned) if ids.insert(&letter.id) => *dead.entry(planned.number).or_default() += 1,
            Some(planned) => drop(faults.duplicated_without_cause.insert(planned.number)),
            None => drop(faults.unexpected.insert(letter.id.clone())),
        }
    }
    dead
}

/// Compares each delivery of a message with the one before it.
fn check_redeliveries(of_it: &[&Delivery<'_>], job: Job, faults: &mut Faults) {
    for (at, next) in of_it.iter().enumerate() {
        let Some(last) = of_it[..at].iter().rev().find(|last| last.id == next.id) else { continue };
        if next.attempt <= last.attempt {
            faults.wrong_receive_count.insert(next.number);
        }
        let delay = if last.attempt == 1 { DELAY } else { NEXT_DELAY };
        match (last.ended, last.settled) {
            (Some((at, false)), Some(settled))
                if job != Job::Rejected
                    && settled < next.began
                    && next.began + millis(CLOCKS) < at + millis(delay) =>
            {
                faults.before_delay.insert(next.number);
            }
            // Its worker still had it.
            (None, _) if !last.was_killed && !last.is_late(job) => {
                faults.duplicated_without_cause.insert(next.number);
            }
            (Some((at, _)), _) if next.began < at && !last.is_late(job) => {
                faults.duplicated_without_cause.insert(next.number);
            }
            _ => {}
        }
    }
}

/// Receive counts begin with one and rise by one. A worker that is killed may have received a message without a trace.
fn check_receive_counts(
    plan: &Plan,
    received: &Received<'_>,
    of_it: &[&Delivery<'_>],
    kills: usize,
    was_moved: bool,
    faults: &mut Faults,
) {
    let Some(first) = of_it.first() else { return };
    let unseen = u32::try_from(kills).unwrap_or(u32::MAX);
    let jumps = of_it.iter().any(|each| {
        let counts = received.get(each.id).into_iter().flatten();
        counts
            .scan(0, |last, count| Some(count - std::mem::replace(last, *count)))
            .any(|step| step > 1 + unseen)
    });
    // The redrive policy moves it after its last receive, and not before.
    let last =
        of_it.iter().filter_map(|each| received.get(each.id)?.last().copied()).max().unwrap_or_default();
    let most = plan.max_receive_count;
    if jumps || last > most || was_moved && last + unseen < most {
        faults.wrong_receive_count.insert(first.number);
    }
}

/// A message of a group must not begin before those in front of it have ended.
fn check_order(plan: &Plan, by_number: &BTreeMap<usize, Vec<&Delivery<'_>>>, faults: &mut Faults) {
    // The time at which all messages so far have ended.
    let mut groups: BTreeMap<usize, u64> = BTreeMap::new();
    for planned in &plan.messages {
        let (Some(group), Some(of_it)) = (planned.group, by_number.get(&planned.number)) else { continue };
        let free = groups.entry(group).or_default();
        if of_it.iter().any(|each| each.began < *free) {
            faults.out_of_order.insert(planned.number);
        }
        let end =
            of_it.iter().filter_map(|each| each.group_goes_on(planned.job, plan.max_receive_count)).min();
        *free = end.map_or(*free, |end| end.max(*free));
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
