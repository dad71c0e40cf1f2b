//! SQS and CloudWatch on a port of 127.0.0.1, with no queue and no function yet:
//!
//! ```text
//! cargo run --locked -p redrive-local --example serve [PORT]
//! ```
//!
//! Prints the endpoint's URL, and ends when its standard input does.

use std::error::Error;
use std::io::Read;

use redrive_local::{Config, Local};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse())?;
    let mut local = Local::start(Config {
        region: "eu-west-1".into(),
        account: "123456789012".into(),
        port,
        ..Config::default()
    })
    .await?;
    // Nobody listens, so nothing is kept for anybody.
    drop(local.take_events());
    println!("{}", local.endpoint_url());
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    local.stop().await;
    Ok(())
}
