//! The least that a worker can do with the AWS SDK, for `make bench ONLY=worker`: pollers that receive ten messages, handle them and
//! delete them. It has no leases, retries, metrics or drain.
#![allow(clippy::disallowed_methods, reason = "its settings come from the environment")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_config::BehaviorVersion;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use consumer::times::{Times, number};
use futures_util::future::try_join_all;

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let http =
        aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await;
    let (sqs, queue_url) = (Client::new(&config), std::env::var("QUEUE_URL")?);
    let (times, wait) = (Arc::new(Times::from_env()?), Duration::from_millis(number("HANDLER_MS")?));
    let pollers = (0..number("CONCURRENCY")? / 10)
        .map(|_| tokio::spawn(poll(sqs.clone(), queue_url.clone(), wait, Arc::clone(&times))));
    for ended in try_join_all(pollers).await? {
        ended?;
    }
    Ok(())
}

async fn poll(sqs: Client, queue_url: String, wait: Duration, times: Arc<Times>) -> Result<(), AnyError> {
    loop {
        let received = sqs
            .receive_message()
            .queue_url(&queue_url)
            .max_number_of_messages(10)
            .wait_time_seconds(20)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp)
            .send()
            .await?;
        let messages = received.messages.unwrap_or_default();
        if messages.is_empty() {
            continue;
        }
        let handlers =
            messages.into_iter().map(|message| tokio::spawn(handle(message, wait, Arc::clone(&times))));
        let entries = try_join_all(handlers).await?.into_iter().collect::<Result<Vec<_>, _>>()?;
        let deleted =
            sqs.delete_message_batch().queue_url(&queue_url).set_entries(Some(entries)).send().await?;
        if !deleted.failed.is_empty() {
            return Err(format!("{:?}", deleted.failed).into());
        }
    }
}

async fn handle(
    message: Message,
    wait: Duration,
    times: Arc<Times>,
) -> Result<DeleteMessageBatchRequestEntry, AnyError> {
    let order = serde_json::from_str(message.body().ok_or("it has no body")?)?;
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    consumer::take(order).await.map_err(|failure| failure.to_string())?;
    let sent = message.attributes().and_then(|all| all.get(&MessageSystemAttributeName::SentTimestamp));
    let sent = Duration::from_millis(sent.ok_or("it has no SentTimestamp")?.parse()?);
    times.count(SystemTime::UNIX_EPOCH + sent);
    let entry = DeleteMessageBatchRequestEntry::builder()
        .set_id(message.message_id)
        .set_receipt_handle(message.receipt_handle);
    Ok(entry.build()?)
}
