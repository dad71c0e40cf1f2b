use super::*;
use crate::StartFailure;

fn lines_of(events: Vec<EventKind>) -> Vec<(Option<usize>, &'static str, String)> {
    let mut formatter = EventFormatter::new(vec!["orders".to_owned()]);
    formatter.expect("a", "{}");
    formatter.expect("b", "{}");
    let events = events.into_iter().enumerate();
    let lines =
        events.flat_map(|(at, kind)| formatter.format(&Event { at: Duration::from_secs(at as u64), kind }));
    lines.map(|line| (line.message.map(|(number, _)| number), line.word, line.detail)).collect()
}

fn at_queue(queue: &str, message_id: &str) -> (String, String) {
    (queue.to_owned(), message_id.to_owned())
}

#[test]
fn a_body_is_forgotten_once_it_is_shown() {
    let mut formatter = EventFormatter::new(vec!["orders".to_owned()]);
    formatter.expect("a", "tea");
    let (queue, message_id) = at_queue("orders", "a");
    let lines = formatter.format(&Event { at: Duration::ZERO, kind: EventKind::Sent { queue, message_id } });
    assert_eq!((lines[0].detail.as_str(), formatter.messages["a"].body.as_str()), ("tea", ""));
}

#[test]
fn a_failure_and_its_delay_are_one_line() {
    let (queue, message_id) = at_queue("orders", "b");
    let lines = lines_of(vec![
        EventKind::Received {
            queue: queue.clone(),
            message_id: message_id.clone(),
            attempt: 3,
            request_id: None,
        },
        EventKind::Failed { queue: queue.clone(), message_id: message_id.clone(), attempt: 3 },
        EventKind::BackIn { queue, message_id, seconds: 8 },
    ]);
    let received = (Some(2), "received", "attempt 3".to_owned());
    assert_eq!(lines, [received, (Some(2), "failed", "attempt 3, back in 8 s".to_owned())]);
}

#[test]
fn a_failure_without_a_delay_is_told_before_what_follows() {
    let failed = |message_id: &str| {
        let (queue, message_id) = at_queue("orders", message_id);
        EventKind::Failed { queue, message_id, attempt: 1 }
    };
    let (queue, message_id) = at_queue("orders", "b");
    let lines = lines_of(vec![failed("a"), failed("b"), EventKind::Done { queue, message_id, attempt: 2 }]);
    let told: Vec<_> = lines.iter().map(|(number, word, _)| (*number, *word)).collect();
    assert_eq!(told, [(Some(1), "failed"), (Some(2), "failed"), (Some(2), "done")]);
}

#[test]
fn a_letter_is_told_as_the_end_of_its_message() {
    let (queue, message_id) = at_queue("orders", "a");
    let reason = "rejected".to_owned();
    let lines = lines_of(vec![
        EventKind::Sent { queue: "orders-dead".to_owned(), message_id: "letter".to_owned() },
        EventKind::DeadLettered {
            queue,
            message_id,
            attempt: 1,
            reason,
            error: Some("no such card".to_owned()),
        },
    ]);
    assert_eq!(lines, [(Some(1), "dead-lettered", "attempt 1, rejected: no such card".to_owned())]);
}

#[test]
fn an_alarm_that_is_over_is_told_but_not_one_that_never_was() {
    let alarm = |state| EventKind::Alarm { name: "Dead".to_owned(), state, reason: "why".to_owned() };
    let states =
        [AlarmState::Ok, AlarmState::Alarm, AlarmState::Ok, AlarmState::InsufficientData, AlarmState::Ok];
    let lines = lines_of(states.into_iter().map(alarm).collect());
    let words: Vec<_> = lines.into_iter().map(|(_, word, _)| word).collect();
    assert_eq!(words, ["ALARM", "OK"]);
}

#[test]
fn a_message_that_no_invocation_saw_is_told_with_the_reason() {
    let (queue, message_id) = at_queue("orders", "a");
    let filtered =
        EventKind::FilteredOut { queue: queue.clone(), message_id: message_id.clone(), attempt: 1 };
    let throttled = EventKind::NotDelivered { queue, message_id, attempt: 2 };
    let words: Vec<_> = lines_of(vec![throttled, filtered]).into_iter().map(|(_, word, _)| word).collect();
    assert_eq!(words, ["throttled", "filtered out"]);
}

#[test]
fn only_an_invocation_in_trouble_is_told() {
    let ended = |outcome| EventKind::InvocationEnded {
        function: "orders".to_owned(),
        request_id: "1".to_owned(),
        outcome,
        failed: 2,
        duration_ms: 5,
    };
    let lines = lines_of(vec![ended(InvocationOutcome::Succeeded), ended(InvocationOutcome::TimedOut)]);
    assert_eq!(lines, [(None, "function", "orders timed out; 2 messages come back".to_owned())]);
}

#[test]
fn a_message_that_is_deleted_although_it_failed_is_not_told_as_done() {
    let (queue, message_id) = at_queue("orders", "a");
    let lines = lines_of(vec![EventKind::DeletedAlthoughFailed { queue, message_id, attempt: 1 }]);
    assert_eq!(lines, [(Some(1), "lost", "deleted although it failed, attempt 1".to_owned())]);
}

#[test]
fn the_output_of_a_function_that_does_not_start_is_shown_once() {
    let ended = |line: &str| EventKind::InvocationEnded {
        function: "orders".to_owned(),
        request_id: "1".to_owned(),
        outcome: InvocationOutcome::NotStarted(StartFailure {
            reason: "it exited".to_owned(),
            output: vec!["usage".to_owned(), line.to_owned()],
        }),
        failed: 2,
        duration_ms: 5,
    };
    let lines = lines_of(["no table", "no table", "no key"].map(ended).into());
    let told: Vec<_> = lines.iter().map(|(_, word, detail)| format!("{word} {detail}")).collect();
    let failed = "function orders did not start: it exited; 2 messages come back";
    assert_eq!(told, [failed, " | usage", " | no table", failed, failed, " | usage", " | no key"]);
}

#[test]
fn released_messages_and_ends_of_workers_are_shown() {
    let (queue, message_id) = at_queue("orders", "a");
    let released = EventKind::Released { queue, message_id, attempt: 1, seconds: 0 };
    let ended = |status: &str, restart_in| EventKind::WorkerEnded {
        worker: "orders".to_owned(),
        status: status.to_owned(),
        output: vec!["out of memory".to_owned()],
        restart_in,
    };
    let crashed = ended("signal: 6 (SIGABRT)", Some(1));
    let lines = lines_of(vec![released, crashed.clone(), crashed, ended("exit status: 0", None)]);
    let told: Vec<_> = lines.iter().map(|(_, word, detail)| format!("{word} {detail}")).collect();
    let crash = "worker orders has ended (signal: 6 (SIGABRT)); it is started again in 1 s";
    let end = "worker orders has ended (exit status: 0)";
    assert_eq!(told, ["released attempt 1, back at once", crash, " | out of memory", crash, end]);
}
