//! A ledger on a FIFO queue: it books the entries of an account in order, and accounts in parallel.
//!
//! ```sh
//! redrive local --example ledger --parameter Fifo=true --send examples/ledger.jsonl --speed max --until-idle
//! ```
//!
//! Ada's account is locked for one attempt, so her second entry waits behind the first. Bob's are booked meanwhile. Eve takes out
//! more than allowed: that entry is dead-lettered as `over-limit`, and her next one is booked.

use redrive::{Failure, Message};
use serde::Deserialize;

/// The most that may be taken out at once.
const LIMIT_CENTS: i64 = 500;

/// The group of the message is the account.
#[derive(Deserialize)]
struct Entry {
    cents: i64,
    /// Attempts for which someone else has locked the account.
    #[serde(default)]
    locked_for: u32,
}

async fn book(entry: Message<Entry>) -> Result<(), Failure> {
    let Some(account) = &entry.group else {
        return Err(
            Failure::reject("an entry without an account: is this a FIFO queue?").with_reason("no-account")
        );
    };
    let cents = entry.body.cents;
    if cents < -LIMIT_CENTS {
        return Err(Failure::reject(format!("{cents} cents at once")).with_reason("over-limit"));
    }
    if entry.attempt <= entry.body.locked_for {
        return Err(format!("the account {account} is locked").into());
    }
    // No other entry of this account is in flight. Your own ledger writes the entry and the balance in one transaction, with the
    // key of the message, so that a second delivery changes nothing.
    tracing::info!(account, cents, key = entry.key(), "booked");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(book).await
}
