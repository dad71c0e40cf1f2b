//! Workers as real processes, against the SQS of redrive-local or a proxy before it.

mod bulks;
mod ending;
mod exhausted;
mod groups;
mod leases;
mod outages;
mod proxy;
mod rolling;
mod running;
mod starting;
mod unread;

use std::collections::HashMap;

use redrive_local::{Config, Event, EventKind, Speed};

use crate::support::shop::{Open, shop};

/// The queue `orders` in real time, which hides messages for so many seconds, and its dead letters after ten receives.
fn queues(visibility: u64) -> Config {
    let mut config = Config { functions: vec![], mappings: vec![], speed: Speed::Times(1.0), ..shop(10) };
    config.queues[1].attributes.insert("VisibilityTimeout".to_owned(), visibility.to_string());
    config
}

async fn open(visibility: u64) -> Open {
    Open::start(queues(visibility)).await
}

/// Waits until so many messages of `orders` have been deleted.
async fn until_done(open: &mut Open, count: usize) {
    for _ in 0..count {
        open.until(|kind| matches!(kind, EventKind::Done { .. }).then_some(())).await;
    }
}

/// How often each message was received, and whether it was done.
fn lives(events: &[Event]) -> HashMap<&str, (u32, bool)> {
    let mut lives: HashMap<&str, (u32, bool)> = HashMap::new();
    for event in events {
        match &event.kind {
            EventKind::Received { message_id, attempt, .. } => {
                lives.entry(message_id).or_default().0 = *attempt;
            }
            EventKind::Done { message_id, .. } => lives.entry(message_id).or_default().1 = true,
            _ => {}
        }
    }
    lives
}
