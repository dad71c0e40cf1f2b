use redrive::{Bulk, Failure, Message};

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
