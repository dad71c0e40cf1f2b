//! Checks of the store with the table `REDRIVE_IDEMPOTENCY_TABLE` of an emulator, which `dev/emulators` makes.
//!
//! Usage: once_checks model | crowd | rate | claim ID | handle ID…
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod model;
mod crowd;
mod payments;
mod rate;

use std::time::Duration;

use redrive::once::{Claim, Store};
use redrive_dynamodb::aws_sdk_dynamodb::Client;
use redrive_dynamodb::aws_sdk_dynamodb::config::{retry::RetryConfig, timeout::TimeoutConfig};
use redrive_dynamodb::{DynamoDb, client};
use tokio::runtime::Runtime;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let runtime = Runtime::new().unwrap();
    let store = DynamoDb::from_env(runtime.block_on(patient())).unwrap();
    match arguments[..] {
        ["model"] => model::check(&runtime, &store),
        ["crowd"] => runtime.block_on(crowd::check(store)),
        ["rate"] => runtime.block_on(rate::check(&store)),
        ["claim", id] => {
            let claim = Claim::new(payments::key(id), "of a process that has died");
            println!("{:?}", runtime.block_on(store.prefix(payments::PREFIX).claim(&claim)).unwrap());
        }
        ["handle", ref ids @ ..] => println!("{}", runtime.block_on(payments::handle(store, ids))),
        _ => panic!("usage: once_checks model | crowd | rate | claim ID | handle ID…"),
    }
}

/// Returns a client that waits for an emulator on a busy machine. It makes no call twice, because a release is confirmed only once.
async fn patient() -> Client {
    let timeouts = TimeoutConfig::builder().operation_timeout(Duration::from_secs(60)).build();
    let config = client().await.config().to_builder().retry_config(RetryConfig::disabled());
    Client::from_conf(config.timeout_config(timeouts).build())
}
