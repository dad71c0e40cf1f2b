//! A handler that blocks its thread, which none should: `tokio::task::spawn_blocking` is for that.
//!
//! ```sh
//! redrive local --example blocking --send examples/blocking.jsonl --speed max --until-idle
//! ```
//!
//! All three messages are done, since they block for a moment only.
//!
//! With `redrive::run` a blocked thread is replaced within 40 ms, so that the other messages and the answer do not wait for
//! it. A message that still blocks when time is up has failed; the others keep their success.

use std::time::Duration;

use redrive::Failure;

/// A message is a number of milliseconds.
async fn block(milliseconds: u64) -> Result<(), Failure> {
    std::thread::sleep(Duration::from_millis(milliseconds));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(block).await
}
