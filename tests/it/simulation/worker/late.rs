//! What simulated runs have found.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Failure, Message};
use redrive_local::kit::{Fault, TestAws};

#[tokio::test(start_paused = true)]
async fn messages_of_a_receive_that_was_answered_after_their_lease_are_not_begun() {
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
