//! Handlers take the payload, and dead letters keep the pointer.

use redrive_local::NewMessage;
use redrive_s3::{PayloadPointer, Payloads};
use serde_json::json;

use crate::messages::{Batch, WithPayloadSize, pointing};
use crate::store::store;

#[tokio::test]
async fn the_handler_takes_the_payload_and_of_other_messages_their_own_body() {
    let (client, asked) = store().await;
    let pointer = PayloadPointer { bucket: "payloads".to_owned(), key: "c".to_owned() }.body();
    let legacy =
        r#"["com.amazon.sqs.javamessaging.MessageS3Pointer", {"s3BucketName": "archive", "s3Key": "old/b"}]"#;
    let batch = Batch::of(
        Payloads::new(client, ["payloads", "archive"]),
        [
            pointing("payloads", "a"),
            NewMessage::from(legacy).with_payload_size("SQSLargePayloadSize"),
            // It only looks like a pointer.
            NewMessage::from(pointer.as_str()),
            NewMessage::from("small"),
        ],
    )
    .await;
    assert_eq!(batch.taken, ["\"a\"", "\"b\"", pointer.as_str(), "small"]);
    let mut asked = asked.paths();
    asked.sort();
    assert_eq!(asked, ["/archive/old/b", "/payloads/a"]);
    batch.messages.iter().for_each(|message| assert_eq!(message.done().attempts, 1));
}

#[tokio::test]
async fn a_dead_letter_keeps_the_pointer_and_its_attribute() {
    let (client, asked) = store().await;
    let sent = pointing("payloads", "refuse");
    let batch = Batch::of(Payloads::new(client, ["payloads"]), [sent.clone()]).await;
    assert_eq!(batch.taken, ["\"refuse\""]);
    assert_eq!(batch.messages[0].dead_letter().reason, "rejected");
    let letter = &batch.queue.dead_letter_queue().receive(1)[0];
    assert_eq!(letter["body"], sent.body);
    let size = &letter["messageAttributes"]["ExtendedPayloadSize"];
    assert_eq!((&size["dataType"], &size["stringValue"]), (&json!("Number"), &json!("300000")));
    assert_eq!(asked.paths(), ["/payloads/refuse"], "read once, and never deleted");
}
