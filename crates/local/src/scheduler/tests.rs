//! Schedules are made once, and send their messages when they are due.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, Request};
use serde_json::{Value, json};

use crate::Account;

const NOON: u64 = 1_800_000_000 - 1_800_000_000 % 86_400 + 43_200;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOON + seconds)
}

fn input(due: u64) -> Value {
    let due = humantime::format_rfc3339_seconds(at(due)).to_string();
    let message = json!({ "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/123456789012/orders", "MessageBody": "tea" });
    json!({
        "ScheduleExpression": format!("at({})", due.trim_end_matches('Z')),
        "FlexibleTimeWindow": { "Mode": "OFF" },
        "ActionAfterCompletion": "DELETE",
        "Target": {
            "Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
            "RoleArn": "arn:aws:iam::123456789012:role/schedules",
            "Input": message.to_string(),
        },
    })
}

fn call(account: &mut Account, method: Method, path: &str, body: &Value, now: u64) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).body(Bytes::from(body.to_string())).unwrap();
    let response = account.answer(&request, at(now));
    (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap())
}

fn account() -> Account {
    let mut account = Account::new();
    account.create_queue("orders", [], at(0)).unwrap();
    account
}

#[test]
fn a_schedule_sends_its_message_when_it_is_due_and_is_gone() {
    let mut account = account();
    let (status, output) = call(&mut account, Method::POST, "/schedules/tea", &input(3_600), 0);
    assert_eq!(
        (status, &output["ScheduleArn"]),
        (200, &json!("arn:aws:scheduler:eu-central-1:123456789012:schedule/default/tea"))
    );
    assert_eq!(account.next_action(), Some(at(3_600)));
    let visible = |account: &mut Account, now: u64| {
        while account.step(at(now)).is_some() {}
        account.counts("orders", at(now)).unwrap().visible
    };
    assert_eq!([visible(&mut account, 3_599), visible(&mut account, 3_600)], [0, 1]);
    assert_eq!(account.next_action(), None);
    assert_eq!(call(&mut account, Method::GET, "/schedules/tea", &json!({}), 3_600).0, 404);
}

#[test]
fn a_name_is_given_once_until_its_schedule_is_gone() {
    let mut account = account();
    let mut create = |input: &Value| call(&mut account, Method::POST, "/schedules/tea", input, 0).0;
    assert_eq!([create(&input(60)), create(&input(60))], [200, 409]);
    let (status, listed) = call(&mut account, Method::GET, "/schedules?NamePrefix=t", &json!({}), 0);
    assert_eq!((status, &listed["Schedules"][0]["Name"]), (200, &json!("tea")));
    let found = call(&mut account, Method::GET, "/schedules/tea", &json!({}), 0).1;
    assert_eq!(found["ScheduleExpression"], input(60)["ScheduleExpression"]);
    assert_eq!(call(&mut account, Method::DELETE, "/schedules/tea", &json!({}), 0).0, 200);
    assert_eq!(account.next_action(), None);
    assert_eq!(call(&mut account, Method::POST, "/schedules/tea", &input(60), 0).0, 200);
}

#[test]
fn a_moment_that_has_passed_is_now() {
    let mut account = account();
    assert_eq!(call(&mut account, Method::POST, "/schedules/tea", &input(60), 600).0, 200);
    assert_eq!(account.next_action(), Some(at(600)));
}

#[test]
fn unsupported_schedules_are_refused() {
    let mut account = account();
    for (field, value, expected) in [
        ("ScheduleExpression", json!("rate(1 day)"), "Invalid Schedule Expression rate(1 day)"),
        ("ScheduleExpressionTimezone", json!("Europe/Berlin"), "in UTC"),
        ("FlexibleTimeWindow", json!({ "Mode": "FLEXIBLE" }), "FlexibleTimeWindow"),
        ("Target", json!({ "Arn": "arn:aws:lambda:::f", "RoleArn": "r" }), "only the target"),
        ("ScheduleExpression", json!("at(2027-01-15T12:00:00Z)"), "Invalid Schedule Expression"),
        ("State", json!("DISABLED"), "ENABLED"),
        ("GroupName", json!("others"), "Schedule group others does not exist."),
    ] {
        let mut input = input(60);
        input[field] = value;
        let (status, output) = call(&mut account, Method::POST, "/schedules/tea", &input, 0);
        assert!(status >= 400 && output.to_string().contains(expected), "{output}");
    }
    assert_eq!(call(&mut account, Method::POST, "/schedules/a%20b", &input(60), 0).0, 400);
}
