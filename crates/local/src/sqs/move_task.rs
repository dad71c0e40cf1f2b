//! One message move task: what it has done, and when it goes on.
//!
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html>

use std::time::{Duration, SystemTime};

/// Messages a second unless the task says so. AWS chooses; this is the most that anybody may ask for.
const USUAL_RATE: u32 = 500;

/// A task that moves dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MoveTask {
    pub(crate) id: String,
    /// The name of the dead-letter queue.
    pub(crate) source: String,
    /// Every message's own original queue if absent.
    pub(crate) destination_arn: Option<String>,
    /// Messages a second, 1 to 500.
    pub(crate) rate: Option<u32>,
    pub(crate) started_at: SystemTime,
    pub(crate) status: Status,
    pub(crate) moved: u64,
    /// The messages that were visible at the start. It moves no more than these, which is unverified.
    pub(crate) to_move: u64,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Running,
    Completed,
    /// Until the next message would have moved. AWS was seen to move some more; how many is unverified.
    Cancelling,
    Cancelled,
    /// With the reason, which is a code.
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

    /// When the next message moves, as long as it has not ended.
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

    /// Goes on after it was due: `moved` is whether there was a message to move, or why that failed.
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
