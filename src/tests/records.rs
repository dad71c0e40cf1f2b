//! Records of one queue, with given limits.

#[cfg(test)]
use aws_lambda_events::sqs::SqsEvent;
use bytes::Bytes;

use crate::error::Error;
use crate::message::record::BatchContext;
use crate::message::records::{Received, Records};

impl Records {
    /// Reads the records of the first queue of an event, with these limits.
    pub(crate) fn read(payload: Bytes, context: &BatchContext) -> Result<Self, Error> {
        Self::by_queue(Received::Payload(payload), |_| Ok(context.clone())).map(|(records, _)| records)
    }

    #[cfg(test)]
    pub(crate) fn of(event: SqsEvent, context: &BatchContext) -> Result<Self, Error> {
        Self::by_queue(Received::Event(event), |_| Ok(context.clone())).map(|(records, _)| records)
    }
}
