//! What happens, as a stream of values, and what it all came to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::cloudwatch::AlarmState;
use crate::mapping::MappingConfig;
use crate::queue::Received;

/// One thing that happened. As JSON: `at` in seconds, and the fields of its kind beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// When, in simulated time since the start.
    #[serde(serialize_with = "seconds")]
    pub at: Duration,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What can happen. `queue` is a queue's name, `attempt` the message's receive count.
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
    /// A message of a throttled batch is visible again; no function saw it, but the delivery counts.
    NotDelivered { queue: String, message_id: String, attempt: u32 },
    /// A batch was handed to a function.
    InvocationStarted { function: String, request_id: String, messages: usize },
    /// The function is done with a batch; `failed` messages of it were not deleted. The duration is real time.
    InvocationEnded {
        function: String,
        request_id: String,
        outcome: InvocationOutcome,
        failed: usize,
        duration_ms: u64,
    },
    /// An invocation or a worker did not succeed with a message.
    Failed { queue: String, message_id: String, attempt: u32 },
    /// A message is hidden and can be received again in so many simulated seconds.
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
    /// A worker gave a message back that is visible at once: not begun, or failed and to be retried without a pause.
    Released { queue: String, message_id: String, attempt: u32 },
    /// A process of a worker was started.
    WorkerStarted { worker: String, queue: String },
    /// It ended, after these last lines. Another one is started in so many real seconds, unless it was told to end.
    WorkerEnded { worker: String, status: String, output: Vec<String>, restart_in: Option<u64> },
    /// An alarm changed its state.
    Alarm { name: String, state: AlarmState, reason: String },
    /// A function wrote a line to stdout or stderr.
    Output { function: String, line: String },
    /// A call to a real queue failed, after the SDK's own retries.
    CallFailed { queue: String, operation: String, reason: String },
    /// A function failed to start so many times in a row that its mappings have been stopped, or a worker that it is not
    /// started again. Messages stay queued.
    GaveUp { function: String, reason: String },
}

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", content = "detail", rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "readers have to know each")]
pub enum InvocationOutcome {
    /// The function answered; some messages may have been reported as failed.
    Succeeded,
    /// The function answered, but not with a batch response: every message counts as failed.
    BadResponse(String),
    /// The function reported an error.
    Error(String),
    /// The function's process did not ask for work.
    NotStarted(StartFailure),
    /// It ran past its timeout and was killed.
    TimedOut,
    /// The process ended during the invocation.
    Exited(String),
}

/// Why a process did not even ask for work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartFailure {
    /// What happened to it instead.
    pub reason: String,
    /// The last lines that it wrote.
    pub output: Vec<String>,
}

/// The reason, and the last line.
impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        self.output.last().map_or(Ok(()), |line| write!(f, ": {line}"))
    }
}

impl EventKind {
    /// A batch is handed to the function of a mapping.
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
    /// Whether Lambda counts it as an error. An answer of the wrong form is none: the function has succeeded.
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
    /// Of these, deleted without having been dead-lettered.
    pub done: usize,
    /// Of these, deleted although the function reported them as failed.
    pub deleted_although_failed: usize,
    /// Of these, deleted because no filter of a mapping wanted them.
    pub filtered_out: usize,
    /// Of these, gone because their queue's retention period ended.
    pub expired: usize,
    /// Of these, in a dead-letter queue, by reason.
    pub dead_lettered: BTreeMap<String, usize>,
    /// Invocations.
    pub invocations: usize,
    /// Calls over HTTP by operation, such as `sqs.ChangeMessageVisibilityBatch`.
    pub aws_calls: BTreeMap<String, usize>,
    /// Of these, those that neither functions nor workers made.
    pub client_calls: BTreeMap<String, usize>,
    /// Real time since the start.
    pub wall: Duration,
    /// Simulated time since the start.
    pub simulated: Duration,
    /// Messages still in mapped queues, without those that have a dead letter already.
    pub left: usize,
}

fn seconds<S: Serializer>(at: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_secs_f64())
}
