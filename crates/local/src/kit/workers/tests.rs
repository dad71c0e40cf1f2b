use std::time::Duration;

use tokio::time::sleep;

use super::Stop;
use crate::kit::{Fault, TestAws};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Receives one message with a long poll, and returns the time that it took.
async fn polled(aws: &TestAws, url: &str) -> (usize, Duration) {
    let began = aws.elapsed();
    let received = aws.sqs().receive_message().queue_url(url).wait_time_seconds(20).send().await;
    (received.unwrap().messages().len(), aws.elapsed() - began)
}

/// Deletes each message after three seconds. The stop does not interrupt a message.
async fn work(aws: &TestAws, url: String, mut stop: Stop) -> Result<(), String> {
    let sqs = aws.sqs();
    loop {
        let poll = sqs.receive_message().queue_url(&url).wait_time_seconds(20);
        let received = tokio::select! {
            () = &mut stop => return Ok(()),
            received = poll.send() => received.map_err(|error| error.into_service_error().to_string())?,
        };
        for message in received.messages() {
            sleep(seconds(3)).await;
            let delete =
                sqs.delete_message().queue_url(&url).set_receipt_handle(message.receipt_handle.clone());
            delete.send().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_waits_for_a_message_until_its_time_is_up() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let url = queue.url();
    assert_eq!(polled(&aws, &url).await, (0, seconds(20)));
    let sends = async {
        sleep(seconds(7)).await;
        queue.send("tea");
    };
    let polls = async { tokio::join!(polled(&aws, &url), polled(&aws, &url)) };
    let ((one, other), ()) = tokio::join!(polls, sends);
    assert_eq!((one.min(other), one.max(other)), ((0, seconds(20)), (1, seconds(7))));
    // A receive hid the message for 30 s, 13 s ago.
    assert_eq!(polled(&aws, &url).await, (1, seconds(17)));
    assert_eq!(aws.calls()["ReceiveMessage"], 4);
    aws.with(|account, _| assert_eq!(account.calls()["sqs.ReceiveMessage"], 4));
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_is_done_later_and_one_with_a_late_answer_at_once() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let (url, order) = (queue.url(), queue.send("tea"));
    aws.faults(|_, number| [Fault::Slow(seconds(5)), Fault::AnswerLate(seconds(4))].get(number).copied());
    let aborted = tokio::time::timeout(seconds(1), polled(&aws, &url)).await;
    assert!(aborted.is_err() && order.received().is_empty());
    sleep(seconds(34)).await;
    assert_eq!(polled(&aws, &url).await, (1, seconds(4)));
    assert_eq!(order.received(), [5, 35].map(seconds));
}

#[tokio::test(start_paused = true)]
async fn workers_share_a_queue_until_it_is_empty() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let orders: Vec<_> = (0..4).map(|number| queue.send(number.to_string())).collect();
    let mut workers = queue.worked_by(async |url, stop| work(&aws, url, stop).await).workers(2);
    workers.until_idle().await;
    let done: Vec<_> = orders.iter().map(|order| order.done().after.as_secs()).collect();
    assert_eq!(done, [3, 3, 6, 6]);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_worker_finishes_its_message_and_a_killed_one_does_not() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let mut workers = queue.worked_by(async |url, stop| work(&aws, url, stop).await);
    let first = queue.send("1");
    workers.run_for(seconds(1)).await;
    assert_eq!((first.done().after, aws.elapsed()), (seconds(3), seconds(3)));
    let second = queue.send("2");
    workers.killed_after(seconds(1)).await;
    assert_eq!((queue.counts().in_flight, aws.elapsed()), (1, seconds(4)));
    workers.until_idle().await;
    assert_eq!(second.received(), [0, 30].map(seconds));
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a worker of queue orders ended: The role has no permission")]
async fn a_worker_that_ends_with_an_error_ends_the_test() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let fails = async |_, _| Err::<(), _>("The role has no permission");
    queue.worked_by(fails).run_for(seconds(60)).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a worker of queue orders ended before it was told to")]
async fn so_does_one_that_ends_by_itself() {
    let queue = TestAws::new().queue("orders").create();
    queue.send("tea");
    queue.worked_by(async |_, _| Ok::<_, String>(())).until_idle().await;
}

#[tokio::test(start_paused = true)]
#[should_panic(
    expected = "queue orders is not idle after 2592000s and 0 events, allowed: 2592000s and 100000"
)]
async fn a_worker_that_never_ends_is_ended() {
    let queue = TestAws::new().queue("orders").create();
    let deaf = async |_, _| std::future::pending::<Result<(), String>>().await;
    queue.worked_by(deaf).run_for(seconds(60)).await;
}
