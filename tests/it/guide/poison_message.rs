use std::time::Duration;

use redrive::Consumer;
use redrive_local::configure;
use redrive_local::kit::TestAws;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Order {
    cents: u64,
}

async fn place(order: Order) -> Result<(), std::io::Error> {
    assert!(order.cents > 0, "an order must cost something");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn messages_that_cannot_succeed_become_dead_letters_at_once() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    let consumer = configure!(Consumer::new(place), queue);

    let fine = queue.send(json!({ "cents": 250 }));
    let free = queue.send(json!({ "cents": 0 }));
    let torn = queue.send("{ \"cents\": 2");
    let invocations = queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    assert_eq!(invocations.len(), 1);
    assert_eq!(fine.done().attempts, 1);
    let letter = free.dead_letter();
    assert_eq!((letter.reason.as_str(), letter.after), ("panic", Duration::ZERO));
    assert_eq!(letter.error.as_deref(), Some("an order must cost something"));
    assert_eq!(torn.dead_letter().reason, "malformed");
}
