//! A handler that blocks its thread, which no handler should do. Use `tokio::task::spawn_blocking` instead.
//!
//! ```sh
//! redrive local --example blocking --send examples/blocking.jsonl --speed max --until-idle
//! ```
//!
//! All three messages are done, because they block only for a moment.
//!
//! `redrive::run` replaces a blocked thread within 40 ms, so that the other messages and the answer do not wait for it. A message
//! that still blocks at the deadline has failed. The others keep their success.

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
