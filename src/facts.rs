//! The properties of a record that the engine reads.

use std::time::{Duration, UNIX_EPOCH};

use redrive_sqs::Attributes;

use crate::engine::Facts;
use crate::engine::decide::Policy;
use crate::overrides::Asked;
use crate::record::Record;

impl Facts for Record<'_> {
    fn id(&self) -> &str {
        Record::id(self)
    }

    fn attempt(&self) -> u32 {
        Record::attempt(self)
    }

    fn group(&self) -> Option<&str> {
        Record::group(self)
    }

    fn asked(&self, policy: &Policy<'_>) -> Option<(Asked, Vec<String>)> {
        self.has_attributes().then(|| asked(&self.attributes(), policy))
    }

    fn first_received(&self) -> Option<Duration> {
        self.first_received_at()?.duration_since(UNIX_EPOCH).ok()
    }

    fn dependencies(&self, policy: &Policy<'_>) -> Vec<String> {
        policy.depends_on.map(|names| names.of(self)).unwrap_or_default()
    }

    fn rate_key(&self, policy: &Policy<'_>) -> Option<String> {
        policy.rate_by?.of(self)
    }
}

/// Reads the overrides of a message. Also returns a warning for each that cannot be read.
pub(crate) fn asked(attributes: &Attributes, policy: &Policy<'_>) -> (Asked, Vec<String>) {
    Asked::read(attributes, policy.backoff, policy.max_receive_count)
}
