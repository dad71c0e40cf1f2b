//! Hooks that log how long each message takes, find its tenant, and limit the rate.
//!
//! ```sh
//! redrive local --example hooks --send examples/hooks.jsonl --speed max --until-idle --show-output
//! ```
//!
//! Two messages are done, one of them on attempt 2, and one is dead-lettered as `no-tenant`. The function logs how long each
//! delivery took.
#![allow(clippy::disallowed_methods, reason = "it reads the clock")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redrive::hook::{Delivery, Hook, Next};
use redrive::{Attribute, Consumer, Failure, Message, MessageReport, Record};
use tokio::time::{Instant, sleep_until};

tokio::task_local! {
    static TENANT: String;
}

/// Logs how long the hooks inside it and the handler took.
struct Timing;

impl Hook for Timing {
    async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        let began = Instant::now();
        let result = next.await;
        tracing::info!(message_id = delivery.record().map(Record::id), took = ?began.elapsed(), "timed");
        result
    }
}

/// Puts the attribute `tenant` into a task-local, for all code that the handler calls.
struct Tenants;

impl Hook for Tenants {
    async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        let attributes = delivery.record().map(Record::attributes).unwrap_or_default();
        let Some(tenant) = attributes.get("tenant").and_then(Attribute::as_str) else {
            return Err(Failure::reject("the attribute tenant is missing").with_reason("no-tenant"));
        };
        TENANT.scope(tenant.to_owned(), next).await
    }
}

/// Starts handlers at least this far apart, in one process.
struct RateLimit {
    every: Duration,
    free: Mutex<Instant>,
}

impl RateLimit {
    fn per_second(count: u32) -> Self {
        Self { every: Duration::from_secs(1) / count, free: Mutex::new(Instant::now()) }
    }

    fn turn(&self) -> Instant {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = Instant::now().max(*free);
        *free = turn + self.every;
        turn
    }
}

impl Hook for RateLimit {
    async fn around<'a>(&'a self, _: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        // The wait uses up the time of the message, which is retried if the batch ends first.
        sleep_until(self.turn()).await;
        next.await
    }
}

async fn send(attempts: Message<u32>) -> Result<(), Failure> {
    if attempts.attempt <= attempts.body {
        let tenant = TENANT.with(Clone::clone);
        return Err(format!("the mailbox of {tenant} is full").into());
    }
    Ok(())
}

/// Logs the outcome of each message, which is known after its hooks have returned.
fn log_outcome(message: &MessageReport) {
    let reason = message.reason.as_deref().unwrap_or_default();
    tracing::info!(message_id = message.id, outcome = message.outcome.as_str(), reason, "told");
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    Consumer::new(send)
        .hook(Timing)
        .hook(Tenants)
        .hook(RateLimit::per_second(50))
        .observe(log_outcome)
        .run()
        .await
}
