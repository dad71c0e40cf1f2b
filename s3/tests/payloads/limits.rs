//! What is not read, and what becomes of its message.

use std::time::{Duration, Instant};

use redrive_local::NewMessage;
use redrive_s3::{PayloadError, PayloadPointer, Payloads};

use crate::messages::{Batch, Saying, pointing};
use crate::store::store;

#[tokio::test]
async fn no_other_bucket_and_no_other_prefix_is_read() {
    let (client, asked) = store().await;
    let payloads = Payloads::new(client, ["payloads"]).key_prefix("orders/");
    let messages = [
        pointing("secrets", "orders/a"),
        pointing("payloads", "users/a"),
        pointing("payloads", "orders/a"),
        pointing("payloads", "orders/../users/a"),
    ];
    let batch = Batch::of(payloads, messages).await;
    let [bucket, key, fine, dots] = &batch.ends()[..] else { panic!("four") };
    assert_eq!(
        bucket,
        "DeadLettered payload-bucket: s3://secrets/orders/a is in none of the buckets that payloads are read from"
    );
    assert_eq!(key, "DeadLettered payload-key: the key of s3://payloads/users/a does not begin with orders/");
    assert_eq!(fine, "Succeeded : ");
    assert!(dots.starts_with("DeadLettered payload-key: "), "a proxy may leave the prefix: {dots}");
    assert_eq!(asked.paths(), ["/payloads/orders/a"]);
}

#[tokio::test]
async fn a_payload_beyond_the_limit_is_dead_lettered_whatever_its_length_is_said_to_be() {
    let (client, _) = store().await;
    let payloads = Payloads::new(client, ["payloads"]).max_size(10);
    let keys = ["12345678", "123456789", "endless"];
    let batch = Batch::of(payloads, keys.map(|key| pointing("payloads", key))).await;
    assert_eq!(batch.taken, ["\"12345678\""], "with its quotes just 10 bytes");
    let size = |key| {
        format!("DeadLettered payload-size: s3://payloads/{key} has more than 10 bytes, which is the limit")
    };
    assert_eq!(batch.ends(), ["Succeeded : ".to_owned(), size("123456789"), size("endless")]);
}

#[tokio::test]
async fn what_cannot_be_read_ever_is_a_dead_letter_and_what_may_go_better_is_retried() {
    let (client, asked) = store().await;
    let keys =
        ["missing", "bytes", "denied", "no-bucket", "throttled", "not-of-aws", "torn", "wrong-checksum"];
    let torn = NewMessage::from("{}").saying("ExtendedPayloadSize");
    let messages = keys.iter().map(|key| pointing("payloads", key)).chain([torn]);
    let batch = Batch::of(Payloads::new(client, ["payloads"]), messages).await;
    let expected = [
        "DeadLettered payload-missing: s3://payloads/missing does not exist",
        "DeadLettered malformed: s3://payloads/bytes is not text in UTF-8",
        "Retried error: could not read s3://payloads/denied: AccessDenied: as told",
        "Retried error: could not read s3://payloads/no-bucket: NoSuchBucket: as told",
        "Retried error: could not read s3://payloads/throttled: SlowDown: as told",
        "Retried error: could not read s3://payloads/not-of-aws: ",
        "Retried error: could not read s3://payloads/torn",
        "Retried error: could not read s3://payloads/wrong-checksum to its end: ",
        "DeadLettered malformed: the message has the attribute ExtendedPayloadSize, but its body is not a pointer",
    ];
    for (end, expected) in batch.ends().iter().zip(expected) {
        assert!(end.starts_with(expected) && end.len() <= expected.len() + 120, "{end}");
    }
    let tries = asked.paths().iter().filter(|path| path.ends_with("/throttled")).count();
    assert_eq!(tries, 3, "the client's own retries");
    assert!(batch.taken.is_empty());
}

#[tokio::test]
async fn an_s3_that_hangs_costs_the_messages_time_and_no_more() {
    let (client, _) = store().await;
    let began = Instant::now();
    let messages = [pointing("payloads", "hangs"), pointing("payloads", "a")];
    let batch = Batch::of(Payloads::new(client, ["payloads"]), messages).await;
    assert_eq!(batch.taken, ["\"a\""]);
    assert!(batch.ends()[0].starts_with("Retried timeout"), "{:?}", batch.ends());
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_payload_can_be_fetched_without_a_message() {
    let (client, _) = store().await;
    let payloads = Payloads::new(client, ["payloads"]);
    let at = |key: &str| PayloadPointer { bucket: "payloads".to_owned(), key: key.to_owned() };
    assert_eq!(payloads.fetch(&at("a")).await.unwrap(), "\"a\"");
    assert!(matches!(payloads.fetch(&at("missing")).await, Err(PayloadError::Missing(_))));
}
