use std::convert::Infallible;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::cloudwatch::{AlarmConfig, Unit};
use crate::queue::NewMessage;
use crate::run::InvocationOutcome;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn done(_: Value, _: Instant) -> Result<Value, Infallible> {
    Ok(json!({}))
}

/// Returns the states of two messages after one receive each, and the invocation's outcome.
async fn ended(
    function: impl AsyncFn(Value, Instant) -> Result<Value, &'static str>,
) -> (MessageState, MessageState, InvocationOutcome) {
    let queue = TestAws::new().queue("orders").create();
    let (first, second) = (queue.send("1"), queue.send("2"));
    let invocation = queue.invokes(function).timeout(seconds(10)).once().await;
    let failed =
        [&first, &second].into_iter().filter(|it| matches!(it.state(), MessageState::Waiting { .. }));
    assert_eq!(invocation.failed, failed.map(|it| it.id().to_owned()).collect::<Vec<_>>());
    (first.state(), second.state(), invocation.outcome)
}

#[tokio::test(start_paused = true)]
async fn messages_reported_as_failed_stay_and_others_are_deleted() {
    let waits = MessageState::Waiting { attempts: 1, until: Some(seconds(30)) };
    let deleted = MessageState::Done(Done { attempts: 1, after: seconds(0) });
    let second = |event: &Value| event["Records"][1]["messageId"].clone();
    let answer =
        async |event: Value, _| Ok(json!({ "batchItemFailures": [{ "itemIdentifier": second(&event) }] }));
    assert_eq!(ended(answer).await, (deleted, waits.clone(), InvocationOutcome::Succeeded));

    let unknown = async |_, _| Ok(json!({ "batchItemFailures": [{ "itemIdentifier": "x" }] }));
    let refused = InvocationOutcome::BadResponse("itemIdentifier x is not in the batch".to_owned());
    assert_eq!(ended(unknown).await, (waits.clone(), waits.clone(), refused));

    let error = InvocationOutcome::Error("down".to_owned());
    assert_eq!(ended(async |_, _| Err("down")).await, (waits.clone(), waits.clone(), error));

    let (first, second, outcome) = ended(async |_, _| std::future::pending().await).await;
    assert_eq!((first, second, outcome), (waits.clone(), waits, InvocationOutcome::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn a_batch_waits_for_its_window_or_until_it_is_full() {
    let queue = TestAws::new().queue("orders").create();
    let mut mapping = queue.invokes(done).batch_size(20).batching_window(seconds(5));
    let sender = async {
        queue.send("1");
        sleep(seconds(3)).await;
        queue.send("2");
        sleep(seconds(4)).await;
        (0..20).for_each(|n| drop(queue.send(n.to_string())));
    };
    let (invocations, ()) = tokio::join!(mapping.run_for(seconds(60)), sender);
    let batches: Vec<_> = invocations.iter().map(|it| (it.at, it.messages.len())).collect();
    assert_eq!(batches, [(seconds(5), 2), (seconds(7), 20)]);
}

#[tokio::test(start_paused = true)]
async fn so_many_invocations_run_at_a_time_and_none_starts_after_the_end() {
    let queue = TestAws::new().queue("orders").create();
    (0..50).for_each(|n| drop(queue.send(n.to_string())));
    let slow = async |_: Value, _| {
        sleep(seconds(2)).await;
        Ok::<_, Infallible>(json!({}))
    };
    let mut mapping = queue.invokes(slow).maximum_concurrency(2);
    let began: Vec<_> = mapping.run_for(seconds(3)).await.into_iter().map(|it| it.at).collect();
    assert_eq!(began, [0, 0, 2, 2].map(seconds));
    assert_eq!(mapping.until_idle().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_into_6_mb_waits_for_a_free_invocation() {
    let queue = TestAws::new().queue("orders").create();
    (0..8).for_each(|_| drop(queue.send("x".repeat(1 << 20))));
    let slow = async |_: Value, _| {
        sleep(seconds(20)).await;
        Ok::<_, Infallible>(json!({}))
    };
    let mut mapping = queue.invokes(slow).batching_window(seconds(1)).maximum_concurrency(1);
    let batches = mapping.until_idle().await.into_iter().map(|it| (it.at, it.messages.len()));
    assert_eq!(batches.collect::<Vec<_>>(), [(seconds(0), 5), (seconds(20), 3)]);
}

#[tokio::test(start_paused = true)]
async fn two_queues_feed_each_other() {
    let aws = TestAws::new();
    let (orders, bills) = (aws.queue("orders").create(), aws.queue("bills").create());
    let order = orders.send("1");
    let bill = async |_: Value, _| {
        sleep(seconds(2)).await;
        aws.sqs().send_message().queue_url(bills.url()).message_body("2").send().await.map(|_| json!({}))
    };
    let mut billing = bills.invokes(done);
    let mut ordering = orders.invokes(bill);
    let (_, billed) = tokio::join!(ordering.until_idle(), billing.run_for(seconds(9)));
    assert_eq!(order.done().after, seconds(2));
    assert_eq!((billed[0].at, bills.messages()[0].done().after), (seconds(2), seconds(0)));
    assert_eq!(aws.calls(), BTreeMap::from([("SendMessage".to_owned(), 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_outlives_its_retention_expires() {
    let queue = TestAws::new().queue("orders").attribute("MessageRetentionPeriod", "100").create();
    let order = queue.send("1");
    queue.invokes(async |_: Value, _| Err::<Value, _>("down")).until_idle().await;
    assert_eq!(order.state(), MessageState::Expired { attempts: 4 });
}

#[tokio::test(start_paused = true)]
async fn a_letter_is_a_message_of_the_dead_letter_queue_too() {
    let queue = TestAws::new().queue("orders").dead_letter_queue("dead", 1).create();
    let order = queue.send(NewMessage::from("1").attribute("tenant", "acme"));
    queue.invokes(async |_: Value, _| Err::<Value, _>("down")).until_idle().await;
    let letters = queue.dead_letter_queue().messages();
    assert_eq!((letters.len(), letters[0].id()), (1, order.id()));
    assert_eq!(letters[0].state(), MessageState::Waiting { attempts: 0, until: None });
    let received = queue.dead_letter_queue().receive(10);
    assert_eq!(received[0]["messageAttributes"]["tenant"]["stringValue"], "acme");
    assert_eq!(letters[0].received(), [Duration::ZERO]);
}

#[tokio::test(start_paused = true)]
async fn a_metric_sets_off_an_alarm_and_ends_it() {
    use aws_sdk_cloudwatch::types::MetricDatum;
    let aws = TestAws::new();
    let errors = AlarmConfig { threshold: 3.0, ..AlarmConfig::sum_of("Shop", "Errors", []) };
    let alarm = aws.alarm(errors);
    assert_eq!(alarm.state(), AlarmState::InsufficientData);
    for value in [2.0, 3.0, 0.0] {
        let datum = MetricDatum::builder().metric_name("Errors").value(value).build();
        aws.cloudwatch().put_metric_data().namespace("Shop").metric_data(datum).send().await.unwrap();
        sleep(seconds(60)).await;
    }
    let changes = [(60, AlarmState::Ok), (120, AlarmState::Alarm), (180, AlarmState::Ok)];
    assert_eq!(alarm.changes(), changes.map(|(at, state)| (seconds(at), state)));
    assert_eq!(aws.metric_sum("Shop", "Errors"), 5.0);
}

#[tokio::test(start_paused = true)]
async fn an_alarm_of_a_unit_that_its_metric_has_not_sees_no_data() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let [right, wrong] = ["Count", "Seconds"].map(|unit| {
        let depth = AlarmConfig::depth_of("orders");
        aws.alarm(AlarmConfig { name: unit.to_owned(), unit: Unit::parse(unit), ..depth })
    });
    queue.send("1");
    sleep(seconds(60)).await;
    assert_eq!((right.state(), wrong.state()), (AlarmState::Alarm, AlarmState::Ok));
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_a_client_puts_is_evaluated_at_each_minute() {
    use aws_sdk_cloudwatch::types::{ComparisonOperator, Dimension, StateValue, Statistic};
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let name = Dimension::builder().name("QueueName").value("orders").build();
    let put = aws.cloudwatch().put_metric_alarm().alarm_name("Sent").namespace("AWS/SQS");
    let put = put.metric_name("NumberOfMessagesSent").dimensions(name).statistic(Statistic::Sum).period(60);
    let put = put.comparison_operator(ComparisonOperator::GreaterThanThreshold).threshold(0.0);
    put.evaluation_periods(1).send().await.unwrap();
    queue.send("1");
    // A minute without a send has no value, so the last value counts until it is three minutes old.
    let alarm = StateValue::Alarm;
    for expected in [alarm.clone(), alarm.clone(), alarm, StateValue::InsufficientData] {
        sleep(seconds(60)).await;
        let found = aws.cloudwatch().describe_alarms().send().await.unwrap();
        assert_eq!(found.metric_alarms()[0].state_value(), Some(&expected));
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_match_no_filter_are_deleted_without_an_invocation() {
    let queue = TestAws::new().queue("orders").create();
    let (gift, loan) = (queue.send(json!({ "kind": "gift" })), queue.send(json!({ "kind": "loan" })));
    let gifts = r#"{"body": {"kind": ["gift"]}}"#.parse().unwrap();
    let invocations = queue.invokes(done).filter(gifts).until_idle().await;
    let [invocation] = invocations.as_slice() else { panic!("one invocation: {invocations:?}") };
    assert_eq!(invocation.messages, [gift.id()]);
    assert_eq!(loan.done().after, seconds(0));
}

#[tokio::test(start_paused = true)]
async fn a_response_without_reports_deletes_the_whole_batch() {
    let queue = TestAws::new().queue("orders").create();
    let order = queue.send("1");
    let failed = |event: &Value| event["Records"][0]["messageId"].clone();
    let function = async |event: Value, _| {
        Ok::<_, Infallible>(json!({ "batchItemFailures": [{ "itemIdentifier": failed(&event) }] }))
    };
    queue.invokes(function).report_batch_item_failures(false).until_idle().await;
    assert_eq!(order.done().attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn letters_on_their_way_back_keep_a_mapping_at_work() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("dead", 1).create();
    (0..3).for_each(|n| drop(queue.send(n.to_string())));
    queue.invokes(async |_: Value, _| Err::<Value, _>("down")).until_idle().await;
    let arn = aws.with(|account, _| account.queue_arn("dead"));
    let back = aws.sqs().start_message_move_task().source_arn(arn).max_number_of_messages_per_second(1);
    back.send().await.unwrap();
    let began = aws.elapsed();
    let invocations = queue.invokes(done).until_idle().await;
    let at: Vec<_> = invocations.iter().map(|it| (it.at - began, it.messages.len())).collect();
    assert_eq!(at, [1, 2, 3].map(|at| (seconds(at), 1)));
}

#[tokio::test(start_paused = true)]
async fn faults_are_what_a_client_sees() {
    for (fault, code, sent) in [
        (Fault::Denied, Some("AccessDeniedException"), 0),
        (Fault::Throttled, Some("RequestThrottled"), 0),
        (Fault::Refused, Some("InternalFailure"), 0),
        (Fault::Twice, None, 2),
    ] {
        let aws = TestAws::new();
        let queue = aws.queue("orders").create();
        aws.faults(move |operation, _| (operation == "SendMessage").then_some(fault));
        let answer = aws.sqs().send_message().queue_url(queue.url()).message_body("1").send().await;
        use aws_sdk_sqs::error::ProvideErrorMetadata;
        assert_eq!(answer.err().and_then(|error| error.code().map(str::to_owned)).as_deref(), code);
        assert_eq!(queue.messages().len(), sent, "{fault:?}");
        aws.faults(|_, _| None);
        aws.sqs().send_message().queue_url(queue.url()).message_body("1").send().await.unwrap();
        assert_eq!(queue.counts().visible, sent + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_may_have_been_done() {
    for (fault, sent) in [(Fault::Hangs, 0), (Fault::AnswerLost, 1)] {
        let aws = TestAws::new();
        let queue = aws.queue("orders").create();
        aws.faults(move |_, _| Some(fault));
        let call = aws.sqs().send_message().queue_url(queue.url()).message_body("1").send();
        tokio::time::timeout(seconds(600), async { call.await.map(drop) }).await.unwrap_err();
        assert_eq!(queue.messages().len(), sent, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_names_its_arn_and_its_settings() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("dead", 4).visibility_timeout(seconds(45)).create();
    queue.send("tea");
    assert_eq!(queue.receive(1)[0]["eventSourceARN"], queue.arn());
    let (dead, count) = queue.redrive_policy().unwrap();
    assert_eq!((dead.url(), count), (aws.queue("dead").create().url(), 4));
    assert_eq!((queue.visibility_timeout(), dead.redrive_policy().is_none()), (seconds(45), true));
}
