//! The properties of a record that the engine reads.

use std::time::{Duration, UNIX_EPOCH};

use redrive_sqs::Attributes;

use redrive_engine::decide::Policy;
use redrive_engine::{MessageMeta, MessageOverrides};

use crate::message::record::Record;
use crate::message::record_fn::{RecordFn, named};

/// A record of a batch of Lambda's, and the user's function that names what it depends on.
#[derive(Clone, Copy)]
pub(crate) struct Known<'r> {
    pub(crate) record: &'r Record<'r>,
    pub(crate) depends_on: Option<&'r RecordFn<Vec<String>>>,
    /// How far the clock of `redrive local` is ahead of that of the record's timestamps, which is the function's.
    pub(crate) ahead: Duration,
}

impl MessageMeta for Known<'_> {
    fn id(&self) -> &str {
        self.record.id()
    }

    fn attempt(&self) -> u32 {
        self.record.attempt()
    }

    fn group(&self) -> Option<&str> {
        self.record.group()
    }

    fn overrides(&self, policy: &Policy<'_>) -> Option<(MessageOverrides, Vec<String>)> {
        self.record.has_attributes().then(|| asked(&self.record.attributes(), policy))
    }

    fn first_received(&self) -> Option<Duration> {
        Some(self.record.first_received_at()?.duration_since(UNIX_EPOCH).ok()? + self.ahead)
    }

    fn dependencies(&self) -> Vec<String> {
        self.depends_on.map(|names| named(names, self.record)).unwrap_or_default()
    }

    /// A function has no rates.
    fn rate_key(&self) -> Option<String> {
        None
    }
}

/// Reads the overrides of a message. Also returns a warning for each that cannot be read.
pub(crate) fn asked(attributes: &Attributes, policy: &Policy<'_>) -> (MessageOverrides, Vec<String>) {
    MessageOverrides::read(attributes, policy.backoff, policy.max_receive_count)
}
