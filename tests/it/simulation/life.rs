//! The properties of a message from its first delivery to its last.

use std::time::Duration;

use super::checks::{Checked, ensure, hopeless};
use super::history::{Ending, History, Invocation};
use super::scenario::{Says, Scenario};

/// For so many seconds a FIFO queue takes the same letter once.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>
const DEDUPLICATION: u64 = 300;

/// What must hold of a message through all its deliveries.
pub(super) fn one_life(scenario: &Scenario, history: &History, message: usize) -> Checked {
    let deliveries: Vec<_> = history.deliveries(message).collect();
    let attempts = deliveries.iter().map(|(_, attempt)| *attempt);
    ensure(attempts.eq(1..=deliveries.len() as u32), || "its receive counts have a gap".into())?;
    for pair in deliveries.windows(2) {
        pace(scenario, message, pair[0], pair[1].0)?;
    }

    let runs = deliveries.iter().filter(|(batch, _)| batch.run(message).is_some()).count() as u32;
    let most = scenario.limit.unwrap_or(u32::MAX);
    ensure(runs <= most, || format!("{runs} runs of {most}"))?;
    let undisturbed = deliveries.iter().all(|(batch, _)| batch.is_calm());
    if undisturbed
        && scenario.has_dead_letter_queue
        && let Some(last) = scenario.last_attempt(message)
    {
        // What was left to a redrive policy that does not move it runs once more.
        let most = last + u32::from(!scenario.agrees());
        ensure(runs <= most, || format!("{runs} runs, although {last} was the last"))?;
    }

    let moves = history.moved.iter().filter(|moved| **moved == message).count();
    let written = deliveries.iter().map(|(batch, _)| letters(batch, message)).sum::<usize>();
    let doubts = deliveries.iter().filter(|(batch, _)| letters(batch, message) > 0);
    let doubts =
        doubts.filter(|(batch, _)| batch.doubtful || matches!(batch.ending, Ending::Lost | Ending::Killed));
    let doubts = doubts.count();
    let wrote = deliveries.iter().map(|(batch, _)| *batch).filter(|batch| letters(batch, message) > 0);
    let wrote: Vec<_> = wrote.collect();
    let too_close = wrote
        .windows(2)
        .any(|pair| (pair[1].began + pair[1].took).saturating_sub(pair[0].began).as_secs() < DEDUPLICATION);
    ensure(!(scenario.fifo && too_close), || "a letter that SQS could have known for a twin".into())?;
    ensure(written + moves <= 1 || doubts > 0, || format!("{written} letters and {moves} moves by SQS"))?;
    if undisturbed && scenario.agrees() && written + moves == 1 {
        deserved(scenario, message, deliveries[deliveries.len() - 1])?;
    }
    Ok(())
}

fn letters(batch: &Invocation, message: usize) -> usize {
    batch.letters.iter().filter(|letter| **letter == message).count()
}

/// No message is delivered more than once a second on average, not counting deliveries that were asked for.
///
/// Exactly: between two deliveries of a message lies at least a second, unless after the first of them
/// 1. it had failed on what the function was told is its last delivery, so that the redrive policy moves it: once in
///    a life, since the receive count only grows;
/// 2. it had not been started, on no delivery beyond the last, by an invocation that finished another message: as
///    often as something is finished;
/// 3. the user asked for no delay (a backoff of 0, its own or that of the head of its unstarted group,
///    `retry_after(0)`, `defer(0)`), with deliveries known to be left: as often as that number says.
///
/// So whatever drifts, deliveries at once are bounded by maxReceiveCount and by the work that gets done.
fn pace(
    scenario: &Scenario,
    message: usize,
    (batch, attempt): (&Invocation, u32),
    next: &Invocation,
) -> Checked {
    let apart = next.began.saturating_sub(batch.began);
    let told = scenario.told;
    let last_for_the_policy = told == Some(attempt);
    let says = batch.says(message);
    let not_run = batch.run(message).is_none();
    let put_back = not_run && batch.finished_something() && told.is_none_or(|told| attempt <= told);
    let zero = |it| scenario.delay_of(it, attempt, 0.0).is_zero();
    let group = scenario.messages[message].group;
    // A group that never started is back as soon as its head.
    let with_head =
        |it: usize| not_run && scenario.fifo && it < message && scenario.messages[it].group == group;
    let no_delay = matches!(says, Some(Says::RetryAfter(0) | Says::Defer(0)))
        || zero(message)
        || batch.received.iter().any(|&(it, _)| with_head(it) && zero(it));
    let asked_for = no_delay && scenario.last_attempt(message).is_some_and(|last| attempt < last);
    ensure(apart.as_secs() >= 1 || last_for_the_policy || put_back || asked_for, || {
        format!("delivery {} came {apart:?} after the one before it", attempt + 1)
    })?;
    if let (Some(hidden), true) = (batch.hidden_for(message), batch.is_calm()) {
        let early = apart.as_secs() < hidden;
        ensure(!early, || format!("delivery {} came {apart:?} into a delay of {hidden} s", attempt + 1))?;
        // Alone in its queue, a message comes back as soon as it may.
        let ended = batch.run(message).map_or(batch.began, |run| run.ended);
        let due = (ended + Duration::from_secs(hidden)).max(batch.began + batch.took);
        let late = next.began > due + Duration::from_millis(100);
        let alone = scenario.messages.len() == 1 && batch.says(message).is_some();
        ensure(!(alone && late), || format!("delivery {} came {apart:?} after {hidden} s", attempt + 1))?;
    }
    Ok(())
}

/// A letter of a message that met with no fault has a reason.
fn deserved(scenario: &Scenario, message: usize, (batch, attempt): (&Invocation, u32)) -> Checked {
    let hopeless = hopeless(scenario, batch, message)
        || (scenario.messages[message].malformed && !scenario.retries_malformed);
    let exhausted = scenario.last_attempt(message).is_some_and(|last| attempt >= last);
    ensure(hopeless || exhausted, || format!("it is a dead letter after attempt {attempt}"))
}
