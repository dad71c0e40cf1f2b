//! The worker that `make bench ONLY=worker` measures. Its handlers wait as long as the environment says, and it prints how long
//! the messages took.
#![allow(clippy::disallowed_methods, reason = "its settings come from the environment")]

use std::env;
use std::error::Error;
use std::time::Duration;

use consumer::Order;
use consumer::times::{Times, number};
use redrive::{Consumer, Failure, Handler, Message};

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let queue_url = env::var("QUEUE_URL")?;
    let wait = Duration::from_millis(number("HANDLER_MS")?);
    let times = Times::from_env()?;
    Ok(Consumer::new(Waiting { wait, times }).work(queue_url).await?)
}

struct Waiting {
    wait: Duration,
    times: Times,
}

impl Handler<Message<Order>> for Waiting {
    type Error = Failure;

    async fn call(&self, message: Message<Order>) -> Result<(), Failure> {
        if !self.wait.is_zero() {
            tokio::time::sleep(self.wait).await;
        }
        consumer::take(message.body).await?;
        self.times.count(message.sent_at.ok_or("it has no SentTimestamp")?);
        Ok(())
    }
}
