//! The properties of every run, for any seed.

use super::history::{Ending, History, Invocation, Run};
use super::life::one_life;
use super::scenario::{Says, Scenario};

pub(super) type Checked = Result<(), String>;

pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Says what is wrong with a run.
pub(crate) fn check(scenario: &Scenario, history: &History) -> Checked {
    for (at, invocation) in history.invocations.iter().enumerate() {
        one_batch(scenario, history, invocation, at)
            .map_err(|problem| format!("invocation {at}: {problem}"))?;
    }
    for message in 0..history.ids.len() {
        one_life(scenario, history, message).map_err(|problem| format!("message {message}: {problem}"))?;
    }
    order(scenario, history)?;
    nothing_vanished(scenario, history)
}

fn one_batch(scenario: &Scenario, history: &History, batch: &Invocation, at: usize) -> Checked {
    match &batch.ending {
        Ending::Settled { failed } => settled(scenario, history, batch, failed)?,
        Ending::BadResponse(problem) => return Err(format!("the mapping refuses the response: {problem}")),
        Ending::Lost | Ending::Killed => {
            // Before a message runs alone that may end the process, redrive deletes what is done.
            let isolates = batch.received.iter().any(|(_, attempt)| *attempt >= 3);
            let has_letter =
                |message: &usize| history.invocations[..=at].iter().any(|it| it.letters.contains(message));
            let is_over = |message: &usize| batch.is_done(*message) || has_letter(message);
            let is_safe = batch.deleted.is_empty() || isolates && batch.deleted.iter().all(is_over);
            ensure(is_safe, || "something is deleted without a response".into())?;
        }
    }
    let answered = batch.ending != Ending::Killed;
    ensure(!answered || batch.took < scenario.left, || "it answered after its deadline".into())?;
    for (at, run) in batch.runs.iter().enumerate() {
        ensure(batch.attempt(run.message) == Some(run.attempt), || format!("{run:?} is of no record"))?;
        let again = batch.runs[..at].iter().any(|earlier| earlier.message == run.message);
        ensure(!again, || format!("message {} ran twice at one delivery", run.message))?;
    }
    counts(batch)?;
    if scenario.fifo {
        groups_stop(scenario, history, batch)?;
    }
    if batch.is_calm() {
        for &(message, attempt) in &batch.received {
            calm(scenario, history, (batch, at), (message, attempt))?;
        }
    }
    Ok(())
}

/// What is left out of the response is done, and what is done is left out.
fn settled(scenario: &Scenario, history: &History, batch: &Invocation, failed: &[String]) -> Checked {
    let records = batch.received.iter().map(|&(message, _)| &history.ids[message]);
    let expected: Vec<_> = records.filter(|id| failed.contains(id)).collect();
    ensure(expected.iter().copied().eq(failed), || format!("{failed:?} is not in the order of the records"))?;
    for &(message, _) in &batch.received {
        let written = batch.letters.iter().filter(|letter| **letter == message).count();
        let is_over = batch.is_done(message) || written > 0;
        let reported = failed.contains(&history.ids[message]);
        // An earlier invocation may have written the letter, and a FIFO queue takes it once.
        let known = scenario.fifo && history.invocations.iter().any(|it| it.letters.contains(&message));
        let safe = is_over || known;
        ensure(reported || safe, || format!("message {message} is lost: neither done nor in a letter"))?;
        let unknown = written > 0 && batch.doubtful && !batch.is_done(message);
        ensure(!reported || !is_over || unknown, || format!("message {message} is over and comes back"))?;
        ensure(reported != batch.deleted.contains(&message), || format!("message {message}: delete"))?;
        let twins = batch.doubtful && !scenario.fifo;
        ensure(written <= 1 || twins, || format!("message {message} has {written} letters"))?;
        let both = written > 0 && batch.is_done(message);
        ensure(!both, || format!("message {message} is done and has a letter"))?;
    }
    Ok(())
}

/// Every record counts as one thing.
fn counts(batch: &Invocation) -> Checked {
    let Some(report) = &batch.report else {
        return ensure(batch.ending == Ending::Killed, || "there is no report".into());
    };
    let kinds =
        [report.succeeded, report.worker_errors, report.deferred, report.discarded, report.not_started];
    let records = batch.received.len() as u64;
    let adds_up = (report.records, kinds.iter().sum()) == (records, records);
    ensure(adds_up, || format!("the counts do not add up: {report:?}"))?;
    let said = |says| batch.runs.iter().filter(|run| run.said == Some(says)).count() as u64;
    ensure((report.succeeded, report.discarded) == (said(Says::Ok), said(Says::Discard)), || {
        format!("it counts other successes than there were: {report:?}")
    })?;
    let distinct =
        batch.received.iter().filter(|(message, _)| batch.letters.contains(message)).count() as u64;
    let letters = report.dead_lettered >= distinct || batch.doubtful;
    ensure(letters, || format!("{distinct} letters, but {report:?}"))?;
    let calm = batch.is_calm() && report.settle_errors > 0;
    ensure(!calm, || format!("errors where none was made: {report:?}"))
}

/// On a FIFO queue nothing runs behind a message that neither is done nor has its letter.
fn groups_stop(scenario: &Scenario, history: &History, batch: &Invocation) -> Checked {
    for (at, run) in batch.runs.iter().enumerate() {
        let group = scenario.messages[run.message].group;
        let behind = batch.received.iter().map(|&(message, _)| message);
        for earlier in behind.filter(|&it| it < run.message && scenario.messages[it].group == group) {
            let before = batch.runs[..at].iter().find(|run| run.message == earlier);
            // A bulk handler may rule on one behind another that then counts as not started.
            let is_ruled_behind = before.is_none() && run.is_ruled && !scenario.messages[earlier].malformed;
            if is_ruled_behind || before.is_some_and(|before| before.is_of_one_call_with(run)) {
                continue;
            }
            let ran_before = before.is_some();
            let in_order = ran_before || scenario.messages[earlier].malformed;
            let has_letter = history.invocations.iter().any(|it| it.letters.contains(&earlier));
            let over = batch.is_done(earlier) || has_letter;
            ensure(in_order && over, || format!("message {} overtook message {earlier}", run.message))?;
        }
    }
    Ok(())
}

/// Where no fault interfered: what was asked of SQS for a message, exactly.
fn calm(
    scenario: &Scenario,
    history: &History,
    (batch, at): (&Invocation, usize),
    (message, attempt): (usize, u32),
) -> Checked {
    let over = batch.deleted.contains(&message);
    let not_run = batch.run(message).is_none() && !scenario.messages[message].malformed;
    let last = not_run && scenario.told == Some(attempt);
    let again = history.panicked_again(at, message);
    let must = last || (hopeless(scenario, batch, message) && again.is_none_or(|again| !again));
    let must = scenario.has_dead_letter_queue && must && !(again.is_none() && batch.panicked(message));
    ensure(!must || over, || format!("message {message} has no letter after attempt {attempt}"))?;
    let more = scenario.last_attempt(message).is_none_or(|last| attempt < last);
    ensure(!(again == Some(true) && more && over), || {
        format!("message {message} panicked after others and is not retried")
    })?;
    let hidden: Vec<_> = batch.hidden.iter().filter(|(it, _)| *it == message).map(|it| it.1).collect();
    ensure(hidden.len() == usize::from(!over), || {
        format!("message {message}: visibility set to {hidden:?}")
    })?;
    let Some(&hidden) = hidden.first() else { return Ok(()) };
    let goes_on = scenario.last_attempt(message).is_none_or(|last| attempt < last);
    let failed = batch.run(message).is_some_and(|run| matches!(run.said, None | Some(Says::Error)));
    if failed && goes_on {
        let [least, most] = [0.0, 1.0].map(|random| scenario.delay_of(message, attempt, random).as_secs());
        // Without a limit that is known to hold, a second is the least.
        let floor = u64::from(scenario.told.is_none());
        let cap = |seconds: u64| seconds.min(scenario.longest()).max(floor);
        let right = (cap(least)..=cap(most)).contains(&hidden);
        ensure(right, || format!("message {message} waits {hidden} s after attempt {attempt}"))?;
    }
    let head = batch.received.iter().find(|&&(head, _)| {
        let same = scenario.fifo && scenario.messages[head].group == scenario.messages[message].group;
        same && head < message && !batch.deleted.contains(&head)
    });
    let head = head.filter(|(head, _)| batch.run(*head).is_some() && batch.run(message).is_none());
    let head = head.and_then(|&(head, _)| batch.hidden_for(head));
    if let Some(head) = head {
        // Left to the redrive policy, if there is no queue of letters.
        let is_last = batch.run(message).is_none() && scenario.told == Some(attempt);
        let given_up = is_last && !scenario.has_dead_letter_queue;
        let expected = if given_up { 0 } else { (head + 2).min(scenario.longest()) };
        ensure(hidden == expected, || format!("message {message} waits {hidden} s, its head {head} s"))?;
    }
    Ok(())
}

/// What the handler said sends the message to the dead letters at once.
pub(super) fn hopeless(scenario: &Scenario, batch: &Invocation, message: usize) -> bool {
    match batch.says(message) {
        Some(Says::Reject) => true,
        Some(Says::Panic) => !scenario.retries_panics,
        Some(_) | None => false,
    }
}

/// Within a group the first successes are in order, dead letters aside.
fn order(scenario: &Scenario, history: &History) -> Checked {
    if !scenario.fifo {
        return Ok(());
    }
    let is_dead = |message| {
        history.moved.contains(&message) || history.invocations.iter().any(|it| it.letters.contains(&message))
    };
    let runs = history.invocations.iter().flat_map(|batch| &batch.runs);
    let mut done: Vec<&Run> = Vec::new();
    for run in runs.filter(|run| run.said.is_some_and(Says::is_done) && !is_dead(run.message)) {
        if done.iter().any(|it| it.message == run.message) {
            continue;
        }
        let group = scenario.messages[run.message].group;
        // What a bulk handler rules on behind an unfinished message is its own decision.
        let later = done.iter().filter(|it| !it.is_ruled).map(|it| it.message);
        let later = later.filter(|&it| it > run.message && scenario.messages[it].group == group).min();
        ensure(later.is_none(), || format!("message {} was done after message {later:?}", run.message))?;
        done.push(run);
    }
    Ok(())
}

/// Every message was handled to the end, or is a dead letter, or is still there because nothing ever ends it.
fn nothing_vanished(scenario: &Scenario, history: &History) -> Checked {
    let deleted = history.invocations.iter().map(|batch| batch.deleted.len()).sum::<usize>();
    let letters = history.invocations.iter().map(|batch| batch.letters.len()).sum::<usize>();
    let gone = deleted + history.moved.len();
    ensure(gone + history.left_in_source == history.ids.len(), || {
        format!("{} sent, {gone} gone, {} left", history.ids.len(), history.left_in_source)
    })?;
    let dead = letters + history.moved.len();
    ensure(history.left_in_dead == dead, || format!("{} of {dead} dead letters", history.left_in_dead))?;
    let endless = scenario.limit.is_none() && history.cut_short;
    ensure(history.left_in_source == 0 || endless, || format!("{} are left", history.left_in_source))
}
