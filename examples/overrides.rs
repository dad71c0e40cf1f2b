//! Messages whose attributes, set by their sender, say how often and how soon they are retried.
//!
//! ```sh
//! redrive local --example overrides --send examples/overrides.jsonl --speed max --until-idle
//! ```
//!
//! Every call fails here, so the attributes decide: `redrive.backoff` retries the reminder each minute, and it is done on attempt
//! 3. `redrive.max-attempts` gives the one-time password 2 attempts, and it is dead-lettered as `exhausted`. The report sets
//! nothing, and is done after the function's own 10 s. The consumer limits the delay.

use std::time::Duration;

use redrive::{Backoff, BoxError, Consumer, Failure, Message, Overrides};
use serde::Deserialize;

#[derive(Deserialize)]
struct Mail {
    to: String,
    /// Attempts for which the mail server is down.
    down_for: u32,
}

async fn send(mail: Message<Mail>) -> Result<(), Failure> {
    let Mail { to, down_for } = &mail.body;
    if mail.attempt <= *down_for {
        if mail.is_last_attempt() {
            tracing::warn!(to, "nobody will try again");
        }
        return Err("the mail server is down".into());
    }
    tracing::info!(to, attempt = mail.attempt, "sent");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let backoff = Backoff::fixed(Duration::from_secs(10))?;
    let at_most = Overrides::UpTo(Duration::from_secs(300));
    Ok(Consumer::new(send).backoff(backoff).overrides(at_most).run().await?)
}
