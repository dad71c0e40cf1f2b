//! Workers with the real client on the kit's queues, in virtual time.

mod ending;
mod stopped;
mod takeover;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Backoff, Consumer, Failure, Message};
use redrive_local::kit::{Fault, TestAws};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn messages_received_after_their_lease_has_ended_are_not_begun() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").visibility_timeout(Duration::from_secs(3)).create();
    let begun = Arc::new(Mutex::new(Vec::new()));
    let attempts = Arc::clone(&begun);
    let begin = move |order: Message<usize>| {
        attempts.lock().unwrap().push(order.attempt);
        std::future::ready(Ok::<_, Failure>(()))
    };
    let late = Fault::AnswerLate(Duration::from_secs(4));
    aws.faults(move |operation, number| (operation == "ReceiveMessage" && number == 0).then_some(late));
    let order = queue.send("1");
    let consumer = Consumer::new(begin).sqs(aws.sqs());
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    assert_eq!(order.done().attempts, 2);
    assert_eq!(*begun.lock().unwrap(), [2]);
}

/// With more time, the second try would be made 2.05 s after the first.
#[tokio::test(start_paused = true)]
async fn no_try_of_a_delay_that_is_not_answered_is_made_after_the_lease() {
    let aws = TestAws::new();
    let visibility = Duration::from_secs(2);
    let queue = aws.queue("orders").visibility_timeout(visibility).create();
    let tries = Arc::new(Mutex::new(Vec::new()));
    let (tried, began) = (Arc::clone(&tries), Instant::now());
    aws.faults(move |operation, _| {
        let delays = operation == "ChangeMessageVisibilityBatch";
        delays.then(|| {
            tried.lock().unwrap().push(began.elapsed());
            Fault::Hangs
        })
    });
    let handle = async |order: Message<usize>| if order.attempt == 1 { Err("down") } else { Ok(()) };
    let order = queue.send("1");
    let consumer = Consumer::new(handle).sqs(aws.sqs()).backoff(Backoff::fixed(60 * visibility).unwrap());
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    assert_eq!(order.done().attempts, 2);
    let tries = tries.lock().unwrap();
    assert!(tries.len() >= 2 && tries.iter().all(|at| *at < visibility), "{tries:?}");
}
