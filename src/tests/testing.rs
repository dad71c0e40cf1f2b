//! Records for the tests of pure code.

use std::time::Instant;

use crate::message::invocation::Invocation;
use crate::message::record::{BatchContext, Record};
use redrive_engine::Overrides;
use redrive_event::{Borrowed, Entry, System};

/// The properties of a record that a test sets. The rest is as usual.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) id: Option<&'static str>,
    pub(crate) attempt: u32,
    pub(crate) group: Option<&'static str>,
    pub(crate) fifo: bool,
    pub(crate) body: &'static str,
    /// Milliseconds since the epoch.
    pub(crate) sent: Option<&'static str>,
}

impl Default for Sample {
    fn default() -> Self {
        Self { id: None, attempt: 1, group: None, fifo: false, body: "{}", sent: None }
    }
}

impl BatchContext {
    pub(crate) fn for_tests() -> Self {
        let overrides = Overrides::default();
        Self {
            max_receive_count: None,
            has_dead_letter_queue: false,
            overrides,
            origin_senders: None,
            deadline: Instant::now(),
            invocation: Invocation::default(),
        }
    }
}

impl Sample {
    pub(crate) fn record(&self, at: usize) -> Record<'static> {
        let text = |text: String| Some(Borrowed(text.into()));
        let name = if self.fifo { "orders.fifo" } else { "orders" };
        let entry = Entry {
            message_id: text(self.id.map_or_else(|| format!("id-{at}"), str::to_owned)),
            receipt_handle: text(format!("handle-{at}")),
            body: text(self.body.to_owned()),
            source: text(format!("arn:aws:sqs:eu-central-1:123456789012:{name}")),
            attributes: Some(System {
                approximate_receive_count: text(self.attempt.to_string()),
                message_group_id: self.group.map(Borrowed::from),
                sent_timestamp: self.sent.map(Borrowed::from),
                ..System::default()
            }),
            message_attributes: None,
            event_source: None,
        };
        Record::new(entry, &BatchContext::for_tests()).unwrap()
    }
}
