use std::time::Duration;

use redrive::{Consumer, Message};
use redrive_local::configure;
use redrive_local::kit::TestAws;
use serde_json::{Value, json};

async fn charge(order: Message<Value>) -> Result<(), &'static str> {
    if order.attempt < 3 { Err("the bank is down") } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn an_order_is_charged_once_the_bank_is_back() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    let consumer = configure!(Consumer::new(charge), queue);

    let order = queue.send(json!({ "id": "o-1", "cents": 250 }));
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    assert_eq!(order.received(), [0, 2, 6].map(Duration::from_secs));
    assert_eq!(order.done().attempts, 3);
}
