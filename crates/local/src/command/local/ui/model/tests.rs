//! Tests the rows that follow from events.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::{InvocationOutcome, MessageAttribute, NewMessage};

fn model() -> Model {
    Model::new(["orders".to_owned()].into(), ["redrive-DeadLetter"].into_iter())
}

fn apply(model: &mut Model, at: u64, kind: EventKind) {
    model.apply(&Event { at: Duration::from_millis(at), kind }, None);
}

fn send(model: &mut Model, id: &str, message: NewMessage) {
    let kind = EventKind::Sent { queue: "orders".into(), message_id: id.into() };
    let sent = SentMessage { queue: "orders".into(), message };
    model.apply(&Event { at: Duration::ZERO, kind }, Some(&sent));
}

fn received(id: &str, attempt: u32, request: Option<&str>) -> EventKind {
    let request_id = request.map(str::to_owned);
    EventKind::Received { queue: "orders".into(), message_id: id.into(), attempt, request_id }
}

fn failed(id: &str, attempt: u32) -> EventKind {
    EventKind::Failed { queue: "orders".into(), message_id: id.into(), attempt }
}

fn back(id: &str, seconds: u64) -> EventKind {
    EventKind::BackIn { queue: "orders".into(), message_id: id.into(), seconds }
}

fn done(queue: &str, id: &str) -> EventKind {
    EventKind::Done { queue: queue.into(), message_id: id.into(), attempt: 1 }
}

fn dead(id: &str, reason: &str) -> EventKind {
    let (reason, error) = (reason.to_owned(), Some("no such card".to_owned()));
    EventKind::DeadLettered { queue: "orders".into(), message_id: id.into(), attempt: 1, reason, error }
}

fn row(model: &Model, id: &str) -> Value {
    serde_json::to_value(model.find(id).unwrap()).unwrap()
}

#[test]
fn a_message_that_is_deleted_although_it_failed_is_lost() {
    let mut model = model();
    send(&mut model, "a", NewMessage::default());
    apply(&mut model, 10, received("a", 1, Some("r1")));
    let (queue, message_id) = ("orders".to_owned(), "a".to_owned());
    apply(&mut model, 20, EventKind::DeletedAlthoughFailed { queue, message_id, attempt: 1 });
    let row = row(&model, "a");
    assert_eq!((&row["attempts"][0]["outcome"], &row["end"]["kind"]), (&json!("failed"), &json!("lost")));
}

#[test]
fn a_message_that_fails_and_succeeds_has_an_attempt_a_wait_and_an_end() {
    let mut model = model();
    send(&mut model, "a", NewMessage { body: "é".repeat(300), ..NewMessage::default() });
    apply(&mut model, 10, received("a", 1, Some("r1")));
    let running = row(&model, "a");
    assert_eq!(
        running["attempts"],
        json!([{"attempt": 1, "at": 0.01, "outcome": "running", "invocation": 1}])
    );
    apply(&mut model, 20, failed("a", 1));
    apply(&mut model, 20, back("a", 2));
    apply(&mut model, 2_020, received("a", 2, Some("r2")));
    apply(&mut model, 2_030, done("orders", "a"));
    assert_eq!(
        row(&model, "a"),
        json!({
            "number": 1, "id": "a", "queue": "orders", "at": 0.0, "body": "é".repeat(200), "cut": true, "earlier": 0,
            "attempts": [
                {"attempt": 1, "at": 0.01, "ended": 0.02, "outcome": "failed", "wait": 2, "invocation": 1},
                {"attempt": 2, "at": 2.02, "ended": 2.03, "outcome": "done", "invocation": 2},
            ],
            "end": {"kind": "done", "at": 2.03},
        })
    );
}

/// A failed message ends its attempt, even though its batch continues.
#[test]
fn an_attempt_ends_when_it_failed_and_not_with_the_next_one() {
    let mut model = model();
    send(&mut model, "a", NewMessage::default());
    apply(&mut model, 10, received("a", 1, Some("r1")));
    apply(&mut model, 20, failed("a", 1));
    apply(&mut model, 20, back("a", 2));
    apply(&mut model, 2_030, received("a", 2, Some("r2")));
    apply(&mut model, 32_030, received("a", 3, Some("r3")));
    apply(&mut model, 33_000, failed("a", 2));
    let attempts = json!([
        {"attempt": 1, "at": 0.01, "ended": 0.02, "outcome": "failed", "wait": 2, "invocation": 1},
        {"attempt": 2, "at": 2.03, "ended": 33.0, "outcome": "failed", "invocation": 2},
        {"attempt": 3, "at": 32.03, "outcome": "running", "invocation": 3},
    ]);
    assert_eq!(row(&model, "a")["attempts"], attempts);
}

#[test]
fn a_message_that_is_gone_has_no_running_attempt() {
    let (queue, message_id) = ("orders".to_owned(), "a".to_owned());
    let expired = EventKind::Expired { queue: queue.clone(), message_id: message_id.clone() };
    for (end, outcome) in [(done("orders", "a"), "done"), (dead("a", "panic"), "dead"), (expired, "failed")] {
        let mut model = model();
        send(&mut model, "a", NewMessage::default());
        apply(&mut model, 10, received("a", 1, Some("r1")));
        apply(&mut model, 30_010, received("a", 2, Some("r2")));
        apply(&mut model, 31_000, end);
        for attempt in row(&model, "a")["attempts"].as_array().unwrap() {
            assert_eq!((&attempt["outcome"], &attempt["ended"]), (&json!(outcome), &json!(31.0)));
        }
    }
}

#[test]
fn a_letter_ends_its_message_with_the_reason_and_a_later_life_is_linked() {
    let mut model = model();
    send(&mut model, "a", NewMessage { group_id: Some("g".into()), ..NewMessage::default() });
    apply(&mut model, 10, received("a", 1, Some("r1")));
    apply(&mut model, 15, dead("a", "rejected"));
    let end = json!({"kind": "dead", "at": 0.015, "reason": "rejected", "error": "no such card"});
    assert_eq!((&row(&model, "a")["end"], &row(&model, "a")["group"]), (&end, &json!("g")));
    assert_eq!(row(&model, "a")["attempts"][0]["outcome"], "dead");
    let origin = MessageAttribute::text(r#"{"message_id":"a","redrives":1}"#);
    for id in ["b", "c"] {
        let attributes = BTreeMap::from([("redrive.origin".to_owned(), origin.clone())]);
        send(&mut model, id, NewMessage { attributes, ..NewMessage::default() });
    }
    let lives = ["a", "b", "c"].map(|id| row(&model, id)["retried_as"].clone());
    assert_eq!(lives, [json!(2), json!(3), Value::Null]);
}

#[test]
fn events_of_a_letter_do_not_change_its_message() {
    let mut model = model();
    send(&mut model, "a", NewMessage::default());
    apply(&mut model, 15, dead("a", "redrive policy"));
    let before = row(&model, "a");
    apply(&mut model, 20, done("orders-dead", "a"));
    apply(&mut model, 20, EventKind::Sent { queue: "orders-dead".into(), message_id: "l".into() });
    assert_eq!((row(&model, "a"), model.find("l")), (before, None));
}

#[test]
fn an_invocation_is_known_from_its_messages_on_until_it_has_ended() {
    let mut model = model();
    send(&mut model, "a", NewMessage::default());
    apply(&mut model, 10, received("a", 1, Some("r1")));
    let (function, request_id) = ("worker".to_owned(), "r1".to_owned());
    apply(
        &mut model,
        10,
        EventKind::InvocationStarted {
            function: function.clone(),
            request_id: request_id.clone(),
            messages: 1,
        },
    );
    let outcome = InvocationOutcome::TimedOut;
    apply(
        &mut model,
        99,
        EventKind::InvocationEnded { function, request_id, outcome, failed: 1, duration_ms: 89 },
    );
    let expected = json!({
        "number": 1, "request_id": "r1", "function": "worker", "at": 0.01, "messages": 1, "failed": 1,
        "duration_ms": 89, "trouble": "timed out",
    });
    assert_eq!(serde_json::to_value(model.invocations.get(1).unwrap()).unwrap(), expected);
}

#[test]
fn a_reader_is_told_what_changed_since_it_last_read_and_each_row_once() {
    let mut model = model();
    for id in ["a", "b"] {
        send(&mut model, id, NewMessage::default());
    }
    let read = model.version;
    for attempt in 1..=5 {
        apply(&mut model, 10, received("b", attempt, Some(&format!("r{attempt}"))));
        apply(&mut model, 20, failed("b", attempt));
        apply(&mut model, 20, back("b", 1));
    }
    let changed: Vec<_> =
        model.messages.changed(read, model.version).map(|(_, row)| row.id.as_str()).collect();
    assert_eq!(changed, ["b"]);
    assert_eq!(model.messages.changed(model.version, model.version).count(), 0);
}

#[test]
fn a_client_that_receives_a_message_has_it_until_it_deletes_it() {
    let mut model = model();
    send(&mut model, "a", NewMessage::default());
    apply(&mut model, 10, received("a", 1, None));
    apply(&mut model, 20, back("a", 60));
    let attempts = json!([{"attempt": 1, "at": 0.01, "ended": 0.02, "outcome": "client", "wait": 60}]);
    assert_eq!(row(&model, "a")["attempts"], attempts);
    apply(&mut model, 30, done("orders", "a"));
    assert_eq!(row(&model, "a")["end"]["kind"], "done");
}

#[test]
fn only_so_many_messages_and_attempts_are_kept() {
    let mut model = model();
    for number in 0..=MOST_MESSAGES {
        send(&mut model, &format!("m{number}"), NewMessage::default());
    }
    assert_eq!((model.messages.first(), model.find("m0"), model.numbers.len()), (2, None, MOST_MESSAGES));
    apply(&mut model, 10, received("m0", 1, Some("r")));
    for attempt in 1..=100 {
        apply(&mut model, 10, received("m5", attempt, Some("r")));
    }
    let row = row(&model, "m5");
    assert_eq!((row["attempts"].as_array().unwrap().len(), &row["earlier"]), (64, &json!(36)));
    assert_eq!(row["attempts"][63]["attempt"], 100);
}

#[test]
fn an_alarm_is_there_before_it_has_a_state() {
    let mut model = model();
    let state =
        |model: &Model| serde_json::to_value(&model.alarms["redrive-DeadLetter"].1).unwrap()["state"].clone();
    assert_eq!(state(&model), "INSUFFICIENT_DATA");
    let (name, reason) = ("redrive-DeadLetter".to_owned(), "one".to_owned());
    apply(&mut model, 60_000, EventKind::Alarm { name, state: AlarmState::Alarm, reason });
    assert_eq!(state(&model), "ALARM");
}

#[test]
fn an_attempt_of_a_worker_runs_until_it_is_given_back_or_done() {
    let mut model = model();
    model.has_workers = true;
    send(&mut model, "a", NewMessage::default());
    apply(&mut model, 10, received("a", 1, None));
    assert_eq!(row(&model, "a")["attempts"][0]["outcome"], "running");
    apply(&mut model, 20, failed("a", 1));
    apply(&mut model, 20, back("a", 2));
    apply(&mut model, 2_020, received("a", 2, None));
    let (queue, message_id) = ("orders".into(), "a".into());
    apply(&mut model, 2_030, EventKind::Released { queue, message_id, attempt: 2, seconds: 0 });
    apply(&mut model, 2_040, received("a", 3, None));
    apply(&mut model, 2_050, done("orders", "a"));
    let row = row(&model, "a");
    let outcomes: Vec<_> = (0..3).map(|at| row["attempts"][at]["outcome"].clone()).collect();
    assert_eq!(outcomes, ["failed", "released", "done"]);
    assert_eq!((&row["attempts"][0]["wait"], &row["attempts"][1]["wait"]), (&json!(2), &json!(0)));
    assert_eq!(row["end"]["kind"], "done");
}
