//! Delays above 15 minutes: one-time schedules of EventBridge Scheduler.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_scheduler::operation::create_schedule::CreateScheduleError;
use aws_sdk_scheduler::primitives::{DateTime, DateTimeFormat};
use aws_sdk_scheduler::types::{ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use redrive_sqs::{Attribute, Refusal, is_fifo};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::message::NewMessage;
use crate::waiting::Fate;
use crate::{SendError, Sent};

/// The target that makes any call to SQS.
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html>
const SEND_MESSAGE: &str = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage";

/// The time for which the SDK may try to create a schedule.
const CALL: Duration = Duration::from_secs(30);

/// Schedules for messages with a delay above 15 minutes, and on a FIFO queue with any delay: one-time schedules of EventBridge
/// Scheduler, which are deleted once they have sent their message. They send within 60 s of their time.
///
/// The sender's role needs `scheduler:CreateSchedule`, and `iam:PassRole` for the role of the schedules. That role needs
/// `sqs:SendMessage`, and trusts `scheduler.amazonaws.com`.
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/setting-up.html#setting-up-execution-role>
#[derive(Clone)]
pub struct Schedules {
    client: Client,
    role_arn: Arc<str>,
    most: usize,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// The times of the schedules that wait.
    waiting: Arc<Mutex<Vec<SystemTime>>>,
}

impl Schedules {
    /// Creates schedules with this client. They send with this role.
    #[must_use]
    pub fn new(client: Client, role_arn: impl Into<Arc<str>>) -> Self {
        let clock = Arc::new(SystemTime::now);
        Self { client, role_arn: role_arn.into(), most: 10_000, clock, waiting: Arc::default() }
    }

    /// The maximum number of schedules of this process that wait at a time. Default: 10,000. A further message is
    /// [refused](SendError::Refused). An account may have 1,000,000 schedules.
    /// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html>
    #[must_use]
    pub const fn at_most(mut self, schedules: usize) -> Self {
        self.most = schedules;
        self
    }

    /// The wall clock from which delays count. Default: the machine's. A test passes that of its simulation.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(now);
        self
    }

    /// Creates the schedule of a message. One with a deduplication id has one schedule, however often it is sent.
    pub(crate) async fn create(
        &self,
        queue_url: &str,
        id: Option<String>,
        mut message: NewMessage,
        delay: Duration,
    ) -> Fate {
        let now = (self.clock)();
        let due = now.checked_add(delay).and_then(|due| Some((due, at(due)?)));
        let Some((due, at)) = due else {
            return Err(SendError::Invalid(format!("delay is {delay:?}, allowed: up to the year 9999")));
        };
        let name = name(queue_url, id.as_deref());
        // Without an id, the same schedule cannot send twice.
        message.deduplication = is_fifo(queue_url).then(|| id.unwrap_or_else(|| name.clone()));
        self.reserve(now, due)?;
        let target = Target::builder().arn(SEND_MESSAGE).role_arn(&*self.role_arn);
        let target = target.input(input(queue_url, &message).to_string()).build();
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build();
        let call = self
            .client
            .create_schedule()
            .name(&name)
            .client_token(&name)
            .schedule_expression(at)
            .flexible_time_window(window.expect("it has a mode"))
            .target(target.expect("it has an ARN and a role"))
            .action_after_completion(ActionAfterCompletion::Delete);
        let fate = match timeout(CALL, call.send()).await {
            Ok(Ok(_)) => Ok(()),
            // An earlier call with this name has created it.
            Ok(Err(error)) if error.code() == Some("ConflictException") => Ok(()),
            Ok(Err(error)) => Err(refused(&error)),
            Err(_) => Err(SendError::Unconfirmed(format!(
                "the Scheduler did not answer within {} s",
                CALL.as_secs()
            ))),
        };
        if fate.is_err() {
            self.release(due);
        }
        fate.map(|()| Sent { message_id: name, may_be_twice: false, is_scheduled: true })
    }

    /// Counts a schedule, unless too many wait.
    fn reserve(&self, now: SystemTime, due: SystemTime) -> Result<(), SendError> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= self.most {
            waiting.retain(|due| *due > now);
        }
        if waiting.len() >= self.most {
            let most = self.most;
            return Err(SendError::Refused(format!(
                "{most} schedules of this process wait, allowed: {most}"
            )));
        }
        waiting.push(due);
        Ok(())
    }

    fn release(&self, due: SystemTime) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = waiting.iter().position(|waits| *waits == due) {
            waiting.swap_remove(place);
        }
    }
}

impl std::fmt::Debug for Schedules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedules").field("role_arn", &self.role_arn).finish_non_exhaustive()
    }
}

fn refused(error: &SdkError<CreateScheduleError>) -> SendError {
    let Some(service) = error.as_service_error() else {
        let text = DisplayErrorContext(error).to_string();
        return match error {
            SdkError::ConstructionFailure(_) => SendError::Denied(text),
            _ => SendError::Unconfirmed(text),
        };
    };
    let code = service.code().unwrap_or_default();
    let text = format!("{code}: {}", service.message().unwrap_or_default());
    match (Refusal::of(code), error.raw_response().map(|answer| answer.status().as_u16())) {
        (Refusal::Throttled, _) => SendError::NotInTime(text),
        (Refusal::OfTheCaller, _) => SendError::Denied(text),
        (_, Some(500..)) => SendError::Unconfirmed(text),
        _ => SendError::Refused(text),
    }
}

/// Returns the name of a schedule, which is the same for the same id.
fn name(queue_url: &str, id: Option<&str>) -> String {
    let mut hash = Sha256::new();
    hash.update(queue_url);
    match id {
        Some(id) => {
            hash.update([0]);
            hash.update(id);
        }
        // The operating system's random numbers.
        None => [RandomState::new(), RandomState::new()]
            .iter()
            .for_each(|state| hash.update(state.hash_one(queue_url).to_be_bytes())),
    }
    hash.finalize().iter().take(20).fold("redrive-".to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// Returns the input of SendMessage.
fn input(queue_url: &str, message: &NewMessage) -> Value {
    let text = |value: &str| json!({ "DataType": "String", "StringValue": value });
    let attribute = |attribute: &Attribute| match attribute.as_str() {
        Some(text) => json!({ "DataType": attribute.data_type(), "StringValue": text }),
        None => {
            json!({ "DataType": attribute.data_type(), "BinaryValue": STANDARD.encode(attribute.as_bytes()) })
        }
    };
    let attributes = message.attributes.iter().map(|(name, value)| (name.clone(), attribute(value)));
    let mut input = json!({
        "QueueUrl": queue_url,
        "MessageBody": message.body,
        "MessageAttributes": attributes.collect::<Map<_, _>>(),
    });
    if let Some(header) = &message.trace {
        input["MessageSystemAttributes"] = json!({ "AWSTraceHeader": text(header) });
    }
    for (name, value) in
        [("MessageGroupId", &message.group), ("MessageDeduplicationId", &message.deduplication)]
    {
        if let Some(value) = value {
            input[name] = json!(value);
        }
    }
    input
}

/// Returns the expression of a time, in whole seconds: `at(2026-12-24T18:00:00)`.
fn at(due: SystemTime) -> Option<String> {
    let since = due.duration_since(UNIX_EPOCH).ok()?;
    let seconds = since.as_secs() + u64::from(since.subsec_nanos() > 0);
    let date = DateTime::from_secs(i64::try_from(seconds).ok()?);
    let text = date.fmt(DateTimeFormat::DateTime).ok()?;
    Some(format!("at({})", text.trim_end_matches('Z')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_of_an_id_has_one_name_and_others_have_their_own() {
        let of = |id| name("https://sqs.eu-west-1.amazonaws.com/123456789012/orders", id);
        assert_eq!(of(Some("a")), of(Some("a")));
        assert!(of(Some("a")) != of(Some("b")) && of(None) != of(None));
        assert!(of(None).len() <= 64);
    }

    #[test]
    fn times_are_whole_seconds_and_never_early() {
        let time = |seconds, nanos| at(UNIX_EPOCH + Duration::new(seconds, nanos));
        assert_eq!(time(1_798_135_200, 0).as_deref(), Some("at(2026-12-24T18:00:00)"));
        assert_eq!(time(1_798_135_200, 1).as_deref(), Some("at(2026-12-24T18:00:01)"));
        assert_eq!(time(i64::MAX.unsigned_abs(), 0), None);
    }
}
