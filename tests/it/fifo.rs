use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Failure, Handler, Message, Text};
use redrive_local::kit::Fault;
use redrive_local::{NewMessage, QueueEvent};

use crate::support::{Aws, Handled, always};

const QUEUE: &str = "orders.fifo";

/// Sends messages named by group and number, `A1`, `A2`, `B1`, and gives their ids.
fn send<const N: usize>(aws: &Aws, names: [&str; N]) -> [String; N] {
    names.map(|name| aws.send(QUEUE, NewMessage::from(name).group(&name[..1])))
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
async fn a_group_continues_after_the_dead_letter_of_its_rejected_head() {
    let aws = Aws::fifo();
    let [a1, _, _] = send(&aws, ["A1", "A2", "A3"]);
    let (consumer, log) =
        consumer(&aws, |name| if name == "A2" { Ok(()) } else { Err(Failure::reject("no")) });
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(ran(&log), ["A1", "A2", "A3"]);
    assert_eq!(handled.failed, [""; 0]);
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (1, 2));
    assert_eq!(handled.notes()[0].message_id, a1);
    assert_eq!(aws.calls()["SendMessageBatch"], 2, "a letter and its confirmation before each next round");

    let letters = aws.open("orders-dead.fifo").receive(1);
    let attributes = &letters[0]["attributes"];
    assert_eq!(
        (attributes["MessageGroupId"].as_str(), attributes["MessageDeduplicationId"].as_str()),
        (Some("A"), Some(a1.as_str()))
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_does_not_continue_before_its_letter_is_confirmed() {
    for fault in [Fault::Refused, Fault::Hangs, Fault::Denied] {
        let aws = Aws::fifo();
        aws.faults(always("SendMessageBatch", fault));
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
async fn a_group_continues_after_the_dead_letter_of_its_exhausted_head() {
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
async fn without_a_dlq_the_redrive_policy_moves_an_exhausted_head() {
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
    assert!(aws.open(QUEUE).receive(10).is_empty());
    let moved =
        |event: &QueueEvent| matches!(event, QueueEvent::Moved { message_id, .. } if *message_id == a1);
    assert!(aws.events().iter().any(|(_, event)| moved(event)));
}

#[tokio::test(start_paused = true)]
async fn followers_use_up_fewer_deliveries_than_their_head() {
    let aws = Aws::fifo();
    let queue = aws.open(QUEUE);
    let [head, follower] = ["A1", "A2"].map(|name| queue.send(NewMessage::from(name).group("A")));
    let (consumer, _) = consumer(&aws, |name| if name == "A1" { Err("down")? } else { Ok(()) });
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    assert_eq!(head.dead_letter().attempts, 10);
    let attempts = follower.done().attempts;
    assert!(attempts < 10, "{attempts}");
    println!("deliveries: head 10, follower {attempts}");
}

#[tokio::test(start_paused = true)]
async fn a_standard_queue_whose_messages_carry_a_group_is_not_fifo() {
    let aws = Aws::standard();
    let tenant = |body: &str| NewMessage::from(body).group("A");
    let failing = aws.send("orders", tenant("\"A1\""));
    aws.send("orders", tenant("\"A2\""));
    let handler = |name: String| async move { if name == "A1" { Err("down") } else { Ok(()) } };
    let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
    assert_eq!(handled.failed, [failing]);
}

/// Nine delays of twelve hours would hold back the message behind for 106 h.
#[tokio::test(start_paused = true)]
async fn a_sender_cannot_block_its_group_longer_than_the_consumers_delays() {
    let aws = Aws::fifo();
    let queue = aws.open(QUEUE);
    let stalls = r#"{"kind":"fixed","delay":43200}"#;
    let stalling = queue.send(NewMessage::from("A1").group("A").attribute("redrive.backoff", stalls));
    let victim = queue.send(NewMessage::from("A2").group("A"));
    let (consumer, _) = consumer(&aws, |name| if name == "A1" { Err("down")? } else { Ok(()) });
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    assert_eq!(stalling.dead_letter().attempts, 10);
    let after = victim.done().after;
    // 2 + 4 + … + 512 s are the consumer's own.
    assert!(after < Duration::from_secs(1_022 + 60), "{after:?}");
}
