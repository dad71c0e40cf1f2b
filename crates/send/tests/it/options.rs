//! What a sender chooses for a message, and what a consumer makes of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Failure, Message};
use redrive_local::kit::TestAws;
use redrive_send::{Backoff, NewMessage};

use crate::faults::sender;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_consumer_obeys_the_attempts_and_the_backoff_of_the_sender() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    let message = NewMessage::json("A-1").unwrap().max_attempts(3).backoff(&Backoff::fixed(MINUTE).unwrap());
    sender(&aws, &queue).send(message).await.unwrap();
    let fails = async |_: String| Err::<(), Failure>("the warehouse is closed".into());
    let consumer = redrive_local::configure!(Consumer::new(fails), queue);
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    let message = &queue.messages()[0];
    assert_eq!(message.received(), [Duration::ZERO, MINUTE, 2 * MINUTE]);
    assert_eq!(message.dead_letter().attempts, 3);
}

#[tokio::test(start_paused = true)]
async fn delay_group_attributes_and_trace_reach_the_handler() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let header = "Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=1";
    let message = NewMessage::json("A-1")
        .unwrap()
        .delay(10 * MINUTE)
        .group("customer-7")
        .attribute("channel", "web")
        .trace_header(header);
    sender(&aws, &queue).send(message).await.unwrap();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let consumer = Consumer::new(move |order: Message<String>| {
        let channel = order.attributes["channel"].as_str().unwrap().to_owned();
        let group = order.group.clone().unwrap_or_default();
        let trace = order.trace_header.clone().unwrap_or_default();
        noted.lock().unwrap().extend([order.body.clone(), channel, group, trace]);
        async { Ok::<_, Failure>(()) }
    });
    let consumer = redrive_local::configure!(consumer, queue);
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    assert_eq!(*seen.lock().unwrap(), ["A-1", "web", "customer-7", header]);
    assert_eq!(queue.messages()[0].received(), [10 * MINUTE]);
}
