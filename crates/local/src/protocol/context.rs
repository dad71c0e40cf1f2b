//! The context of an operation.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::field::{Stamp, Time};
use super::{AwsError, Call};
use crate::clock::ClientClock;

/// A request with everything that its operation can read or change.
#[derive(Debug)]
pub(crate) struct RequestContext<'a, S> {
    pub(crate) service: &'a mut S,
    pub(crate) call: &'a Call<'a>,
    pub(crate) now: SystemTime,
    pub(crate) clock: ClientClock,
    /// Set by an empty receive that may wait.
    pub(crate) wait: Option<Wait>,
}

/// The wait of a receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Name of the queue.
    pub(crate) queue: String,
    /// Longest duration of the wait.
    pub(crate) longest: Duration,
    /// Time at which a message may become receivable by itself.
    pub(crate) receivable: Option<SystemTime>,
}

/// An output in the format of the request.
pub(crate) type Answer = Result<Bytes, AwsError>;

impl<S> RequestContext<'_, S> {
    pub(crate) fn input<T: DeserializeOwned>(&self) -> Result<T, AwsError> {
        self.call.input()
    }

    pub(crate) fn output(&self, output: &impl Serialize) -> Answer {
        Ok(self.call.format.output(&self.call.operation, output))
    }

    /// Returns the answer of an operation without output.
    pub(crate) fn nothing(&self) -> Answer {
        Ok(self.call.format.nothing())
    }

    pub(crate) fn simulated(&self, time: Time) -> SystemTime {
        self.clock.to_simulated(time.0)
    }

    pub(crate) fn stamp(&self, at: SystemTime) -> Stamp {
        Stamp(self.clock.to_client(at))
    }
}
