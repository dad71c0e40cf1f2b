use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lambda_events::sqs::SqsEvent;
use lambda_runtime::LambdaEvent;
use redrive::{BoxError, Consumer, Failure, FromMessage, Invocation, Message, Record};
use redrive_local::{Event, EventKind};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::event;
use crate::support::function::{Function, example, response, trace_id};
use crate::support::shop::{Open, shop};

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// Lambda Managed Instances do not set `_X_AMZN_TRACE_ID`, which could not be right for two batches at a time.
#[tokio::test]
async fn a_message_knows_its_own_invocation_among_several() {
    let variables = [
        ("AWS_LAMBDA_MAX_CONCURRENCY", "8"),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/orders"),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "2026/11/22/[$LATEST]0"),
        ("_X_AMZN_TRACE_ID", "of another invocation"),
    ];
    let mut function = Function::start(example("pinged"), &variables).await;
    let names = || (0..20).map(|batch| format!("b{batch}"));
    for name in names() {
        function.offer(&name, event([&name, &name]), Duration::from_secs(40));
    }
    for _ in names() {
        assert_eq!(function.answer().await.body, response([""; 0]));
    }
    let (stdout, _) = function.end().await;
    let lines = lines(&stdout);
    for name in names() {
        let of_it: Vec<_> =
            lines.iter().filter(|line| line["message"] == "hello" && line["name"] == name.as_str()).collect();
        assert_eq!(of_it.len(), 2, "{name}: {stdout}");
        for line in of_it {
            let arn = "arn:aws:lambda:eu-west-1:123456789012:function:orders";
            for (field, expected) in [
                ("request_id", json!(name)),
                ("trace_header", json!(trace_id(&name))),
                ("function", json!(arn)),
                ("version", json!("$LATEST")),
                ("memory_mb", json!(256)),
                ("log_group", json!("/aws/lambda/orders")),
                ("log_stream", json!("2026/11/22/[$LATEST]0")),
            ] {
                assert_eq!(line[field], expected, "{field} in {line}");
            }
            assert!((30..=40).contains(&line["seconds_left"].as_u64().unwrap()), "{line}");
        }
    }
}

/// A decoder sees it too.
struct OfRecord(Invocation);

impl FromMessage for OfRecord {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self(record.invocation().clone()))
    }
}

#[tokio::test(start_paused = true)]
async fn outside_of_lambda_only_the_time_left_is_known() {
    let until = Instant::now() + Duration::from_secs(10);
    let consumer = Consumer::new(move |message: Message<OfRecord>| async move {
        for invocation in [&message.invocation, &message.body.0] {
            assert_eq!(
                [invocation.request_id(), invocation.function(), invocation.function_version()],
                [None; 3]
            );
            assert_eq!((invocation.trace_header(), invocation.memory_mb()), (None, None));
            assert_eq!((invocation.log_group(), invocation.log_stream()), (None, None));
        }
        assert_eq!(message.deadline, (until - Duration::from_secs(1)).into_std(), "without the reserve");
        assert_eq!(message.remaining(), Duration::from_secs(9));
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(message.remaining(), Duration::from_secs(5));
        Ok::<_, Failure>(())
    });
    let handled = consumer.handle(serde_json::from_value(event([1])).unwrap(), until).await.unwrap();
    assert_eq!(handled.batch_item_failures.len(), 0);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(Message::new(()).remaining(), Duration::from_secs(900));
}

#[tokio::test(start_paused = true)]
async fn a_test_makes_an_invocation_of_a_context() {
    let mut context = lambda_runtime::Context::default();
    context.request_id = "r-1".to_owned();
    context.xray_trace_id = Some("Root=1-2-3".to_owned());
    let invocation = Invocation::from(context);
    assert_eq!((invocation.request_id(), invocation.trace_header()), (Some("r-1"), Some("Root=1-2-3")));
    assert_eq!((invocation.function_arn(), invocation.memory_mb()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_function_passes_the_context_of_its_event_on() {
    let mut context = lambda_runtime::Context::default();
    context.request_id = "r-1".to_owned();
    let event = LambdaEvent::new(serde_json::from_value::<SqsEvent>(event([1])).unwrap(), context);
    let consumer = Consumer::new(|message: Message<u8>| async move {
        assert_eq!(message.invocation.request_id(), Some("r-1"));
        assert_eq!(message.remaining(), Duration::from_secs(895), "a context without a deadline");
        Ok::<_, Failure>(())
    });
    let handled = consumer.handle(event.payload, event.context).await.unwrap();
    assert_eq!(handled.batch_item_failures.len(), 0);
}

/// A producer chooses the trace of its message, and may choose that of the invocation.
#[tokio::test]
async fn only_the_runtime_api_moves_the_clock_of_a_circuit_breaker() {
    let mut function = Function::start(example("ways"), &[("REDRIVE_MAX_RECEIVE_COUNT", "5")]).await;
    let outages = event(["outage"; 3]);
    assert_eq!(function.respond_with(None, outages).await, response(["m0", "m1", "m2"]));
    let later =
        |seconds| SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(seconds);
    let trace = format!("Root=1-{:08x}-bd862e3fe1be46a994272793;Sampled=1", later(61).as_secs());
    let traced = Some(("lambda-runtime-trace-id", trace));
    assert_eq!(function.respond_with(traced, event(["ok"])).await, response(["m0"]), "the breaker is open");
    let local = Some(("redrive-local-time-ms", later(61).as_millis().to_string()));
    assert_eq!(function.respond_with(local, event(["ok"])).await, response([""; 0]), "a minute has passed");
}

/// Four delays of 16 to 128 minutes, up to a sixteenth longer: see docs/outages.md.
#[tokio::test]
async fn an_outage_lasts_as_long_in_redrive_local_as_on_lambda() {
    let mut config = shop(5);
    config.functions[0].command = example("ways");
    let open = Open::start(config).await;
    open.send(["outage"]);
    open.until_idle().await;
    let is_letter = |event: &&Event| matches!(event.kind, EventKind::DeadLettered { .. });
    let story = open.close().await;
    let minutes = story.events.iter().find(is_letter).unwrap().at.as_secs() / 60;
    assert!((240..=256).contains(&minutes), "{minutes}");
}
