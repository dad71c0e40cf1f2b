//! What the engine asks of a record.

use redrive_sqs::Attributes;
use tracing::warn;

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

    fn asked(&self, policy: &Policy<'_>) -> Option<Asked> {
        if !self.has_attributes() {
            return None;
        }
        Some(asked(Record::id(self), &self.attributes(), policy))
    }
}

/// Reads what a message asks for, and warns of what cannot be read.
pub(crate) fn asked(id: &str, attributes: &Attributes, policy: &Policy<'_>) -> Asked {
    let (asked, warnings) = Asked::read(attributes, policy.backoff, policy.max_receive_count);
    for warning in warnings {
        warn!(message_id = id, warning, "an attribute of the message was ignored");
    }
    asked
}
