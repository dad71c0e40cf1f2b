//! Stores bodies that are too large for SQS in S3, as the SQS Extended Client does.

use anyhow::{anyhow, bail};
use aws_sdk_s3::primitives::ByteStream;
use clap::Args;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use redrive_s3::PayloadPointer;
use redrive_sqs::MAX_BYTES;

use super::read::Given;
use crate::aws::{Aws, DescribeError};
use crate::output::Progress;
use crate::problem::Problem;
use crate::sqs::Stop;

/// Number of concurrent uploads.
const AT_ONCE: usize = 8;

/// Longest prefix. The rest of a key is the name of the run and a number.
const MAX_PREFIX: usize = PayloadPointer::MAX_KEY - 100;

/// What goes to S3, and where.
#[derive(Debug, Args)]
pub(super) struct ToS3 {
    /// Store bodies that are too large in this bucket, and send pointers to them as the SQS Extended Client does
    #[arg(long, value_name = "BUCKET[/PREFIX]", value_parser = place)]
    payload_bucket: Option<Place>,

    /// Most bytes to send without S3, attributes included, 0 to 1048576 [default: 262144]
    #[arg(
        long,
        value_name = "BYTES",
        requires = "payload_bucket",
        value_parser = clap::value_parser!(u32).range(..=MAX_BYTES as i64)
    )]
    payload_threshold: Option<u32>,
}

#[derive(Debug, Clone)]
struct Place {
    bucket: String,
    prefix: String,
}

/// A body that was taken from its message.
#[derive(Debug)]
pub(super) struct Payload {
    /// Place of its message.
    place: String,
    pointer: PayloadPointer,
    body: String,
}

fn place(text: &str) -> Result<Place, String> {
    let (bucket, prefix) = text.split_once('/').unwrap_or((text, ""));
    let is_bucket = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(is_bucket) {
        return Err(
            "allowed: the name of a bucket, 3 to 63 of a-z, 0-9, . and -, and a prefix behind a /".to_owned()
        );
    }
    if prefix.len() > MAX_PREFIX {
        return Err(format!("the prefix has {} bytes, allowed: at most {MAX_PREFIX}", prefix.len()));
    }
    let prefix =
        if prefix.is_empty() || prefix.ends_with('/') { prefix.to_owned() } else { format!("{prefix}/") };
    Ok(Place { bucket: bucket.to_owned(), prefix })
}

impl ToS3 {
    /// Takes the bodies that are too large and leaves pointers in their messages. All keys are unique, because each run has its
    /// own name.
    ///
    /// # Errors
    /// The attributes of such a message already point to a body in S3.
    pub(super) fn take(&self, given: &mut [Given], run: &str) -> anyhow::Result<Vec<Payload>> {
        let Some(Place { bucket, prefix }) = &self.payload_bucket else { return Ok(Vec::new()) };
        let threshold = self.payload_threshold.map_or(PayloadPointer::THRESHOLD, |bytes| bytes as usize);
        let mut payloads = Vec::new();
        for (index, Given { place, message, .. }) in given.iter_mut().enumerate() {
            if message.body.is_empty()
                || !PayloadPointer::is_due(&message.body, &message.attributes, threshold)
            {
                continue;
            }
            let reserved =
                PayloadPointer::ATTRIBUTES.into_iter().find(|name| message.attributes.contains_key(*name));
            if let Some(name) = reserved {
                bail!("{place}: the attribute {name} is given, which is that of bodies in S3");
            }
            let pointer =
                PayloadPointer { bucket: bucket.clone(), key: format!("{prefix}{run}-{}", index + 1) };
            message.attributes.extend([PayloadPointer::attribute(message.body.len())]);
            let body = std::mem::replace(&mut message.body, pointer.body());
            payloads.push(Payload { place: place.clone(), pointer, body });
        }
        Ok(payloads)
    }

    /// Formats the end of a line, such as `, 2 with their bodies in s3://payloads`.
    pub(super) fn describe(&self, stored: usize) -> String {
        match (&self.payload_bucket, stored) {
            (None, _) | (_, 0) => String::new(),
            (Some(Place { bucket, .. }), 1) => format!(", 1 with its body in s3://{bucket}"),
            (Some(Place { bucket, .. }), _) => format!(", {stored} with their bodies in s3://{bucket}"),
        }
    }
}

/// Stores all bodies before any message is sent.
///
/// # Errors
/// One could not be stored, or it is time to stop. Bodies that were stored remain.
pub(super) async fn store(aws: &Aws, payloads: Vec<Payload>, stop: &Stop) -> Result<(), Problem> {
    if payloads.is_empty() {
        return Ok(());
    }
    let (s3, length) = (aws.s3(), payloads.len() as u64);
    let bar = Progress::bar(length, "stored {pos} of {len}  [{bar:40}]  {eta} left");
    let (s3, bar) = (&s3, &bar);
    let put = |Payload { place, pointer, body }: Payload| async move {
        let call = s3.put_object().bucket(&pointer.bucket).key(&pointer.key);
        let call = call.content_type("text/plain; charset=UTF-8").body(ByteStream::from(body.into_bytes()));
        let stored = call.send().await.describe_error(&format!("store {pointer}"), "s3:PutObject");
        bar.advance(1);
        stored.map(drop).map_err(|error| anyhow!("{place}: {error:#}; no message was sent"))
    };
    let all = stream::iter(payloads).map(Ok).try_for_each_concurrent(AT_ONCE, put);
    let result = tokio::select! {
        result = all => result,
        () = stop.wanted() => Err(anyhow!("interrupted; no message was sent")),
    };
    result.map_err(|error| stop.or_failed(error))
}

#[cfg(test)]
mod tests {
    use redrive_sqs::{Attribute, Attributes};

    use super::*;
    use crate::messages::Address;
    use crate::sqs::NewMessage;

    fn given(body: &str, attribute: Option<&str>) -> Given {
        let attributes = attribute.map(|name| (name.to_owned(), Attribute::text("String", "x")));
        let attributes = attributes.into_iter().collect::<Attributes>();
        let message = NewMessage { body: body.to_owned(), attributes, ..NewMessage::default() };
        Given { place: "stdin: line 1".to_owned(), to: Address::Any, message }
    }

    fn to(bucket: &str, threshold: u32) -> ToS3 {
        ToS3 { payload_bucket: place(bucket).ok(), payload_threshold: Some(threshold) }
    }

    #[test]
    fn bodies_beyond_the_threshold_are_taken_and_pointers_are_left() {
        // The attribute takes 8 bytes.
        let mut messages = [given("12", Some("a")), given("123", Some("a")), given("1234567890", None)];
        let payloads = to("payloads/big", 10).take(&mut messages, "run").unwrap();
        assert_eq!(payloads.len(), 1);
        assert_eq!(
            (payloads[0].pointer.to_string().as_str(), payloads[0].body.as_str()),
            ("s3://payloads/big/run-2", "123")
        );
        let message = &messages[1].message;
        assert_eq!(
            PayloadPointer::find(&message.body, &message.attributes),
            Ok(Some(payloads[0].pointer.clone()))
        );
        assert_eq!(PayloadPointer::claimed_size(&message.attributes), Some(3));
        assert_eq!(messages[0].message.body, "12");
        assert_eq!(
            to("payloads", 0).take(&mut messages, "run").unwrap_err().to_string(),
            "stdin: line 1: the attribute ExtendedPayloadSize is given, which is that of bodies in S3"
        );
    }

    #[test]
    fn without_a_bucket_nothing_is_taken() {
        let none = ToS3 { payload_bucket: None, payload_threshold: None };
        assert!(none.take(&mut [given(&"x".repeat(300_000), None)], "run").unwrap().is_empty());
        assert!(place("A").is_err() && place("my_bucket").is_err());
    }
}
