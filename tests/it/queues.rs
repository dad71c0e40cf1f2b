use std::collections::BTreeMap;
use std::time::Duration;

use redrive::{BatchReport, Consumer, Failure, FromMessage, Handler, QueueSettings, Text};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::function::{Function, ORDERS, response};
use crate::support::shop::order;
use crate::support::{Aws, event_of};

const NONE: [&str; 0] = [];

fn arn(queue: &str) -> String {
    format!("arn:aws:sqs:eu-central-1:123456789012:{queue}")
}

fn letters(aws: &Aws, dead: &str) -> usize {
    aws.open(dead).messages().len()
}

/// The queues `orders` and `returns`, each with its own dead-letter queue.
fn aws() -> Aws {
    let aws = Aws::standard();
    aws.queue("returns")
        .dead_letter_queue("returns-dead", 3)
        .visibility_timeout(Duration::from_secs(180))
        .create();
    aws
}

async fn reject(_: Text) -> Result<(), Failure> {
    Err(Failure::reject("no"))
}

async fn fail(_: Text) -> Result<(), Failure> {
    Err("down".into())
}

fn consumer<H, M>(aws: &Aws, handler: H) -> Consumer<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    let settings = |dead: &str, count| {
        QueueSettings::default().dead_letter_queue_url(aws.open(dead).url()).max_receive_count(count)
    };
    Consumer::new(handler)
        .sqs(aws.sqs())
        .queue(arn("orders"), settings("orders-dead", 10))
        .queue(arn("returns"), settings("returns-dead", 1))
}

#[tokio::test(start_paused = true)]
async fn the_letters_of_each_queue_go_to_its_own_dead_letter_queue() {
    let aws = aws();
    let consumer = consumer(&aws, reject);
    for (queue, dead) in [("orders", "orders-dead"), ("returns", "returns-dead"), ("orders", "orders-dead")] {
        aws.send(queue, "x");
        let before = letters(&aws, dead);
        let handled = aws.handle(&consumer, queue, 10).await;
        assert_eq!((handled.report.queue.as_str(), handled.report.dead_lettered), (queue, 1));
        assert_eq!(letters(&aws, dead), before + 1, "{dead}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_delivery_is_that_of_the_messages_own_queue() {
    let aws = aws();
    let consumer = consumer(&aws, fail);
    aws.send("orders", "x");
    assert_eq!(aws.handle(&consumer, "orders", 10).await.delays().into_values().collect::<Vec<_>>(), [2]);
    aws.send("returns", "x");
    let last = aws.handle(&consumer, "returns", 10).await;
    assert_eq!(last.delays().into_values().collect::<Vec<_>>(), [0], "left to the redrive policy");
}

/// Lambda never sends one; tests and replays do.
#[tokio::test(start_paused = true)]
async fn a_batch_of_several_queues_is_handled_by_the_settings_of_each() {
    let aws = aws();
    let mut records = Vec::new();
    for queue in ["orders", "returns", "orders"] {
        aws.send(queue, "x");
        let event = serde_json::to_value(aws.event(queue, 1)).unwrap();
        records.extend(event["Records"].as_array().unwrap().clone());
    }
    let ids: Vec<_> = records.iter().map(|record| record["messageId"].as_str().unwrap().to_owned()).collect();
    let event = serde_json::from_value(json!({ "Records": records })).unwrap();
    let reports = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let observed = std::sync::Arc::clone(&reports);
    let consumer =
        consumer(&aws, reject).observe(move |it: &BatchReport| observed.lock().unwrap().push(it.clone()));
    let response = consumer.handle(event, Instant::now() + Duration::from_secs(30)).await.unwrap();
    assert_eq!(response.batch_item_failures, [], "{ids:?}");
    assert_eq!((letters(&aws, "orders-dead"), letters(&aws, "returns-dead")), (2, 1));
    let reports: BTreeMap<_, _> =
        reports.lock().unwrap().iter().map(|report| (report.queue.clone(), report.records)).collect();
    assert_eq!(reports, [("orders".to_owned(), 2), ("returns".to_owned(), 1)].into());
}

/// The error of a batch of one message, or none, with all that it did.
async fn refused(consumer: &Consumer<impl Handler<Text>, Text>, aws: &Aws, queue: &str) -> Option<String> {
    aws.send(queue, "x");
    let event = aws.event(queue, 1);
    let before = aws.events().len();
    let handled = consumer.handle(event, Instant::now() + Duration::from_secs(30)).await;
    let error = lambda_runtime::Diagnostic::from(handled.err()?);
    assert_eq!(error.error_type, "InvalidSetting");
    assert_eq!(aws.events().len(), before, "nothing is written, delayed or deleted");
    Some(error.error_message)
}

#[tokio::test(start_paused = true)]
async fn settings_of_one_queue_are_refused_to_a_second_queue() {
    let aws = aws();
    let one = aws.consumer("orders", reject);
    let expected = format!(
        "eventSourceARN is \"{}\", allowed: {}, whose REDRIVE_DEAD_LETTER_QUEUE_URL is set; to have several queues feed one \
         function, name each in REDRIVE_QUEUES or by Consumer::queue",
        arn("returns"),
        arn("orders")
    );
    for queue in ["orders", "returns", "orders", "returns"] {
        let refusal = refused(&one.clone(), &aws, queue).await;
        assert_eq!(refusal, (queue == "returns").then(|| expected.clone()), "{queue}");
    }
    let general = Consumer::new(reject).sqs(aws.sqs()).time_limit(Duration::from_secs(1));
    for queue in ["orders", "returns"] {
        assert_eq!(refused(&general, &aws, queue).await, None, "nothing of this is one queue's");
    }
    aws.queue("third").create();
    let third = refused(&consumer(&aws, reject), &aws, "third").await.unwrap();
    assert!(
        third.ends_with(":third\", allowed: a queue that REDRIVE_QUEUES or Consumer::queue names"),
        "{third}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_invalid_dead_letter_queue_is_refused_at_start_or_first_batch() {
    let aws = aws();
    let fifo = aws.queue("dead.fifo").create();
    let source = arn("orders");
    let table = [
        (fifo.url(), format!("allowed: a standard queue, as its source {source} is")),
        (aws.open("orders").url(), format!("allowed: another queue than its source {source}")),
    ];
    for (url, allowed) in table {
        let expected = format!("dead-letter queue URL is \"{url}\", {allowed}");
        let later = Consumer::new(reject).sqs(aws.sqs()).dead_letter_queue_url(&url);
        assert_eq!(refused(&later, &aws, "orders").await, Some(expected.clone()));
        let named = Consumer::new(reject).queue(&source, QueueSettings::default().dead_letter_queue_url(url));
        assert_eq!(named.connect().await.unwrap_err().to_string(), expected);
    }
}

/// As in [`event_of`].
fn west(queue: &str) -> String {
    format!("arn:aws:sqs:eu-west-1:123456789012:{queue}")
}

fn batch(queue: &str) -> Value {
    event_of(queue, "m", [order("up")])
}

/// What the process answers to batches of these queues, one after the other: the failed messages, or an error.
async fn answers(variables: &[(&str, &str)], queues: &[&str]) -> Vec<Result<String, [String; 2]>> {
    let mut function = Function::start(ORDERS, variables).await;
    let mut answers = Vec::new();
    for queue in queues {
        function.offer(queue, batch(queue), Duration::from_secs(10));
        let answer = function.answer().await;
        answers.push(if answer.kind == "response" {
            Ok(answer.body)
        } else {
            let report: Value = serde_json::from_str(&answer.body).unwrap();
            Err(["errorType", "errorMessage"].map(|key| report[key].as_str().unwrap().to_owned()))
        });
    }
    function.end().await;
    answers
}

#[tokio::test]
async fn each_process_serves_the_queue_of_its_first_batch() {
    let variables = [("REDRIVE_MAX_RECEIVE_COUNT", "3")];
    let refused = |queue: &str, first: &str| {
        let message = format!(
            "eventSourceARN is \"{}\", allowed: {}, whose REDRIVE_MAX_RECEIVE_COUNT is set; to have several queues feed one \
             function, name each in REDRIVE_QUEUES or by Consumer::queue",
            west(queue),
            west(first)
        );
        Err(["InvalidSetting".to_owned(), message])
    };
    let taken = || Ok(response(NONE));
    assert_eq!(
        answers(&variables, &["orders", "orders", "returns"]).await,
        [taken(), taken(), refused("returns", "orders")]
    );
    assert_eq!(answers(&variables, &["returns", "orders"]).await, [taken(), refused("orders", "returns")]);
}

#[tokio::test]
async fn a_process_that_refused_a_second_queue_ends() {
    let mut function = Function::start(ORDERS, &[("REDRIVE_MAX_RECEIVE_COUNT", "3")]).await;
    let made_up = json!({ "Records": [{ "eventSourceARN": west("other"), "body": "{}" }] });
    for (event, kind) in [(made_up, "error"), (batch("orders"), "response"), (batch("returns"), "error")] {
        function.offer("next", event, Duration::from_secs(10));
        assert_eq!(function.answer().await.kind, kind, "what has no message id claims nothing");
    }
    assert_eq!(function.end_by_itself().await.0, Some(1));
}

#[tokio::test]
async fn a_process_with_named_queues_serves_these_in_any_order_and_no_others() {
    let queues =
        json!({ west("orders"): { "max_receive_count": 3 }, west("returns"): { "max_receive_count": 5 } });
    let queues = queues.to_string();
    let answers = answers(&[("REDRIVE_QUEUES", &queues)], &["returns", "orders", "third", "returns"]).await;
    let third = format!(
        "eventSourceARN is \"{}\", allowed: a queue that REDRIVE_QUEUES or Consumer::queue names",
        west("third")
    );
    let taken = || Ok(response(NONE));
    assert_eq!(answers, [taken(), taken(), Err(["InvalidSetting".to_owned(), third]), taken()]);
}
