use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::time::timeout;

use crate::support::event;
use crate::support::function::{Function, ORDERS, PATIENCE, command, environment};
use crate::support::shop::order;

/// How the function ends that cannot start: its exit code, stdout and stderr.
async fn refused(environment: &BTreeMap<String, String>) -> (Option<i32>, String, String) {
    let ended = command(Path::new(ORDERS), environment).output();
    let output = timeout(PATIENCE, ended).await.expect("it ends by itself").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn a_bad_setting_stops_the_function_and_says_what_is_allowed() {
    let table = [
        ("REDRIVE_DEAD_LETTER_QUEUE_URL", "orders-dead", "a queue URL such as https://sqs."),
        ("REDRIVE_QUEUES", "orders", "JSON such as {\"arn:aws:sqs:eu-central-1:123456789012:orders\":{"),
        (
            "REDRIVE_LOG",
            "redrive=loud",
            "warn, info, debug or trace, also by target such as \"info,orders=debug\"",
        ),
        // Python's name of a level, and one that is mistyped.
        ("REDRIVE_LOG", "warning", "off, error, warn, info, debug or trace"),
        ("REDRIVE_LOG", "info,debgu", "(debgu is not a level)"),
    ];
    for (name, value, allowed) in table {
        let (code, stdout, stderr) = refused(&environment(&[(name, value)])).await;
        assert_eq!(code, Some(1), "{name}={value}: {stderr}");
        let begin = format!("Error: {name} is \"{value}\", allowed: ");
        assert!(stderr.starts_with(&begin) && stderr.contains(allowed), "{stderr}");
        assert_eq!((stderr.lines().count(), stdout.as_str()), (1, ""), "{name}");
    }
}

#[tokio::test]
async fn a_backoff_for_which_sqs_has_no_room_stops_the_function() {
    let variables = [("REDRIVE_BACKOFF", r#"{"max": 43000}"#), ("REDRIVE_VISIBILITY_TIMEOUT", "480")];
    let (code, _, stderr) = refused(&environment(&variables)).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("43000") && stderr.contains("at most 42720 s"), "{stderr}");
}

#[tokio::test]
async fn a_missing_region_stops_the_function() {
    let mut environment = environment(&[]);
    environment.remove("AWS_REGION");
    let (code, _, stderr) = refused(&environment).await;
    assert_eq!(code, Some(1), "{stderr}");
    let expected =
        "Error: AWS_REGION is not set; Lambda sets it, elsewhere name a region such as eu-central-1\n";
    assert_eq!(stderr, expected);
}

fn ten_good_orders() -> Value {
    event(std::iter::repeat_n(order("up"), 10))
}

#[tokio::test]
async fn valid_and_empty_settings_are_accepted() {
    let variables = [
        ("REDRIVE_DEAD_LETTER_QUEUE_URL", "https://sqs.eu-west-1.amazonaws.com/123456789012/orders-dead"),
        ("REDRIVE_MAX_RECEIVE_COUNT", "10"),
        ("REDRIVE_VISIBILITY_TIMEOUT", "480"),
        ("REDRIVE_CONCURRENCY", "3"),
        ("REDRIVE_TIME_LIMIT", "0.5"),
        ("REDRIVE_RESERVE", "1"),
        ("REDRIVE_BACKOFF", r#"{"kind":"exponential","delay":5,"max":900}"#),
        ("REDRIVE_ON_PANIC", "retry"),
        ("REDRIVE_ON_MALFORMED", "dead-letter"),
        ("REDRIVE_LAST_DELIVERY", "dead-letter"),
        ("REDRIVE_METRICS", "emf"),
        ("REDRIVE_METRICS_NAMESPACE", ""),
        ("REDRIVE_LOG", "warn,redrive=info"),
    ];
    let mut function = Function::start(ORDERS, &variables).await;
    assert_eq!(function.respond(ten_good_orders()).await, "{\"batchItemFailures\":[]}");
    let (stdout, stderr) = function.end().await;
    assert!(stdout.contains("\"Namespace\":\"Redrive\""), "{stdout}");
    assert_eq!(stderr, "");
}

/// cargo-lambda sends 600000, which is ten minutes after the epoch.
#[tokio::test]
async fn a_deadline_that_is_decades_past_is_none_and_one_just_past_is_one() {
    let mut function = Function::start(ORDERS, &[("REDRIVE_CONCURRENCY", "1")]).await;
    function.offer_until("decades", ten_good_orders(), 600_000);
    let answer = function.answer().await;
    assert_eq!((answer.kind.as_str(), answer.body.as_str()), ("response", "{\"batchItemFailures\":[]}"));

    let past = SystemTime::now() - Duration::from_secs(2);
    function.offer_until("just", ten_good_orders(), past.duration_since(UNIX_EPOCH).unwrap().as_millis());
    let answer = function.answer().await;
    assert_eq!(answer.kind, "response");
    for number in 1..10 {
        assert!(answer.body.contains(&format!("\"m{number}\"")), "m{number} never ran: {}", answer.body);
    }
    function.end().await;
}
