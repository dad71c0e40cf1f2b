use redrive::{Bulk, Consumer, Failure, Message};
use redrive_local::configure;
use redrive_local::kit::TestAws;
use serde_json::json;

async fn insert(numbers: Bulk<Message<u32>>) -> Result<(), Failure> {
    for number in numbers {
        if number.body == 13 {
            number.fail(Failure::reject("bad luck"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn thirteen_is_rejected_and_open_messages_are_done() {
    let (numbers, rulings) = Bulk::with_rulings([7, 13].map(Message::new));
    assert!(insert(numbers).await.is_ok());
    let rulings = rulings.take();
    assert!(rulings[0].is_none());
    assert!(matches!(&rulings[1], Some(Err(failure)) if failure.is_rejection()));
}

#[tokio::test(start_paused = true)]
async fn a_bulk_consumer_runs_in_the_kit_like_any_other() {
    let aws = TestAws::new();
    let queue = aws.queue("numbers").dead_letter_queue("numbers-dead", 5).create();
    let consumer = configure!(Consumer::bulk(insert), queue);

    let good = queue.send(json!(7));
    let bad = queue.send(json!(13));
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    assert_eq!(good.done().attempts, 1);
    assert_eq!(bad.dead_letter().reason, "rejected");
}
