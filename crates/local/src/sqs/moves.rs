//! Message move tasks, which move dead letters back. They continue whenever the queues are read, with each message at its own
//! moment.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::move_task::{MoveTask, Status};
use super::{QueueEvent, Sqs};
use crate::protocol::AwsError;
use crate::queue::error;

/// Most tasks of a queue that are listed.
const MOST_LISTED: usize = 10;

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
const MOST_ACTIVE: usize = 100;

/// The failure for a letter that no redrive policy moved to the queue.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/troubleshooting-dlq-redrive.html>
const NO_SOURCE: &str = "CouldNotDetermineMessageSource";

/// The active tasks, and the latest ended ones.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MoveTasks {
    active: Vec<MoveTask>,
    /// Ended tasks by source queue, the newest first.
    ended: BTreeMap<String, VecDeque<MoveTask>>,
}

impl MoveTasks {
    pub(super) fn due(&self) -> Option<SystemTime> {
        self.active.iter().filter_map(MoveTask::due).min()
    }

    /// Drops the tasks of a deleted queue.
    pub(super) fn forget(&mut self, source: &str) {
        self.active.retain(|task| task.source != source);
        self.ended.remove(source);
    }

    fn take_due(&mut self, now: SystemTime) -> Option<(SystemTime, MoveTask)> {
        let dues = self.active.iter().enumerate().filter_map(|(index, task)| Some((task.due()?, index)));
        let (due, index) = dues.min().filter(|(due, _)| *due <= now)?;
        Some((due, self.active.remove(index)))
    }

    fn put_back(&mut self, task: MoveTask) {
        if task.is_active() {
            return self.active.push(task);
        }
        let ended = self.ended.entry(task.source.clone()).or_default();
        ended.push_front(task);
        ended.truncate(MOST_LISTED);
    }

    fn of<'a>(&'a self, source: &'a str) -> impl Iterator<Item = &'a MoveTask> {
        let active = self.active.iter().filter(move |task| task.source == source);
        active.chain(self.ended.get(source).into_iter().flatten()).take(MOST_LISTED)
    }
}

impl Sqs {
    /// Moves the messages of all tasks that are due.
    pub(crate) fn advance(&mut self, now: SystemTime) {
        while let Some((due, mut task)) = self.moves.take_due(now) {
            let moved = match task.status {
                Status::Running if task.moved < task.to_move => self.move_one(&task, due),
                _ => Ok(false),
            };
            task.step(moved);
            self.moves.put_back(task);
        }
    }

    /// Returns the time at which the next message of any task moves.
    pub(crate) fn next_move(&self) -> Option<SystemTime> {
        self.moves.due()
    }

    /// Returns these queues as they are at a moment, with the messages moved that were due since the last change.
    pub(super) fn at(&self, now: SystemTime) -> Cow<'_, Self> {
        if self.moves.due().is_none_or(|due| due > now) {
            return Cow::Borrowed(self);
        }
        let mut later = self.clone();
        later.advance(now);
        Cow::Owned(later)
    }

    /// Starts a task and returns its id.
    ///
    /// # Errors
    /// Returns an error if the source is not a dead-letter queue or has an active task, if the destination is missing or of a
    /// different type (unverified), for a rate out of range, and with 100 active tasks.
    pub(crate) fn start_move(
        &mut self,
        source_arn: &str,
        destination_arn: Option<String>,
        rate: Option<i64>,
        now: SystemTime,
    ) -> Result<String, AwsError> {
        self.advance(now);
        let source = self.existing(source_arn, "SourceArn")?;
        if self.sources_of(&source).next().is_none() {
            return Err(invalid("Source queue must be configured as a Dead Letter Queue."));
        }
        if let Some(arn) = &destination_arn {
            let destination = self.existing(arn, "DestinationArn")?;
            if self.entry(&destination)?.queue.settings().fifo != self.entry(&source)?.queue.settings().fifo {
                return Err(invalid("Destination queue must be of the same type as the source queue."));
            }
        }
        let rate = rate.map(|rate| match u32::try_from(rate) {
            Ok(rate @ 1..=500) => Ok(rate),
            _ => {
                let reason = "Must be between 1 and 500, if provided.";
                Err(error::invalid("MaxNumberOfMessagesPerSecond", rate, reason))
            }
        });
        let rate = rate.transpose()?;
        if self.moves.active.iter().any(|task| task.source == source) {
            return Err(invalid(
                "There is already a task running. Only one active task is allowed for a source queue arn at a given \
                 time.",
            ));
        }
        if self.moves.active.len() >= MOST_ACTIVE {
            let message = "There are 100 active message move tasks, which is the most for an account.";
            return Err(error::REQUEST_THROTTLED.error(message));
        }
        let to_move = self.counts(&source, now).unwrap_or_default().visible as u64;
        let id = self.ids.take();
        self.moves.active.push(MoveTask::new(&id, &source, destination_arn, rate, to_move, now));
        Ok(id)
    }

    /// Returns the latest tasks of a queue, up to ten, the newest first.
    ///
    /// # Errors
    /// Returns an error if the queue does not exist.
    pub(crate) fn moves_of(&mut self, source_arn: &str, now: SystemTime) -> Result<Vec<MoveTask>, AwsError> {
        self.advance(now);
        let source = self.existing(source_arn, "SourceArn")?;
        Ok(self.moves.of(&source).cloned().collect())
    }

    /// Cancels a task and returns the number of messages that it moved.
    ///
    /// # Errors
    /// Returns an error if the queue or task does not exist, or if the task does not run (unverified).
    pub(crate) fn cancel_move(
        &mut self,
        source_arn: &str,
        id: &str,
        now: SystemTime,
    ) -> Result<u64, AwsError> {
        self.advance(now);
        let source = self.existing(source_arn, "SourceArn")?;
        if !self.moves.of(&source).any(|task| task.id == id) {
            return Err(error::RESOURCE_NOT_FOUND.error("Task does not exist."));
        }
        let running = |task: &&mut MoveTask| task.id == id && task.status == Status::Running;
        let task = self.moves.active.iter_mut().find(running);
        let task = task.ok_or_else(|| invalid("Only a task in the status RUNNING can be cancelled."))?;
        task.status = Status::Cancelling;
        Ok(task.moved)
    }

    /// Moves the next message of a task. Returns false if there is none, or the reason why it cannot move.
    fn move_one(&mut self, task: &MoveTask, now: SystemTime) -> Result<bool, String> {
        let code = |error: AwsError| error.code().to_owned();
        let source = self.entry_mut(&task.source).map_err(code)?;
        let Some(leaving) = source.queue.next_to_leave(now) else { return Ok(false) };
        let arn = task.destination_arn.as_ref().or(leaving.dead_letter_source.as_ref()).ok_or(NO_SOURCE)?;
        let destination = self.name_of(arn).ok_or_else(|| code(error::no_such_queue()))?.to_owned();
        self.put(&destination, leaving.message, now).map_err(code)?;
        let source = self.entry_mut(&task.source).map_err(code)?;
        if let Some(message_id) = source.queue.leave_for_good(leaving.number) {
            self.events.push(QueueEvent::Deleted { queue: task.source.clone(), message_id });
        }
        Ok(true)
    }

    /// Returns the name of the queue whose ARN a parameter names, which counts as a use of the queue.
    fn existing(&mut self, arn: &str, parameter: &str) -> Result<String, AwsError> {
        if arn.split(':').count() != 6 || !arn.starts_with("arn:") {
            return Err(invalid(&format!(
                "You must use this format to specify the {parameter}: \
                 arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
            )));
        }
        let missing =
            || format!("The resource that you specified for the {parameter} parameter doesn't exist.");
        let name = self.name_of(arn).ok_or_else(|| error::RESOURCE_NOT_FOUND.error(missing()))?.to_owned();
        self.access(&name);
        Ok(name)
    }
}

fn invalid(message: &str) -> AwsError {
    error::INVALID_PARAMETER_VALUE.error(message)
}

#[cfg(test)]
mod tests;
