//! Decides what happens to each message, from its outcome, its attempt and the policy.

use std::borrow::Cow;
use std::time::Duration;

use super::guards::require;
use crate::backoff::Backoff;
use crate::choices::{LastDelivery, OnFailure, Overrides};
use crate::deliveries::{Deliveries, DeliveryPosition};
use crate::error_summary::Disposition;
use crate::overrides::MessageOverrides;
use crate::{NextStep, Outcome};

/// Extra wait of the messages behind a failed head of a FIFO group, so that the head returns alone and they do not use up a
/// delivery each time it fails.
const FOLLOWER_GAP: Duration = Duration::from_secs(2);
/// The shortest delay if no limit is known to hold, so that drifted settings do not cause a hot loop.
const AT_LEAST: Duration = Duration::from_secs(1);

/// The wait after an outage at the first delivery, and the longest wait.
const SHORTEST_REST: Duration = Duration::from_secs(60);
const LONGEST_REST: Duration = Duration::from_secs(3_600);
/// The first delivery with the longest wait.
const DOUBLINGS: u32 = 7;
/// Share of its delay by which a message may return later, so that not all return at once.
const SPREAD: f64 = 1.0 / 16.0;

/// The settings and limits for the messages of a queue.
#[derive(Debug, Clone)]
pub struct Policy<'a> {
    pub backoff: &'a Backoff,
    /// The overrides that a message may request.
    pub overrides: Overrides,
    /// True if a waiting message holds up the rest of its group.
    pub is_fifo: bool,
    /// The longest delay that SQS accepts.
    pub longest: Duration,
    pub max_receive_count: Option<u32>,
    pub last_delivery: LastDelivery,
    pub on_panic: OnFailure,
    pub on_malformed: OnFailure,
    pub has_dead_letter_queue: bool,
    /// The time for which a message is retried while a dependency is down, if its deliveries allow it.
    pub outage_horizon: Duration,
    /// True if the user's function names the dependencies of messages.
    pub names_dependencies: bool,
    /// True if messages need the idempotency store.
    pub has_store: bool,
    /// The first delivery at which a message may be one that ends the process.
    pub suspects_from: u32,
    /// True if the process ends after this batch.
    pub ends: bool,
}

/// A message to decide on.
#[derive(Debug)]
pub struct Case<'a> {
    pub outcome: &'a Outcome,
    pub attempt: u32,
    pub overrides: &'a MessageOverrides,
    /// The time since its first receive.
    pub age: Duration,
    /// A random number from 0 to 1, for the jitter.
    pub random: f64,
}

/// Returns the next step for a message, by its own outcome.
fn decide(case: &Case<'_>, policy: &Policy<'_>) -> NextStep {
    match case.outcome {
        Outcome::Done | Outcome::Replayed | Outcome::Unrecorded => NextStep::Ack,
        Outcome::Failed(summary) => match summary.disposition {
            Disposition::Discard => NextStep::Ack,
            Disposition::Retry => retry(policy.delay(case), case, policy),
            Disposition::Outage => retry(policy.outage_delay(case), case, policy),
            Disposition::RetryAfter(after) | Disposition::Defer(after) => {
                retry(policy.within_limits(after), case, policy)
            }
            Disposition::Reject => dead_letter_or_retry(OnFailure::DeadLetter, "rejected", case, policy),
            Disposition::Malformed => dead_letter_or_retry(policy.on_malformed, "malformed", case, policy),
        },
        // The first of consecutive panics may be the message's fault; the others are the function's.
        Outcome::Panicked { again: false, .. } => {
            dead_letter_or_retry(policy.on_panic, "panic", case, policy)
        }
        Outcome::Panicked { again: true, .. } | Outcome::TimedOut => retry(policy.delay(case), case, policy),
        // The blocked handler ends with the process.
        Outcome::Stuck if require!(BlockedIsLeft, policy.ends) => retry(policy.delay(case), case, policy),
        Outcome::BreakerOpen => NextStep::Release { after: policy.outage_delay(case) },
        Outcome::Stuck | Outcome::LeaseLost | Outcome::NotStarted => NextStep::Leave,
        Outcome::Interrupted => release(Duration::ZERO, case, policy),
    }
}

fn dead_letter_or_retry(
    choice: OnFailure,
    reason: &'static str,
    case: &Case<'_>,
    policy: &Policy<'_>,
) -> NextStep {
    let after = policy.delay(case);
    match choice {
        OnFailure::DeadLetter if policy.has_dead_letter_queue => letter(reason, after, case, policy),
        OnFailure::DeadLetter | OnFailure::Retry => retry(after, case, policy),
    }
}

fn retry(after: Duration, case: &Case<'_>, policy: &Policy<'_>) -> NextStep {
    if !policy.deliveries().end_with(case.attempt, case.overrides.max_attempts) {
        return NextStep::Retry { after: policy.floored(after, case) };
    }
    let by_policy = policy.last_delivery == LastDelivery::RedrivePolicy || !policy.has_dead_letter_queue;
    if by_policy && policy.standing(case) == DeliveryPosition::Last {
        return NextStep::ByRedrivePolicy;
    }
    letter(if case.outcome.is_outage() { "outage" } else { "exhausted" }, after, case, policy)
}

/// Returns a dead letter. Its reason is the user's own code, else `ours`.
fn letter(ours: &'static str, or_retry: Duration, case: &Case<'_>, policy: &Policy<'_>) -> NextStep {
    let own = match case.outcome {
        Outcome::Failed(summary) => summary.code.clone(),
        _ => None,
    };
    let reason = own.unwrap_or(Cow::Borrowed(ours));
    NextStep::DeadLetter { reason, or_retry: policy.floored(or_retry, case) }
}

/// The return of messages that were not started in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unstarted {
    /// At once: the batch has finished others, so this cannot go on forever.
    AtOnce,
    /// After the function has had time for those before them.
    After(Duration),
    /// After the backoff: the batch has finished nothing.
    Backoff,
}

/// Returns the next steps for the messages of one lane, in order, in case the letter of its failed head is not confirmed.
/// Behind the head, only messages of the same call have an outcome.
pub fn decide_lane(cases: &[Case<'_>], policy: &Policy<'_>, unstarted: Unstarted) -> Vec<NextStep> {
    let head = cases.iter().find(|case| !case.outcome.lets_the_lane_go_on());
    let released_after = head.and_then(|head| match head.outcome {
        // A group that was not started is released with one delay, to keep its order.
        Outcome::NotStarted => Some(released_after(head, policy, unstarted)),
        _ => decide(head, policy).back_after().map(|after| policy.within_limits(after + FOLLOWER_GAP)),
    });
    let action = |case: &Case<'_>| match (case.outcome, released_after) {
        (Outcome::NotStarted, Some(after)) => release(after, case, policy),
        (Outcome::NotStarted, None) => NextStep::Leave,
        _ => decide(case, policy),
    };
    cases.iter().map(action).collect()
}

fn released_after(case: &Case<'_>, policy: &Policy<'_>, unstarted: Unstarted) -> Duration {
    match (policy.deliveries().standing(case.attempt, None), unstarted) {
        (DeliveryPosition::More | DeliveryPosition::Last | DeliveryPosition::Unknown, Unstarted::AtOnce) => {
            Duration::ZERO
        }
        (
            DeliveryPosition::More | DeliveryPosition::Last | DeliveryPosition::Unknown,
            Unstarted::After(after),
        ) => policy.within_limits(after),
        (DeliveryPosition::Beyond, _) | (_, Unstarted::Backoff) => policy.floored(policy.delay(case), case),
    }
}

/// Releases a message that did not run to its end. On its last delivery it gets a letter, because SQS would move it without a
/// note. Its overrides do not apply: they are for attempts, and this was none.
fn release(after: Duration, case: &Case<'_>, policy: &Policy<'_>) -> NextStep {
    let last = policy.max_receive_count == Some(case.attempt);
    if last && policy.has_dead_letter_queue {
        let reason = if matches!(case.outcome, Outcome::Interrupted) { "interrupted" } else { "not-started" };
        return letter(reason, policy.delay(case), case, policy);
    }
    match policy.deliveries().standing(case.attempt, None) {
        DeliveryPosition::Last => NextStep::ByRedrivePolicy,
        DeliveryPosition::More => NextStep::Release { after },
        DeliveryPosition::Beyond | DeliveryPosition::Unknown => {
            NextStep::Release { after: policy.floored(after, case) }
        }
    }
}

impl<'a> Policy<'a> {
    /// Returns the user's delay for the failure, else the consumer's backoff, or the delay that the message requests if it is
    /// granted.
    fn delay(&self, case: &Case<'_>) -> Duration {
        let by_failure = match case.outcome {
            Outcome::Failed(summary) => summary.delay,
            _ => None,
        };
        let own = by_failure.unwrap_or_else(|| self.backoff.delay(case.attempt, case.random));
        let asked = case.overrides.backoff.as_ref().map(|backoff| backoff.delay(case.attempt, case.random));
        let granted = |asked| match self.overrides {
            Overrides::Less if self.is_fifo => own,
            overrides => overrides.grant(asked, own),
        };
        self.within_limits(asked.map_or(own, granted))
    }

    /// Returns a minute, doubled for each delivery up to an hour, or more if the deliveries left would not last for the horizon.
    fn outage_delay(&self, case: &Case<'_>) -> Duration {
        let wait = |attempt: u32| {
            if attempt < DOUBLINGS { SHORTEST_REST * (1 << (attempt - 1)) } else { LONGEST_REST }
        };
        let attempt = case.attempt.max(1);
        let last = self.deliveries().limit(case.overrides.max_attempts).unwrap_or(attempt);
        let doubling: Duration = (attempt..last.min(DOUBLINGS)).map(wait).sum();
        let all =
            doubling.saturating_add(LONGEST_REST.saturating_mul(last.saturating_sub(attempt.max(DOUBLINGS))));
        let left = self.outage_horizon.saturating_sub(case.age);
        let factor = if all.is_zero() { 1.0 } else { left.div_duration_f64(all).max(1.0) };
        self.within_limits(wait(attempt).mul_f64(factor * (1.0 + case.random * SPREAD)))
    }

    /// Returns the delay in whole seconds, rounded up, and no longer than SQS accepts.
    pub fn within_limits(&self, delay: Duration) -> Duration {
        let seconds = delay.as_secs().saturating_add(u64::from(delay.subsec_nanos() > 0));
        Duration::from_secs(seconds).min(self.longest)
    }

    fn floored(&self, after: Duration, case: &Case<'_>) -> Duration {
        match self.standing(case) {
            DeliveryPosition::More | DeliveryPosition::Last => after,
            DeliveryPosition::Beyond | DeliveryPosition::Unknown => after.max(AT_LEAST),
        }
    }

    pub const fn deliveries(&self) -> Deliveries {
        let Self { max_receive_count, has_dead_letter_queue, .. } = *self;
        Deliveries { max_receive_count, has_dead_letter_queue }
    }

    fn standing(&self, case: &Case<'_>) -> DeliveryPosition {
        self.deliveries().standing(case.attempt, case.overrides.max_attempts)
    }
}

#[cfg(test)]
mod tests;
