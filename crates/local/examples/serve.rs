//! Serves SQS and CloudWatch on a port of 127.0.0.1, at first without queues and functions:
//!
//! ```text
//! cargo run --locked -p redrive-local --example serve [PORT]
//! ```
//!
//! Prints the endpoint's URL. For each line on standard input, prints a line of JSON with the counts so far
//! ([`Totals`](redrive_local::Totals)). Ends when standard input ends.

use std::error::Error;
use std::io::{self, BufRead};

use redrive_local::{Config, Local};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).map_or(Ok(0), |port| port.parse())?;
    let mut local = Local::start(Config {
        region: "eu-west-1".into(),
        account: "123456789012".into(),
        listen: ([127, 0, 0, 1], port).into(),
        ..Config::default()
    })
    .await?;
    // Nobody reads the events, so the process does not keep them.
    drop(local.take_events());
    println!("{}", local.endpoint_url());
    // Reads standard input on the main thread, which does not serve requests.
    for line in io::stdin().lock().lines() {
        line?;
        println!("{}", serde_json::to_string(&local.totals())?);
    }
    local.stop().await;
    Ok(())
}
