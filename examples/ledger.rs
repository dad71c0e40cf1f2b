//! A ledger on a FIFO queue: entries of an account in their order, those of other accounts beside them.
//!
//! ```sh
//! redrive local --example ledger --parameter Fifo=true --send examples/ledger.jsonl --speed max --until-idle
//! ```
//!
//! Ada's account is locked for one attempt, so her second entry waits behind the first; Bob's are booked meanwhile. Eve
//! takes out more than anybody may: that entry is dead-lettered as `over-limit`, and her next one is booked.

use redrive::{Failure, Message};
use serde::Deserialize;

/// The most that may be taken out at once.
const LIMIT_CENTS: i64 = 500;

/// The group of the message is the account.
#[derive(Deserialize)]
struct Entry {
    cents: i64,
    /// Attempts for which somebody else holds the account.
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
    // No other entry of this account is in work now. A ledger of yours writes entry and balance in one transaction, with
    // the key of the message, which makes a second delivery change nothing.
    tracing::info!(account, cents, key = entry.key(), "booked");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(book).await
}
