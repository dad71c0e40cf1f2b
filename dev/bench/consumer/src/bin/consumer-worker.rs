//! The worker that `make bench ONLY=worker` measures. Its handlers wait as long as the environment says, and it prints how long
//! the messages took.
#![allow(clippy::disallowed_methods, reason = "it measures, and is told by its environment what to do")]

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use consumer::Order;
use redrive::{Consumer, Failure, Handler, Message};

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let queue_url = env::var("QUEUE_URL")?;
    let wait = Duration::from_millis(number("HANDLER_MS")?);
    let times = Times { warm_up: number("WARM_UP")?, messages: number("MESSAGES")?, taken: Mutex::default() };
    Ok(Consumer::new(Waiting { wait, times }).work(queue_url).await?)
}

fn number(variable: &str) -> Result<u64, AnyError> {
    Ok(env::var(variable)?.parse()?)
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

/// Counts messages by the milliseconds from their sending until they were handled.
struct Times {
    warm_up: u64,
    messages: u64,
    taken: Mutex<(u64, BTreeMap<u128, u64>)>,
}

impl Times {
    fn count(&self, sent_at: SystemTime) {
        let milliseconds = sent_at.elapsed().unwrap_or_default().as_millis();
        let mut taken = self.taken.lock().expect("nothing panics while it counts");
        let (handled, taken) = &mut *taken;
        *handled += 1;
        if *handled > self.warm_up {
            *taken.entry(milliseconds).or_default() += 1;
        }
        if *handled == self.messages {
            let taken: Vec<_> =
                taken.iter().map(|(taken, messages)| format!("[{taken},{messages}]")).collect();
            println!("[{}]", taken.join(","));
        }
    }
}
