use std::time::Duration;

use lambda_runtime::LambdaEvent;
use redrive::{BoxError, Consumer, Failure, Message, OtherEvent, Text};
use redrive_local::Config;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::support::function::{Answer, Function, ORDERS, example, response};
use crate::support::runtimes::Runtimes;
use crate::support::shop::{Open, order, shop};
use crate::support::{Aws, event};

const LEFT: Duration = Duration::from_secs(30);

/// What Lambda's console offers as a test event of SQS.
pub(crate) fn sample(body: &str) -> Value {
    json!({ "Records": [{
        "messageId": "19dd0b57-b21e-4ac1-bd88-01bbb068cb78",
        "receiptHandle": "MessageReceiptHandle",
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1523232000000",
            "SenderId": "123456789012",
            "ApproximateFirstReceiveTimestamp": "1523232000001",
        },
        "messageAttributes": {},
        "md5OfBody": "7b270e59b47ff90a553787216d55d91d",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:MyQueue",
        "awsRegion": "us-east-1",
    }]})
}

fn schedule() -> Value {
    json!({ "version": "0", "source": "aws.events", "detail-type": "Scheduled Event", "detail": {} })
}

/// Its `kind`, and the response, or the type and the text of the error.
fn said(answer: &Answer) -> [String; 2] {
    if answer.kind == "response" {
        return ["response".to_owned(), answer.body.clone()];
    }
    let error: Value = serde_json::from_str(&answer.body).unwrap();
    ["errorType", "errorMessage"].map(|field| error[field].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_error_of_another_event_names_it_and_the_method_for_it() {
    let mut function = Function::start(ORDERS, &[]).await;
    let record = |fields: Value| json!({ "Records": [fields] }).to_string();
    let sns = record(json!({ "EventSource": "aws:sns", "EventVersion": "1.0", "Sns": { "MessageId": "1" } }));
    let message = json!({ "messageId": "1", "body": "1", "eventSource": "aws:sqs" });
    let unreadable = record(json!({ "messageId": { "a": 1 }, "body": "1", "eventSource": "aws:sqs" }));
    let table = [
        ("null".to_owned(), "null; TAKES"),
        ("[]".to_owned(), "a JSON array of length 0; TAKES"),
        ("\"ping\"".to_owned(), "a JSON string; TAKES"),
        ("ping".to_owned(), "a payload that is not JSON (expected value at line 1 column 1)"),
        (record(json!({ "eventSource": "aws:s3", "s3": {} })), "an event of aws:s3; TAKES"),
        (
            record(json!({ "eventSource": "aws:mq", "messageId": "1", "body": "1" })),
            "an event of aws:mq; TAKES",
        ),
        (sns, "an event of aws:sns; TAKES"),
        (schedule().to_string(), "an EventBridge event of aws.events; TAKES"),
        (json!({ "rawPath": "/", "requestContext": {} }).to_string(), "an HTTP request; TAKES"),
        (
            r#"{"source": "serverless-plugin-warmup"}"#.to_owned(),
            "a JSON object with the key \"source\"; TAKES",
        ),
        (json!([message]).to_string(), "a JSON array of SQS messages, as EventBridge Pipes sends them"),
        (
            unreadable,
            "one that cannot be read (invalid type: map, expected a string or a number at line 1 column ",
        ),
    ];
    for (payload, expected) in &table {
        function.offer("other", payload, LEFT);
        let [kind, text] = said(&function.answer().await);
        let expected = expected.replace("TAKES", "Consumer::on_other_event takes other events");
        assert_eq!(kind, "InvalidEvent", "{payload}");
        assert!(text.starts_with(&format!("expected an SQS event, got {expected}")), "{payload}: {text}");
        assert!(!text.contains('\n') && !text.contains("::boxed"), "{text}");
    }
    let (stdout, _) = function.end().await;
    let logged = stdout.lines().filter(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["message"] == "invocation failed, no message was handled" && line["request_id"] == "other"
    });
    assert_eq!(logged.count(), table.len(), "Lambda itself logs nothing of it: {stdout}");
}

/// `lambda_runtime` reads the event before the service does.
#[tokio::test]
async fn a_tower_service_says_so_too_of_records_that_are_not_of_sqs() {
    let mut function = Function::start(example("layered"), &[]).await;
    let s3 = json!({ "Records": [{ "eventSource": "aws:s3", "s3": {} }] });
    let sns = json!({ "Records": [{ "EventSource": "aws:sns", "Sns": {} }] });
    for (payload, what) in
        [(s3, "an event of aws:s3"), (sns, "a JSON object whose Records are not SQS messages")]
    {
        function.offer("other", payload, LEFT);
        let [kind, text] = said(&function.answer().await);
        assert_eq!(kind, "InvalidEvent");
        assert!(
            text.starts_with(&format!(
                "expected an SQS event, got {what}; Consumer::handle_any takes other events"
            )),
            "{text}"
        );
    }
    function.end().await;
}

#[tokio::test]
async fn one_process_answers_pings_test_events_garbage_and_messages() {
    for at_a_time in ["1", "4"] {
        let variables = [("AWS_LAMBDA_MAX_CONCURRENCY", at_a_time)];
        let mut function = Function::start(example("pinged"), &variables).await;
        let failed = "neither SQS nor the schedule sent this";
        let table = [
            ("ping", schedule(), ["response", "\"warm\""]),
            ("test", sample("Hello from SQS!"), ["response", "{\"batchItemFailures\":[]}"]),
            ("edited", sample("Ada"), ["response", "{\"batchItemFailures\":[]}"]),
            ("other", json!({ "source": "elsewhere" }), ["OtherEventFailed", failed]),
            ("messages", event(["Ada", "", "Grace"]), ["response", &response(["m1"])]),
            ("empty", json!({ "Records": [] }), ["response", "{\"batchItemFailures\":[]}"]),
            ("s3", json!({ "Records": [{ "eventSource": "aws:s3" }] }), ["OtherEventFailed", failed]),
            ("null", json!(null), ["OtherEventFailed", failed]),
        ];
        // Every kind after every other.
        let order: Vec<_> = (0..64).map(|at| (at % 8 + at / 8 * (at % 8)) % 8).collect();
        for (number, &at) in order.iter().enumerate() {
            function.offer(&format!("{number}-{}", table[at].0), &table[at].1, LEFT);
        }
        for _ in &order {
            let answer = function.answer().await;
            let (_, name) = answer.request_id.split_once('-').unwrap();
            let (_, _, expected) = table.iter().find(|(known, ..)| *known == name).unwrap();
            assert_eq!(said(&answer), *expected, "{answer:?}");
        }
        let (stdout, _) = function.end().await;
        assert!(stdout.contains("invocation failed in the closure of on_other_event"), "{stdout}");
        assert!(!stdout.contains("no message was handled"), "{stdout}");
    }
}

#[tokio::test]
async fn the_consoles_test_event_pages_nobody_and_calls_no_handler() {
    for metrics in ["emf", "cloudwatch"] {
        let aws = Open::start(Config { functions: vec![], mappings: vec![], ..shop(10) }).await;
        let dead = aws.local.queue_url("orders-dead");
        let variables = [
            ("AWS_ENDPOINT_URL", aws.local.endpoint_url()),
            ("REDRIVE_DEAD_LETTER_QUEUE_URL", dead),
            ("REDRIVE_MAX_RECEIVE_COUNT", "10".to_owned()),
            ("REDRIVE_METRICS", metrics.to_owned()),
        ];
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        let mut function = Function::start(ORDERS, &variables).await;
        assert_eq!(function.respond(sample("Hello from SQS!")).await, response([""; 0]));
        // Edited, to try the handler: it runs, and the response says what became of it.
        let id = "19dd0b57-b21e-4ac1-bd88-01bbb068cb78";
        assert_eq!(function.respond(sample(&order("up"))).await, response([""; 0]));
        assert_eq!(function.respond(sample(&order("refuses"))).await, response([id]));
        assert_eq!(function.respond(sample(&order("down"))).await, response([id]));
        assert_eq!(function.respond(sample("Hello, handler")).await, response([id]));

        let (stdout, _) = function.end().await;
        let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let said = |text: &str| lines.iter().filter(|line| line["message"] == text).count();
        assert_eq!(said("the test message of SQS was answered without the handler"), 1, "{stdout}");
        assert_eq!(
            said("a test message, which is in no queue, is neither delayed, dead-lettered nor counted"),
            4
        );
        assert_eq!(said("charged"), 1);
        assert!(lines.iter().any(|line| line["reason"] == "card-refused"), "{stdout}");
        assert!(lines.iter().all(|line| line["_aws"].is_null() && line["level"] != "ERROR"), "{stdout}");
        let story = aws.close().await;
        assert_eq!(story.totals.aws_calls, [].into(), "neither a letter, a delay nor a metric");
    }
}

#[tokio::test]
async fn handle_any_takes_any_event() {
    let mut function = Function::start(example("ways"), &[("MODE", "any-event")]).await;
    for (payload, expected) in [
        (json!({ "a": [1, "ä"] }), ["response", "{\"a\":[1,\"ä\"]}"]),
        (event(["ok", "error"]), ["response", &response(["m1"])]),
        (
            json!([{ "body": "1" }]),
            [
                "InvalidEvent",
                "expected an SQS event, got a JSON array of SQS messages, as EventBridge Pipes sends them",
            ],
        ),
    ] {
        function.offer("it", payload, LEFT);
        assert_eq!(said(&function.answer().await), expected);
    }
    function.end().await;
}

fn any(event: impl serde::Serialize, milliseconds: u64) -> LambdaEvent<Box<RawValue>> {
    let mut context = lambda_runtime::Context::default();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    context.deadline = u64::try_from(now.as_millis()).unwrap() + milliseconds;
    LambdaEvent::new(to_raw_value(&event).unwrap(), context)
}

async fn moody(event: OtherEvent) -> Result<Value, BoxError> {
    match event.value()["mood"].as_str() {
        Some("panics") => panic!("the cache is cold"),
        Some("hangs") => std::future::pending().await,
        Some("blocks") => {
            std::thread::sleep(Duration::from_secs(3));
            Ok(json!("late"))
        }
        Some("sleeps") => {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let left = event.remaining();
            Ok(json!({ "slept": left < Duration::from_millis(600) }))
        }
        mood => Err(format!("no such mood: {mood:?}").into()),
    }
}

#[test]
fn on_other_event_may_panic_hang_or_block_and_fails_its_own_call_only() {
    let runtimes = Runtimes::new(2);
    let consumer = Consumer::new(|_: u64| async { Ok::<_, Failure>(()) }).on_other_event(moody);
    let threads = consumer.clone().workers(runtimes.workers());
    let problem = |text: &str| Err(format!("the closure of on_other_event {text}"));
    for consumer in [&consumer, &threads] {
        let mood = |mood: &str| {
            let began = std::time::Instant::now();
            let answer = runtimes.block_on(consumer.handle_any(any(json!({ "mood": mood }), 600)));
            let took = began.elapsed();
            assert!(took < Duration::from_secs(2), "{mood}: {took:?}");
            answer.map_err(|error| error.to_string())
        };
        assert_eq!(mood("sleeps"), Ok(json!({ "slept": true })));
        assert_eq!(mood("panics"), problem("panicked"));
        assert_eq!(mood("hangs"), problem("did not end in time"));
        assert_eq!(mood("sulks"), Err("no such mood: Some(\"sulks\")".to_owned()));
        assert_eq!(mood("sleeps"), Ok(json!({ "slept": true })));
    }
    let blocked = runtimes.block_on(threads.handle_any(any(json!({ "mood": "blocks" }), 600)));
    assert_eq!(blocked.map_err(|error| error.to_string()), problem("did not end in time"));
}

/// Lambda deletes what a response does not name.
#[tokio::test]
async fn on_other_event_never_gets_an_sqs_message() {
    let consumer = Consumer::new(|_: u64| async { Ok::<_, Failure>(()) })
        .on_other_event(|event| async move { Ok::<_, BoxError>(json!({ "taken": event.value() })) });
    let message = |id: Value| json!({ "messageId": id, "body": "1", "eventSource": "aws:sqs" });
    for event in [
        json!({ "Records": [message(json!(null))] }),
        json!({ "Records": [message(json!({}))] }),
        json!({ "Records": [message(json!("1")), { "eventSource": "aws:s3" }] }),
        json!({ "Records": [{ "receiptHandle": "r", "body": "1" }] }),
        json!([message(json!("1"))]),
    ] {
        let answer = consumer.handle_any(any(&event, 10_000)).await;
        assert!(answer.is_err(), "{event}: {answer:?}");
    }
    let answer = consumer.handle_any(any(json!({ "Records": [message(json!("1"))] }), 10_000)).await;
    assert_eq!(answer.unwrap(), json!({ "batchItemFailures": [] }));
    let answer = consumer.handle_any(any(json!({ "a": 1 }), 10_000)).await;
    assert_eq!(answer.unwrap(), json!({ "taken": { "a": 1 } }));
}

#[tokio::test(start_paused = true)]
async fn a_test_message_is_on_no_last_attempt_since_no_letter_is_written_for_it() {
    let aws = Aws::standard();
    let mut event = sample("Ada");
    event["Records"][0]["messageAttributes"] =
        json!({ "redrive.max-attempts": { "dataType": "Number", "stringValue": "1" } });
    let (sender, said) = std::sync::mpsc::channel();
    let consumer = aws.consumer("orders", move |message: Message<Text>| {
        sender.send(message.is_last_attempt()).unwrap();
        async { Err::<(), _>(Failure::from("down")) }
    });
    let deadline = tokio::time::Instant::now() + LEFT;
    let response = consumer.handle(serde_json::from_value(event).unwrap(), deadline).await.unwrap();
    assert_eq!((said.try_recv(), response.batch_item_failures.len()), (Ok(false), 1));
}
