//! A function whose hook follows the instruction in the body of its message, for tests/it/hooks_in_turn.rs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Mutex;
use std::thread::park;
use std::time::Instant;

use redrive::hook::{Delivery, Hook, Next};
use redrive::{Consumer, Failure, MessageReport, Text};

fn for_ever() -> ! {
    loop {
        park();
    }
}

/// What the last batch asked of its end.
#[derive(Default)]
struct Obeys(Mutex<String>);

impl Hook for Obeys {
    async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        let body = delivery.records()[0].body();
        body.clone_into(&mut self.0.lock().unwrap());
        match body {
            "around:panic" => panic!("a hook's bug"),
            "around:block" => for_ever(),
            _ => next.await,
        }
    }

    fn settled(&self, _: &MessageReport) {
        let end = self.0.lock().unwrap().clone();
        match end.as_str() {
            "settled:panic" => panic!("a hook's bug"),
            "settled:block" => for_ever(),
            _ => {}
        }
    }

    async fn flush(&self, _: Instant) {
        let end = self.0.lock().unwrap().clone();
        match end.as_str() {
            "flush:log" => tracing::info!("flushing"),
            "flush:panic" => panic!("a hook's bug"),
            "flush:block" => for_ever(),
            "flush:hang" => std::future::pending().await,
            _ => {}
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    Consumer::new(|_: Text| async { Ok::<_, Failure>(()) }).hook(Obeys::default()).run().await
}
