use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Failure, Handler, Message, Text};
use redrive_local::{NewMessage, QueueEvent};

use crate::support::{Aws, Fault, Faults, Handled};

const QUEUE: &str = "orders.fifo";

/// Sends messages named by group and number, `A1`, `A2`, `B1`, and gives their ids.
fn send<const N: usize>(aws: &Aws, names: [&str; N]) -> [String; N] {
    names.map(|name| {
        let message = NewMessage {
            body: name.to_owned(),
            group_id: Some(name[..1].to_owned()),
            deduplication_id: Some(name.to_owned()),
            ..NewMessage::default()
        };
        aws.send(QUEUE, message)
    })
}

type Log = Arc<Mutex<Vec<String>>>;

/// Runs what `rule` says for each name and notes the names in the order in which they ran.
fn consumer(
    aws: &Aws,
    rule: impl Fn(&str) -> Result<(), Failure> + Send + Sync + 'static,
) -> (Consumer<impl Handler<Message<Text>>, Message<Text>>, Log) {
    let log = Log::default();
    let ran = Arc::clone(&log);
    let handler = move |message: Message<Text>| {
        ran.lock().unwrap().push(message.body.0.clone());
        let result = rule(&message.body.0);
        async move { result }
    };
    (aws.consumer(QUEUE, handler), log)
}

fn ran(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

fn delays<const N: usize>(handled: &Handled, ids: &[String; N]) -> [Option<u64>; N] {
    std::array::from_fn(|at| handled.delays().get(ids[at].as_str()).copied())
}

#[tokio::test(start_paused = true)]
async fn a_failed_message_stops_its_group_and_no_other() {
    let aws = Aws::fifo();
    let [a1, a2, b1, a3] = send(&aws, ["A1", "A2", "B1", "A3"]);
    let (consumer, log) = consumer(&aws, |name| if name == "A1" { Err("down")? } else { Ok(()) });
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(ran(&log), ["A1", "B1"]);
    let failed = handled.delivered.iter().filter(|id| **id != b1).cloned().collect::<Vec<_>>();
    assert_eq!(handled.failed, failed, "in the order of the records");
    assert_eq!(handled.failed.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&a1, &a2, &a3]));
    assert_eq!(delays(&handled, &[a1, a2, a3, b1]), [Some(2), Some(4), Some(4), None]);
    assert_eq!((handled.report.worker_errors, handled.report.not_started), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_head_is_dead_lettered_and_its_group_goes_on_in_the_same_invocation() {
    let aws = Aws::fifo();
    let [a1, _, _] = send(&aws, ["A1", "A2", "A3"]);
    let (consumer, log) =
        consumer(&aws, |name| if name == "A2" { Ok(()) } else { Err(Failure::reject("no")) });
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(ran(&log), ["A1", "A2", "A3"]);
    assert_eq!(handled.failed, [""; 0]);
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (1, 2));
    assert_eq!(handled.notes()[0].message_id, a1);
    assert_eq!(
        aws.account().calls()["sqs.SendMessageBatch"],
        2,
        "a letter and its confirmation before each next round"
    );

    let letter = aws.deliver("orders-dead.fifo", 1);
    let event: serde_json::Value = serde_json::from_slice(letter.event()).unwrap();
    let attributes = &event["Records"][0]["attributes"];
    assert_eq!(
        (attributes["MessageGroupId"].as_str(), attributes["MessageDeduplicationId"].as_str()),
        (Some("A"), Some(a1.as_str()))
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_does_not_go_on_before_the_letter_is_confirmed() {
    for fault in [Fault::Refused, Fault::Hangs, Fault::Denied] {
        let faults = Faults::always("SendMessageBatch", fault);
        let aws = Aws::with_faults(faults).with_queues(QUEUE, "orders-dead.fifo", 10);
        let [a1, a2] = send(&aws, ["A1", "A2"]);
        let (consumer, log) = consumer(&aws, |_| Err(Failure::reject("no")));
        let handled = aws.handle(&consumer, QUEUE, 10).await;
        assert_eq!(ran(&log), ["A1"]);
        assert_eq!(handled.failed, [a1.clone(), a2.clone()]);
        assert_eq!(delays(&handled, &[a1, a2]), [Some(2), Some(4)]);
        assert_eq!((handled.report.dead_lettered, handled.report.settle_errors), (0, 1));
    }
}

/// Lets `A1` fail until its next delivery is its tenth.
async fn worn_out(aws: &Aws, consumer: &Consumer<impl Handler<Message<Text>>, Message<Text>>) {
    for _ in 1..10 {
        aws.handle(consumer, QUEUE, 1).await;
        tokio::time::advance(Duration::from_secs(600)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_head_is_dead_lettered_and_its_group_goes_on() {
    let aws = Aws::fifo();
    let [a1] = send(&aws, ["A1"]);
    let (consumer, log) = consumer(&aws, |name| if name == "A1" { Err("down")? } else { Ok(()) });
    worn_out(&aws, &consumer).await;
    send(&aws, ["A2"]);
    ran(&log);
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(ran(&log), ["A1", "A2"]);
    assert_eq!(handled.failed, [""; 0]);
    let note = &handled.notes()[0];
    assert_eq!(
        (note.reason.as_str(), note.message_id.as_str(), note.attempts),
        ("exhausted", a1.as_str(), 10)
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_dead_letter_queue_an_exhausted_head_is_left_to_the_redrive_policy() {
    let aws = Aws::fifo();
    let [a1] = send(&aws, ["A1"]);
    let handler = |_: Text| async { Err::<(), _>("down") };
    let consumer = Consumer::new(handler).sqs(aws.sqs()).max_receive_count(10);
    for _ in 1..10 {
        aws.handle(&consumer, QUEUE, 1).await;
        tokio::time::advance(Duration::from_secs(600)).await;
    }
    let [a2] = send(&aws, ["A2"]);
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(delays(&handled, &[a1.clone(), a2]), [Some(0), Some(2)]);
    assert_eq!(handled.report.dead_lettered, 1);
    let now = aws.now();
    assert!(aws.account().deliver(QUEUE, 10, now).unwrap().is_none());
    let moved =
        |event: &QueueEvent| matches!(event, QueueEvent::Moved { message_id, .. } if *message_id == a1);
    assert!(aws.account().take_events().iter().any(moved));
}

#[tokio::test(start_paused = true)]
async fn followers_use_up_fewer_deliveries_than_their_head() {
    let aws = Aws::fifo();
    let [head, follower] = send(&aws, ["A1", "A2"]);
    let (consumer, _) = consumer(&aws, |name| if name == "A1" { Err("down")? } else { Ok(()) });
    let (mut head_deliveries, mut follower_deliveries) = (0, 0);
    for _ in 0..40 {
        let now = aws.now();
        let Some(batch) = aws.account().deliver(QUEUE, 10, now).unwrap() else {
            let Some(next) = aws.account().next_change(QUEUE, now) else { break };
            tokio::time::advance(next.duration_since(now).unwrap()).await;
            continue;
        };
        head_deliveries += batch.ids().filter(|id| *id == head).count();
        follower_deliveries += batch.ids().filter(|id| *id == follower).count();
        let event = serde_json::from_slice(batch.event()).unwrap();
        let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
        let response = consumer.handle(event, deadline).await.unwrap();
        let now = aws.now();
        aws.account().settle(&batch, &serde_json::to_vec(&response).unwrap(), now).unwrap();
    }
    assert_eq!(head_deliveries, 10);
    assert!(follower_deliveries < head_deliveries, "{follower_deliveries}");
    println!("deliveries: head {head_deliveries}, follower {follower_deliveries}");
}

#[tokio::test(start_paused = true)]
async fn a_standard_queue_whose_messages_carry_a_group_is_not_fifo() {
    let aws = Aws::standard();
    let tenant = |body: &str| NewMessage {
        body: body.to_owned(),
        group_id: Some("A".to_owned()),
        ..NewMessage::default()
    };
    let failing = aws.send("orders", tenant("\"A1\""));
    aws.send("orders", tenant("\"A2\""));
    let handler = |name: String| async move { if name == "A1" { Err("down") } else { Ok(()) } };
    let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
    assert_eq!(handled.failed, [failing]);
}
