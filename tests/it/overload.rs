//! A function that has time for a small part of its batches.

use std::time::Duration;

use redrive::Consumer;
use redrive_local::NewMessage;
use redrive_local::kit::TestAws;
use serde_json::json;
use tokio::time::sleep;

const DELIVERIES: u32 = 3;

#[tokio::test(start_paused = true)]
async fn messages_that_a_function_has_no_time_for_do_not_become_letters() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").visibility_timeout(Duration::from_secs(180));
    let queue = queue.dead_letter_queue("dead", DELIVERIES).create();
    // In 27 of its 30 s it handles fifteen.
    let handler = async |_: u32| {
        sleep(Duration::from_secs(9)).await;
        Ok::<_, &str>(())
    };
    let consumer = Consumer::new(handler).sqs(aws.sqs()).max_receive_count(DELIVERIES);
    let consumer = consumer.concurrency(5);
    let orders: Vec<_> = (0..1_000_u32).map(|number| queue.send(NewMessage::from(json!(number)))).collect();
    let mapping = queue.invokes(|event, deadline| consumer.handle(event, deadline));
    let mapping = mapping.timeout(Duration::from_secs(30)).batch_size(1_000);
    mapping.batching_window(Duration::from_secs(1)).until_idle().await;
    let attempts: Vec<_> = orders.iter().map(|order| order.done().attempts).collect();
    assert!(attempts.iter().all(|attempts| *attempts < DELIVERIES), "{attempts:?}");
}
