use std::collections::HashMap;

use redrive::{Bodies, Body, Consumer, Failure, Record};
use redrive_local::NewMessage;
use redrive_local::kit::TestAws;
use redrive_s3::PayloadPointer;

/// The bucket, as a map from keys to payloads.
struct Bucket(HashMap<&'static str, &'static str>);

impl Bodies for Bucket {
    async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
        let pointer = PayloadPointer::find(record.body(), &record.attributes())?;
        Ok(pointer.and_then(|pointer| self.0.get(pointer.key.as_str()).map(|&body| body.into())))
    }
}

async fn add(numbers: Vec<u64>) -> Result<(), Failure> {
    if numbers.iter().sum::<u64>() > 100 { Err(Failure::reject("too much")) } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn a_large_message_is_handled_as_a_small_one() {
    let aws = TestAws::new();
    let queue = aws.queue("numbers").dead_letter_queue("numbers-dead", 10).create();
    let consumer = Consumer::new(add)
        .sqs(aws.sqs())
        .dead_letter_queue_url(queue.dead_letter_queue().url())
        .bodies(Bucket(HashMap::from([("k1", "[1, 2]"), ("k2", "[90, 20]")])));

    let large = |key: &str| {
        let pointer = PayloadPointer { bucket: "payloads".to_owned(), key: key.to_owned() };
        queue.send(NewMessage::from(pointer.body()).attribute(PayloadPointer::ATTRIBUTES[0], "300000"))
    };
    let (fine, refused) = (large("k1"), large("k2"));
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    assert_eq!(fine.done().attempts, 1);
    assert_eq!(refused.dead_letter().reason, "rejected");
}
