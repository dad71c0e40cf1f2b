use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use redrive::{Consumer, Failure, Metrics};
use redrive_local::{Config, NewMessage};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::function::{Function, ORDERS};
use crate::support::runtimes::Runtimes;
use crate::support::shop::{Open, order, shop};
use crate::support::{Aws, event, loopback};

/// Stands in every body and in no line of a log.
const SECRET: &str = "4111-1111-1111-1111";

/// What the log says of one message: a handler's own line, or how it failed.
struct Said {
    message: &'static str,
    reason: Option<&'static str>,
    back_in_seconds: Option<u64>,
    error: &'static str,
}

const fn retried(reason: &'static str, error: &'static str) -> Said {
    Said { message: "message failed, to be retried", reason: Some(reason), back_in_seconds: Some(2), error }
}

const fn dead_lettered(reason: &'static str, error: &'static str) -> Said {
    Said { message: "message dead-lettered", reason: Some(reason), back_in_seconds: None, error }
}

fn with_secret(order: &str) -> String {
    let mut order: Value = serde_json::from_str(order).unwrap();
    order["card"] = SECRET.into();
    order.to_string()
}

fn failures() -> Vec<(String, Said)> {
    let no_json = "the body is not JSON of orders::Order: ";
    vec![
        (with_secret(&order("down")), retried("error", "the gateway is down")),
        (with_secret(&order("hangs")), retried("timeout", "the handler ran out of time")),
        (with_secret(&order("refuses")), dead_lettered("card-refused", "450 cents: card refused")),
        (with_secret(&order("panics")), dead_lettered("panic", "the gateway's response could not be parsed")),
        (
            with_secret(&order("up").replace("tea", "gold")),
            dead_lettered("unknown-item", "nobody sells \"gold\""),
        ),
        (order(SECRET), dead_lettered("malformed", no_json)),
        (format!("{{\"order_id\":\"A-1\",\"lines\":\"{SECRET}\"}}"), dead_lettered("malformed", no_json)),
        (format!("{{\"order_id\":\"{SECRET}"), dead_lettered("malformed", no_json)),
        (SECRET.to_owned(), dead_lettered("malformed", no_json)),
    ]
}

/// Hands messages with these bodies, received from a real queue in one batch, to the function; their ids, and what it
/// wrote to stdout and to stderr.
async fn written(bodies: &[String], extra: [(&str, &str); 2]) -> (Vec<String>, String, String) {
    let aws = Open::start(Config { functions: vec![], mappings: vec![], ..shop(10) }).await;
    let message = |body: &String| NewMessage {
        body: body.clone(),
        group_id: Some("tenant-7".to_owned()),
        ..NewMessage::default()
    };
    let ids: Vec<_> = bodies.iter().map(|body| aws.local.send("orders", message(body)).unwrap()).collect();
    let (endpoint_url, queue_url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let received: Vec<Message> =
        loopback::receive(&loopback::sqs(&endpoint_url), &queue_url, ids.len()).await;

    let dead = aws.local.queue_url("orders-dead");
    let ours = [
        ("AWS_ENDPOINT_URL", endpoint_url.as_str()),
        ("REDRIVE_DEAD_LETTER_QUEUE_URL", dead.as_str()),
        ("REDRIVE_TIME_LIMIT", "0.2"),
    ];
    let mut function = Function::start(ORDERS, &[&ours[..], &extra].concat()).await;
    function.offer("request-1", loopback::event(&received), Duration::from_secs(10));
    assert_eq!(function.answer().await.kind, "response");
    let (stdout, stderr) = function.end().await;
    aws.close().await;
    (ids, stdout, stderr)
}

fn lines(stdout: &str) -> Vec<Value> {
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect()
}

#[tokio::test]
async fn each_failed_message_has_one_line_that_says_what_why_and_when_again() {
    let failures = failures();
    let bodies: Vec<_> = failures.iter().map(|(body, _)| body.clone()).collect();
    let (ids, stdout, _) = written(&bodies, [("REDRIVE_MAX_RECEIVE_COUNT", "10"), ("TZ", "UTC")]).await;
    let lines = lines(&stdout);
    for (id, (body, said)) in ids.iter().zip(&failures) {
        let of_it: Vec<_> = lines.iter().filter(|line| line["message_id"] == id.as_str()).collect();
        let [line] = of_it[..] else { panic!("one line for {body}: {of_it:?}") };
        assert_eq!((&line["level"], &line["message"]), (&json!("WARN"), &json!(said.message)), "{line}");
        assert_eq!((&line["attempt"], &line["group"]), (&json!(1), &json!("tenant-7")), "{line}");
        assert_eq!(line["reason"].as_str(), said.reason, "{line}");
        assert_eq!(line["back_in_seconds"].as_u64(), said.back_in_seconds, "{line}");
        assert!(line["error"].as_str().unwrap().starts_with(said.error), "{line}");
        assert_eq!(line["confirmed"], true, "{line}");
        assert_eq!(line["spans"][0]["request_id"], "request-1", "{line}");
    }
    let of_batches: Vec<_> = lines.iter().filter(|line| line["message"] == "batch done").collect();
    let [summary] = of_batches[..] else { panic!("one summary: {of_batches:?}") };
    let counts = ["succeeded", "worker_errors", "retried", "dead_lettered", "settle_errors", "max_attempt"];
    assert_eq!(counts.map(|name| summary[name].as_u64().unwrap()), [0, 9, 2, 7, 0, 1], "{summary}");
    assert_eq!(summary["queue"], "orders");
}

#[tokio::test]
async fn a_message_that_never_ran_and_will_be_moved_has_a_line() {
    let variables = [("REDRIVE_CONCURRENCY", "1"), ("REDRIVE_MAX_RECEIVE_COUNT", "1")];
    let mut function = Function::start(ORDERS, &variables).await;
    function.offer("request-1", event([order("hangs"), order("up")]), Duration::from_secs(1));
    assert_eq!(function.answer().await.kind, "response");
    let (stdout, _) = function.end().await;
    let lines = lines(&stdout);
    let line = lines.iter().find(|line| line["message_id"] == "m1").expect("it is not silent");
    assert_eq!(line["message"], "message failed on its last delivery, left to the redrive policy");
    assert_eq!(line["reason"], "not-started");
}

#[tokio::test]
async fn lines_of_a_handler_are_in_the_span_of_its_message() {
    let bodies = vec![order("up"); 3];
    let (ids, stdout, stderr) =
        written(&bodies, [("REDRIVE_MAX_RECEIVE_COUNT", "10"), ("REDRIVE_CONCURRENCY", "3")]).await;
    let lines = lines(&stdout);
    for id in &ids {
        let of_it = lines.iter().filter(|line| line["spans"][1]["message_id"] == id.as_str());
        let of_it: Vec<_> = of_it.collect();
        let [line] = of_it[..] else { panic!("one line: {of_it:?}") };
        assert_eq!((&line["message"], &line["order_id"]), (&json!("charged"), &json!("A-1")));
        let [batch, message] = &line["spans"].as_array().unwrap()[..] else { panic!("two spans: {line}") };
        assert_eq!((&batch["name"], &batch["request_id"]), (&json!("batch"), &json!("request-1")));
        assert_eq!((&message["name"], &message["attempt"]), (&json!("message"), &json!(1)));
        assert_eq!(message["group"], "tenant-7");
    }
    assert_eq!((lines.len(), stderr.as_str()), (4, ""), "and one summary: {stdout}");
}

#[tokio::test]
async fn no_filter_takes_the_message_from_the_lines_of_its_handler() {
    for filter in ["orders=info", "warn,orders=info", "off,orders=info", "redrive=off,orders=info"] {
        let extra = [("REDRIVE_MAX_RECEIVE_COUNT", "10"), ("REDRIVE_LOG", filter)];
        let (ids, stdout, _) = written(&[order("up")], extra).await;
        let lines = lines(&stdout);
        let [line] = &lines[..] else { panic!("one line at {filter}: {stdout}") };
        assert_eq!(line["spans"][1]["message_id"], ids[0].as_str(), "{filter}");
    }
}

#[tokio::test]
async fn the_level_that_lambda_sets_is_obeyed_unless_redrive_log_says_otherwise() {
    let bodies = [order("up"), order("down")];
    for (level, filter, expected) in [
        ("TRACE", "", &["DEBUG", "INFO", "TRACE", "WARN"][..]),
        ("DEBUG", "", &["DEBUG", "INFO", "WARN"]),
        ("INFO", "", &["INFO", "WARN"]),
        ("WARN", "", &["WARN"]),
        ("warn", "", &["WARN"]),
        ("ERROR", "", &[]),
        ("FATAL", "", &[]),
        ("LOUD", "", &["INFO", "WARN"]),
        ("ERROR", "info", &["INFO", "WARN"]),
        ("DEBUG", "off,redrive=warn", &["WARN"]),
    ] {
        let (_, stdout, _) =
            written(&bodies, [("AWS_LAMBDA_LOG_LEVEL", level), ("REDRIVE_LOG", filter)]).await;
        let levels: BTreeSet<_> =
            lines(&stdout).iter().map(|line| line["level"].as_str().unwrap().to_owned()).collect();
        assert!(levels.iter().eq(expected), "{level} and {filter:?}: {levels:?}");
    }
}

/// What Lambda asks of a line in the format JSON; in the format Text it passes all lines on.
#[tokio::test]
async fn lines_are_json_with_a_time_and_a_level_in_both_log_formats_of_lambda() {
    for format in ["Text", "JSON"] {
        let extra = [("AWS_LAMBDA_LOG_FORMAT", format), ("AWS_LAMBDA_LOG_LEVEL", "INFO")];
        let (_, stdout, _) = written(&[order("up"), order("down")], extra).await;
        for line in lines(&stdout) {
            assert!(line["level"].is_string() && line["message"].is_string(), "{format}: {line}");
            let time = line["timestamp"].as_str().unwrap();
            assert!(humantime::parse_rfc3339(time).is_ok(), "{format}: {line}");
        }
    }
}

#[tokio::test]
async fn no_body_stands_in_any_line_at_any_level() {
    let mut bodies: Vec<_> = failures().into_iter().map(|(body, _)| body).collect();
    bodies.push(with_secret(&order("up")));
    for (last, filter) in [("10", "info"), ("1", "info"), ("10", "trace")] {
        let extra = [("REDRIVE_MAX_RECEIVE_COUNT", last), ("REDRIVE_LOG", filter)];
        let (_, stdout, stderr) = written(&bodies, extra).await;
        assert!(stdout.contains("\"batch done\"") && stderr.contains("panicked at"), "{stdout} {stderr}");
        assert_eq!(stdout.contains("\"level\":\"TRACE\""), filter == "trace");
        for line in stdout.lines().chain(stderr.lines()) {
            assert!(!line.contains(SECRET), "at {filter}: {line}");
        }
    }
}

#[tokio::test]
async fn no_sender_decides_how_long_a_line_is() {
    let text = |value: String| json!({ "stringValue": value, "dataType": "String" });
    let attributes = json!({
        "redrive.max-attempts": text("\\".repeat(400_000)),
        "redrive.backoff": text(format!("{{\"{}\": 1}}", "\u{202e}".repeat(100_000))),
        "redrive.dead-letter": text("x".repeat(10_000)),
    });
    for (name, value) in [("messageAttributes", attributes), ("attributes", json!({}))] {
        let mut event = event([order("down"), order("up")]);
        for record in event["Records"].as_array_mut().unwrap() {
            record[name] = value.clone();
            record["attributes"]["AWSTraceHeader"] = format!("Root={}", "1".repeat(100_000)).into();
        }
        let mut function = Function::start(ORDERS, &[]).await;
        function.offer("request-1", event, Duration::from_secs(10));
        assert_eq!(function.answer().await.kind, "response");
        let (stdout, _) = function.end().await;
        let lines = lines(&stdout);
        let ignored =
            lines.iter().filter(|line| line["message"] == "an attribute of the message was ignored");
        let expected = if name == "messageAttributes" { 2 } else { 0 };
        assert_eq!(ignored.count(), expected, "{stdout}");
        assert!(lines.iter().any(|line| line["spans"][1]["trace_header"].is_string()), "{stdout}");
        assert!(stdout.lines().all(|line| line.len() < 4_096), "{stdout:.9000}");
    }
}

#[tokio::test]
async fn in_embedded_metric_format_every_batch_has_a_line_of_metrics() {
    let bodies = [order("up"), order("down")];
    let extra = [("REDRIVE_METRICS", "emf"), ("REDRIVE_METRICS_NAMESPACE", "Shop")];
    let (_, stdout, _) = written(&bodies, extra).await;
    let lines = lines(&stdout);
    let of_metrics: Vec<_> = lines.iter().filter(|line| !line["_aws"].is_null()).collect();
    let [line] = of_metrics[..] else { panic!("one line: {of_metrics:?}") };
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "Shop");
    assert_eq!(
        (&line["QueueName"], &line["Succeeded"], &line["WorkerErrors"]),
        (&json!("orders"), &json!(1), &json!(1))
    );
    assert_eq!(line["WorkerDuration"].as_array().unwrap().len(), 2);
    assert!(line["ResponseTime"][0].as_f64().unwrap() >= 0.0);
}

#[test]
fn a_handler_that_holds_standard_output_delays_no_response() {
    let (release, held) = channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let (answered, answer) = channel();
    std::thread::spawn(move || {
        let runtimes = Runtimes::new(2);
        let consumer = Consumer::new(move |_: u64| {
            let held = Arc::clone(&held);
            async move {
                let _stdout = std::io::stdout().lock();
                let _ = held.lock().unwrap().recv();
                Ok::<_, Failure>(())
            }
        });
        let consumer = consumer.metrics(Metrics::Emf).workers(runtimes.workers());
        let event = serde_json::from_value(event([1])).unwrap();
        let handled = async { consumer.handle(event, Instant::now() + Duration::from_secs(1)).await };
        answered.send(runtimes.block_on(handled).unwrap().batch_item_failures.len()).unwrap();
    });
    let failed = answer.recv_timeout(Duration::from_secs(10));
    drop(release);
    assert_eq!(failed, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_a_dependency_that_nobody_depends_on_is_a_warning() {
    let log = Log::default();
    let _logging = log.start();
    let aws = Aws::standard();
    let fail = |_: u64| async { Err::<(), _>(Failure::outage("503").on_dependency("db")) };
    let consumer = aws.consumer("orders", fail).depends_on(|_| Some("database"));
    for _ in 0..2 {
        aws.send_all("orders", 0..10);
        aws.handle(&consumer, "orders", 10).await;
    }
    let mut warnings = log.lines();
    warnings.retain(|line| line["on_dependency"].is_string());
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert_eq!((&warning["level"], &warning["on_dependency"]), (&json!("WARN"), &json!("db")));
    assert_eq!(warning["depends_on"], "database");
}

#[tokio::test(start_paused = true)]
async fn only_a_function_warns_of_settings_that_a_worker_reads() {
    let log = Log::default();
    let _logging = log.start();
    let aws = Aws::standard();
    let consumer = Consumer::new(|_: u64| async { Ok::<_, Failure>(()) });
    let consumer = consumer.sqs(aws.sqs()).metrics(Metrics::Off).connect().await.unwrap();
    let missing = || {
        let mut lines = log.lines();
        lines.retain(|line| line["message"].as_str().is_some_and(|text| text.contains(" is not set: ")));
        lines.len()
    };
    aws.send_all("orders", 0..2);
    aws.open("orders").worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    assert_eq!(missing(), 0);
    for _ in 0..2 {
        aws.send_all("orders", 0..2);
        aws.handle(&consumer, "orders", 2).await;
        assert_eq!(missing(), 2, "the dead-letter queue and the max receive count, once");
    }
}

/// The log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let lines = tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || log.clone());
        tracing::subscriber::set_default(lines.finish())
    }

    fn lines(&self) -> Vec<Value> {
        lines(std::str::from_utf8(&self.0.lock().unwrap()).unwrap())
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
