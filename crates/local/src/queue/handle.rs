//! Receipt handles: opaque to clients, and enough for the queue to find the message and the receive.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};

use super::error;
use crate::protocol::AwsError;

/// One receive of one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Handle {
    /// The message's number in its queue.
    pub(super) number: u64,
    /// The message id, because the numbers of a queue that is deleted and created again start from zero.
    pub(super) message_id: String,
    /// The receive count of that receive.
    pub(super) receive: u32,
}

impl Handle {
    pub(super) fn write(&self, queue: &str) -> String {
        BASE64_STANDARD.encode(format!("{queue} {} {} {}", self.number, self.message_id, self.receive))
    }

    /// Reads a handle that [`write`](Self::write) wrote for the same queue.
    pub(super) fn read(text: &str, queue: &str) -> Result<Self, AwsError> {
        Self::parse(text, queue).ok_or_else(|| {
            let message = format!("The input receipt handle \"{text}\" is not a valid receipt handle.");
            error::RECEIPT_HANDLE_IS_INVALID.error(message)
        })
    }

    fn parse(text: &str, queue: &str) -> Option<Self> {
        let plain = String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()?;
        let mut words = plain.split(' ');
        if words.next()? != queue {
            return None;
        }
        let number = words.next()?.parse().ok()?;
        let message_id = words.next()?.to_owned();
        let receive = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Self { number, message_id, receive })
    }
}
