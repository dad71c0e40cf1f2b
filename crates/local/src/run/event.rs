//! The events of a run and its totals.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::cloudwatch::AlarmState;
use crate::mapping::MappingConfig;
use crate::queue::Received;

/// One event. Its JSON has `at` in seconds, and the fields of its kind beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Time of the event, in simulated time since the start.
    #[serde(serialize_with = "seconds")]
    pub at: Duration,
    /// The kind of event with its fields.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of events. `queue` is a queue's name, `attempt` the message's receive count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what they are")]
#[expect(clippy::exhaustive_enums, reason = "readers have to know each")]
pub enum EventKind {
    /// A message was sent to a queue.
    Sent { queue: String, message_id: String },
    /// A message was received, by the invocation `request_id` or, without one, by a worker or a client of the endpoint.
    Received { queue: String, message_id: String, attempt: u32, request_id: Option<String> },
    /// A mapping's filters kept a message out: it was deleted without an invocation.
    FilteredOut { queue: String, message_id: String, attempt: u32 },
    /// A function has no concurrency left for a batch, which waits for it.
    Throttled { function: String, messages: usize },
    /// A message of a throttled batch is visible again. No function saw it, but the delivery counts.
    NotDelivered { queue: String, message_id: String, attempt: u32 },
    /// A batch was handed to a function.
    InvocationStarted { function: String, request_id: String, messages: usize },
    /// An invocation ended. `failed` messages of its batch were not deleted. The duration is real time.
    InvocationEnded {
        function: String,
        request_id: String,
        outcome: InvocationOutcome,
        failed: usize,
        duration_ms: u64,
    },
    /// An invocation or a worker did not succeed with a message.
    Failed { queue: String, message_id: String, attempt: u32 },
    /// A message is hidden and can be received again in this many simulated seconds.
    BackIn { queue: String, message_id: String, seconds: u64 },
    /// A message was deleted from its queue without having been dead-lettered.
    Done { queue: String, message_id: String, attempt: u32 },
    /// A message was deleted although the function reported it as failed: its mapping does not ask for such reports.
    DeletedAlthoughFailed { queue: String, message_id: String, attempt: u32 },
    /// A message of `queue` is in the dead-letter queue: moved there by SQS (reason `redrive policy`), or sent there
    /// by the function with a note that gives the reason and the error.
    DeadLettered { queue: String, message_id: String, attempt: u32, reason: String, error: Option<String> },
    /// A message outlived its queue's retention and is gone.
    Expired { queue: String, message_id: String },
    /// A message was given back that did not begin, or that failed in a worker and is visible at once. It can be received
    /// again in this many simulated seconds.
    Released { queue: String, message_id: String, attempt: u32, seconds: u64 },
    /// A process of a worker was started.
    WorkerStarted { worker: String, queue: String },
    /// A process of a worker ended, after these last lines. A new one starts in this many real seconds, unless the worker was
    /// stopped.
    WorkerEnded { worker: String, status: String, output: Vec<String>, restart_in: Option<u64> },
    /// An alarm changed its state.
    Alarm { name: String, state: AlarmState, reason: String },
    /// A function wrote a line to stdout or stderr.
    Output { function: String, line: String },
    /// A call to a real queue failed, after the SDK's own retries.
    CallFailed { queue: String, operation: String, reason: String },
    /// A function failed to start too many times in a row, so its mappings were stopped, or a worker so often that it is not
    /// started again. Messages stay queued.
    GaveUp { function: String, reason: String },
}

/// The outcome of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", content = "detail", rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "readers have to know each")]
pub enum InvocationOutcome {
    /// The function answered, and may have reported some messages as failed.
    Succeeded,
    /// The function answered, but not with a batch response: every message counts as failed.
    BadResponse(String),
    /// The function reported an error.
    Error(String),
    /// The function's process did not ask for work.
    NotStarted(StartFailure),
    /// The invocation ran past its timeout, and the process was killed.
    TimedOut,
    /// The process ended during the invocation.
    Exited(String),
}

/// The reason why a process did not request work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartFailure {
    /// What happened to the process instead.
    pub reason: String,
    /// The last lines that the process wrote.
    pub output: Vec<String>,
}

/// Writes the reason and the last line.
impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        self.output.last().map_or(Ok(()), |line| write!(f, ": {line}"))
    }
}

impl EventKind {
    /// Returns the events for a batch that is passed to the function of a mapping.
    pub(crate) fn begun(
        config: &MappingConfig,
        request_id: &str,
        messages: &[Received],
    ) -> impl Iterator<Item = Self> {
        let received = messages.iter().map(|message| Self::Received {
            queue: config.queue.clone(),
            message_id: message.message_id.clone(),
            attempt: message.receive_count,
            request_id: Some(request_id.to_owned()),
        });
        received.chain([Self::InvocationStarted {
            function: config.function.clone(),
            request_id: request_id.to_owned(),
            messages: messages.len(),
        }])
    }
}

impl InvocationOutcome {
    /// Returns true if Lambda counts the outcome as an error. For Lambda, a function that returns an invalid answer has
    /// succeeded.
    pub(crate) fn is_error(&self) -> bool {
        match self {
            Self::Succeeded | Self::BadResponse(_) => false,
            Self::Error(_) | Self::NotStarted(_) | Self::TimedOut | Self::Exited(_) => true,
        }
    }
}

/// The totals of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Messages sent to queues that are not dead-letter queues.
    pub messages: usize,
    /// Of these messages, those that were deleted without having been dead-lettered.
    pub done: usize,
    /// Of these messages, those that were deleted although the function reported them as failed.
    pub deleted_although_failed: usize,
    /// Of these messages, those that were deleted because no filter of a mapping matched them.
    pub filtered_out: usize,
    /// Of these messages, those that are gone because their queue's retention period ended.
    pub expired: usize,
    /// Of these messages, those in a dead-letter queue, by reason.
    pub dead_lettered: BTreeMap<String, usize>,
    /// Invocations.
    pub invocations: usize,
    /// Calls over HTTP by operation, such as `sqs.ChangeMessageVisibilityBatch`.
    pub aws_calls: BTreeMap<String, usize>,
    /// Of these calls, those that neither functions nor workers made.
    pub client_calls: BTreeMap<String, usize>,
    /// Real time since the start.
    pub wall: Duration,
    /// Simulated time since the start.
    pub simulated: Duration,
    /// Messages still in mapped queues, except those that already have a dead letter.
    pub left: usize,
}

fn seconds<S: Serializer>(at: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_secs_f64())
}
