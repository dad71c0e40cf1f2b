//! SQS and CloudWatch on a port of 127.0.0.1, with no queue and no function yet:
//!
//! ```text
//! cargo run --locked -p redrive-local --example serve [PORT]
//! ```
//!
//! Prints the endpoint's URL, for each line on its standard input a line of JSON with all that was counted so far
//! ([`Totals`](redrive_local::Totals)), and ends when its standard input does.

use std::error::Error;
use std::io::{self, BufRead};

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
    // On the main thread, which serves nothing.
    for line in io::stdin().lock().lines() {
        line?;
        println!("{}", serde_json::to_string(&local.totals())?);
    }
    local.stop().await;
    Ok(())
}
