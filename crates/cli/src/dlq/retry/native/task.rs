//! A move task as AWS describes it. Pure.

use std::time::{Duration, SystemTime};

use aws_sdk_sqs::types::ListMessageMoveTasksResultEntry;
use redrive_sqs::queue_name;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// Its handle, only while it runs.
    pub(super) handle: Option<String>,
    pub(super) status: Status,
    pub(super) moved: u64,
    pub(super) to_move: Option<u64>,
    destination: Option<String>,
    reason: Option<String>,
    started: SystemTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Running,
    Completed,
    Cancelling,
    Cancelled,
    Failed,
}

impl Status {
    /// Takes an unknown status for an end, so that nobody waits for it forever.
    fn new(text: &str) -> Self {
        match text {
            "RUNNING" => Self::Running,
            "COMPLETED" => Self::Completed,
            "CANCELLING" => Self::Cancelling,
            "CANCELLED" => Self::Cancelled,
            _ => Self::Failed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "canceled",
            Self::Failed => "failed",
        }
    }

    pub(super) fn is_over(self) -> bool {
        match self {
            Self::Running | Self::Cancelling => false,
            Self::Completed | Self::Cancelled | Self::Failed => true,
        }
    }
}

impl Task {
    pub(super) fn new(entry: ListMessageMoveTasksResultEntry) -> Self {
        let count = |count: i64| u64::try_from(count).unwrap_or_default();
        let started = Duration::from_millis(count(entry.started_timestamp));
        Self {
            status: Status::new(entry.status.as_deref().unwrap_or_default()),
            moved: count(entry.approximate_number_of_messages_moved),
            to_move: entry.approximate_number_of_messages_to_move.map(count),
            handle: entry.task_handle,
            destination: entry.destination_arn,
            reason: entry.failure_reason,
            started: SystemTime::UNIX_EPOCH + started,
        }
    }

    pub(super) fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or("AWS reports no reason")
    }

    pub(super) fn sentence(&self, from: &str, to: &str) -> String {
        format!("{} moved from {from} to {to}", self.count())
    }

    /// Formats the task for the list.
    pub(super) fn line(&self) -> String {
        let to = self.destination.as_deref().map(queue_name);
        let reason = self.reason.as_deref().map(|reason| format!("  {reason}")).unwrap_or_default();
        format!(
            "{}  {:<10}  {} moved to {}{reason}",
            humantime::format_rfc3339_seconds(self.started),
            self.status.name(),
            self.count(),
            to.unwrap_or("the source queue of each letter"),
        )
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "status": self.status.name(),
            "moved": self.moved,
            "to_move": self.to_move,
            "destination": self.destination,
            "reason": self.reason,
            "started_at": humantime::format_rfc3339_millis(self.started).to_string(),
        })
    }

    fn count(&self) -> String {
        match self.to_move {
            Some(to_move) => format!("{} of {to_move}", self.moved),
            None => self.moved.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_a_line_with_its_reason() {
        let entry = ListMessageMoveTasksResultEntry::builder()
            .status("FAILED")
            .destination_arn("arn:aws:sqs:eu-west-1:123456789012:orders")
            .approximate_number_of_messages_moved(2)
            .approximate_number_of_messages_to_move(7)
            .failure_reason("AWS.SimpleQueueService.NonExistentQueue")
            .started_timestamp(1_700_000_000_000);
        let task = Task::new(entry.build());
        assert_eq!(
            task.line(),
            "2023-11-14T22:13:20Z  failed      2 of 7 moved to orders  AWS.SimpleQueueService.NonExistentQueue"
        );
        assert!(task.status.is_over());
    }

    #[test]
    fn only_what_may_still_move_is_not_over() {
        let over = ["RUNNING", "CANCELLING", "COMPLETED", "CANCELLED", "FAILED", "NEW"]
            .map(|status| Status::new(status).is_over());
        assert_eq!(over, [false, false, true, true, true, true]);
    }
}
