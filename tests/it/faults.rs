use redrive::{Consumer, Failure};
use redrive_local::configure;
use redrive_local::kit::{Fault, TestAws};
use serde_json::{Value, json};

async fn refuse(_: Value) -> Result<(), Failure> {
    Err(Failure::reject("the card has expired"))
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_that_sqs_refuses_is_written_at_the_next_delivery() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    let dead = queue.dead_letter_queue();
    let consumer = configure!(Consumer::new(refuse), queue);

    // redrive tries twice, then waits for the next delivery.
    aws.faults(|operation, number| (operation == "SendMessageBatch" && number < 2).then_some(Fault::Denied));
    let order = queue.send(json!({ "id": "o-1" }));
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    assert_eq!(order.dead_letter().attempts, 2);
    assert_eq!(dead.messages().len(), 1);
}
