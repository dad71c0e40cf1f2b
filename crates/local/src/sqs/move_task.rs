//! One message move task: its progress and its next move.
//!
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html>

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// Default rate in messages per second. AWS chooses it. This is the highest rate that a client may request.
const USUAL_RATE: u32 = 500;

/// A task that moves dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MoveTask {
    pub(crate) id: String,
    /// The name of the dead-letter queue.
    pub(crate) source: String,
    /// The destination. By default each message returns to its original queue.
    pub(crate) destination_arn: Option<String>,
    /// Messages per second, 1 to 500.
    pub(crate) rate: Option<u32>,
    pub(crate) started_at: SystemTime,
    pub(crate) status: Status,
    pub(crate) moved: u64,
    /// Number of messages that were visible at the start. The task moves no more than these, which is unverified.
    pub(crate) to_move: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    Running,
    Completed,
    /// The task ends when the next message would have moved. AWS was observed to move some more. How many is unverified.
    Cancelling,
    Cancelled,
    /// The task failed for this reason, which is a code.
    Failed(String),
}

impl MoveTask {
    pub(super) fn new(
        id: &str,
        source: &str,
        destination_arn: Option<String>,
        rate: Option<u32>,
        to_move: u64,
        started_at: SystemTime,
    ) -> Self {
        let (id, source) = (id.to_owned(), source.to_owned());
        Self { id, source, destination_arn, rate, started_at, status: Status::Running, moved: 0, to_move }
    }

    /// Returns the time at which the next message moves, until the task has ended.
    pub(super) fn due(&self) -> Option<SystemTime> {
        let rate = self.rate.unwrap_or(USUAL_RATE);
        let nanoseconds = (self.moved + 1).saturating_mul(1_000_000_000) / u64::from(rate);
        self.is_active().then(|| self.started_at + Duration::from_nanos(nanoseconds))
    }

    pub(super) fn is_active(&self) -> bool {
        match self.status {
            Status::Running | Status::Cancelling => true,
            Status::Completed | Status::Cancelled | Status::Failed(_) => false,
        }
    }

    /// Continues after a move was due. `moved` is false if there was no message, or the reason why the move failed.
    pub(super) fn step(&mut self, moved: Result<bool, String>) {
        self.status = match moved {
            _ if self.status == Status::Cancelling => Status::Cancelled,
            Ok(true) => {
                self.moved += 1;
                if self.moved < self.to_move { Status::Running } else { Status::Completed }
            }
            Ok(false) => Status::Completed,
            Err(reason) => Status::Failed(reason),
        };
    }
}

impl Status {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Cancelling => "CANCELLING",
            Self::Cancelled => "CANCELLED",
            Self::Failed(_) => "FAILED",
        }
    }
}
