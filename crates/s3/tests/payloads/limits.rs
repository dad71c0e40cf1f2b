//! Payloads that are not read, and what happens to their messages.

use std::time::{Duration, Instant};

use redrive_local::NewMessage;
use redrive_s3::{PayloadError, PayloadPointer, Payloads};

use crate::messages::{Batch, WithPayloadSize, pointing};
use crate::store::{store, store_at};

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
async fn a_payload_beyond_the_limit_is_dead_lettered_despite_its_stated_length() {
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
async fn permanent_faults_are_dead_lettered_and_temporary_ones_retried() {
    let (client, asked) = store().await;
    let keys = [
        "missing",
        "bytes",
        "denied",
        "no-bucket",
        "throttled",
        "not-of-aws",
        "moved",
        "torn",
        "wrong-checksum",
    ];
    let torn = NewMessage::from("{}").with_payload_size("ExtendedPayloadSize");
    let messages = keys.iter().map(|key| pointing("payloads", key)).chain([torn]);
    let batch = Batch::of(Payloads::new(client, ["payloads"]), messages).await;
    let expected = [
        "DeadLettered payload-missing: s3://payloads/missing does not exist",
        "DeadLettered malformed: s3://payloads/bytes is not text in UTF-8",
        "Retried error: could not read s3://payloads/denied: AccessDenied: as told",
        "Retried error: could not read s3://payloads/no-bucket: NoSuchBucket: as told",
        "Retried error: could not read s3://payloads/throttled: SlowDown: as told",
        "Retried error: could not read s3://payloads/not-of-aws: HTTP status 502 without an error code",
        "Retried error: could not read s3://payloads/moved: HTTP status 301 without an error code",
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

/// S3 takes 1,024 bytes. The client writes the key into an address, and panics if that is too long.
#[tokio::test]
async fn a_key_that_no_object_can_have_is_dead_lettered_without_a_call() {
    let (client, asked) = store().await;
    let longest = "é".repeat(512);
    let keys = [
        longest.clone(),
        "k".repeat(1_025),
        "é".repeat(513),
        "k".repeat(65_600),
        "\u{1}".repeat(100_000),
        "..".to_owned(),
        "a/./b".to_owned(),
        r"a\..\b".to_owned(),
        "a/%2E%2e/b".to_owned(),
        "a%2f..%5Cb".to_owned(),
    ];
    let batch =
        Batch::of(Payloads::new(client, ["payloads"]), keys.map(|key| pointing("payloads", &key))).await;
    let ends = batch.ends();
    assert_eq!(ends[0], "Succeeded : ");
    let start = "k".repeat(64);
    assert_eq!(
        ends[1],
        format!(
            "DeadLettered payload-key: the key of s3://payloads/{start}… has 1025 bytes, allowed: at most 1024"
        )
    );
    for end in &ends[1..] {
        assert!(end.starts_with("DeadLettered payload-key: ") && end.len() < 400, "{end}");
    }
    assert!(
        ends[5].ends_with(": the key of s3://payloads/.. has the part . or .., which a proxy may resolve"),
        "{}",
        ends[5]
    );
    assert_eq!(asked.paths().len(), 1);
}

/// `redrive dlq show --payload` takes the sender's bucket.
#[tokio::test]
async fn neither_key_nor_bucket_makes_the_client_panic() {
    let strange = [
        "\0",
        "a\0b",
        "\n",
        "\r\nHost: evil",
        " ",
        "%",
        "%00",
        "%zz",
        "?x=1",
        "#",
        "//",
        "/",
        "@evil",
        "http://evil/",
        "\u{202e}",
        "\u{feff}",
        "😀",
        "\u{d7ff}",
        "a:b",
        "[::1]",
        "\\",
        "..%2f",
        "\u{7f}",
        "\u{9b}",
        "b--x-s3",
        "127.0.0.1",
    ];
    for host in ["127.0.0.1", "localhost"] {
        let (client, _) = store_at(host).await;
        let mut fetching = tokio::task::JoinSet::new();
        for name in strange {
            let arn = format!("arn:aws:s3:{name}:123456789012:accesspoint/{name}");
            for (bucket, key) in [("payloads", name), (name, "k"), (&arn, "k"), ("arn:aws:s3:::x", name)] {
                let pointer = PayloadPointer { bucket: bucket.to_owned(), key: key.to_owned() };
                let payloads = Payloads::new(client.clone(), [bucket]);
                fetching.spawn(async move { drop(payloads.fetch(&pointer).await) });
            }
        }
        fetching.join_all().await;
    }
}

#[tokio::test]
async fn a_bucket_that_cannot_exist_is_not_asked_for() {
    let (client, asked) = store().await;
    let names = [
        "b".repeat(70_000),
        "b".repeat(256),
        "..".to_owned(),
        "a/b".to_owned(),
        "a\nb".to_owned(),
        "é".to_owned(),
        "a?b".to_owned(),
    ];
    for bucket in names {
        let pointer = PayloadPointer { bucket: bucket.clone(), key: "k".to_owned() };
        let error = Payloads::new(client.clone(), [bucket]).fetch(&pointer).await.unwrap_err();
        assert!(matches!(error, PayloadError::InvalidBucket(_)) && error.to_string().len() < 300, "{error}");
    }
    assert!(asked.paths().is_empty());
}
