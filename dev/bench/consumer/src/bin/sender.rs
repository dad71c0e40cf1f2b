//! Sends messages with redrive, or with the least that the AWS SDK allows, for `make bench ONLY=sending`.
#![allow(clippy::disallowed_methods, reason = "its settings come from the environment")]

use std::error::Error;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt};
use redrive_send::{NewMessage, Sender};

type AnyError = Box<dyn Error + Send + Sync>;

/// The number of calls at a time, as in redrive's default.
const CALLS: usize = 8;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (sqs, url, body) =
        (redrive_send::client().await, std::env::var("QUEUE_URL")?, std::env::var("BODY")?);
    let messages: usize = std::env::var("MESSAGES")?.parse()?;
    match std::env::args().nth(1).as_deref() {
        Some("redrive") => with_redrive(sqs, url, body, messages).await,
        Some("least") => with_the_least(&sqs, &url, &body, messages).await,
        _ => Err("which? redrive or least".into()),
    }
}

async fn with_redrive(sqs: Client, url: String, body: String, messages: usize) -> Result<(), AnyError> {
    let sender = Sender::new(sqs, url);
    let bodies = stream::iter((0..messages).map(|_| NewMessage::text(&*body)));
    let mut results = std::pin::pin!(sender.send_stream(bodies));
    while let Some(result) = results.next().await {
        result?;
    }
    Ok(())
}

async fn with_the_least(sqs: &Client, url: &str, body: &str, messages: usize) -> Result<(), AnyError> {
    let send = async |calls: usize| {
        for _ in 0..calls {
            let entry = |id: usize| {
                SendMessageBatchRequestEntry::builder().id(id.to_string()).message_body(body).build()
            };
            let entries = (0..10).map(entry).collect::<Result<_, _>>()?;
            let sent = sqs.send_message_batch().queue_url(url).set_entries(Some(entries)).send().await?;
            if !sent.failed.is_empty() {
                return Err(format!("{:?}", sent.failed).into());
            }
        }
        Ok::<_, AnyError>(())
    };
    try_join_all((0..CALLS).map(|_| send(messages / CALLS / 10))).await.map(drop)
}
