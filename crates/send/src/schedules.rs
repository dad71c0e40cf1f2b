//! Delays above 15 minutes: one-time schedules of EventBridge Scheduler.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::config::Builder;
use aws_sdk_scheduler::config::retry::RetryConfig;
use aws_sdk_scheduler::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_scheduler::operation::create_schedule::CreateScheduleError;
use aws_sdk_scheduler::primitives::{DateTime, DateTimeFormat};
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode, Target,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use redrive_sqs::{Attribute, Refusal, is_fifo};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep, timeout};

use crate::error::innermost;
use crate::message::NewMessage;
use crate::waiting::Fate;
use crate::{SendError, Sent};

/// The target that makes any call to SQS.
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html>
const SEND_MESSAGE: &str = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage";

const CALL: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
    dead_letter_queue_arn: Option<Arc<str>>,
    /// The names of the schedules that wait, with their times.
    waiting: Arc<Mutex<BTreeMap<String, SystemTime>>>,
}

/// A schedule that counts. It counts no more if it is dropped before it is made.
struct Reserved<'a> {
    schedules: &'a Schedules,
    name: Option<&'a str>,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name {
            self.schedules.waiting().remove(name);
        }
    }
}

impl Schedules {
    /// Creates schedules with this client. They send with this role.
    #[must_use]
    pub fn new(client: Client, role_arn: impl Into<Arc<str>>) -> Self {
        let clock = Arc::new(SystemTime::now);
        Self {
            client,
            role_arn: role_arn.into(),
            most: 10_000,
            clock,
            dead_letter_queue_arn: None,
            waiting: Arc::default(),
        }
    }

    /// The maximum number of schedules of this process that wait at a time. Default: 10,000. A further message is
    /// [not sent](SendError::Invalid). An account may have 1,000,000 schedules.
    /// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html>
    #[must_use]
    pub const fn at_most(mut self, schedules: usize) -> Self {
        self.most = schedules;
        self
    }

    /// The ARN of the standard queue to which the Scheduler sends what it cannot send to the queue itself, because its role may not, for
    /// example. Default: none, and such a message is lost after 24 hours. The role needs `sqs:SendMessage` for this queue too.
    /// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html>
    #[must_use]
    pub fn dead_letter_queue(mut self, arn: impl Into<Arc<str>>) -> Self {
        self.dead_letter_queue_arn = Some(arn.into());
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
        patience: Duration,
    ) -> Fate {
        let now = (self.clock)();
        let due = now.checked_add(delay).and_then(|due| Some((due, at(due)?)));
        let Some((due, at)) = due else {
            return Err(SendError::Invalid(format!("delay is {delay:?}, allowed: up to the year 9999")));
        };
        let name = name(queue_url, id.as_deref());
        // Without an id, the same schedule cannot send twice.
        message.deduplication = is_fifo(queue_url).then(|| id.unwrap_or_else(|| name.clone()));
        let mut reserved = self.reserve(&name, now, due)?;
        let dead =
            self.dead_letter_queue_arn.as_deref().map(|arn| DeadLetterConfig::builder().arn(arn).build());
        let target =
            Target::builder().arn(SEND_MESSAGE).role_arn(&*self.role_arn).set_dead_letter_config(dead);
        let target =
            target.input(input(queue_url, &message).to_string()).build().expect("it has an ARN and a role");
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off);
        let window = window.build().expect("it has a mode");
        let (mut unclear, mut pause, began) = (false, FIRST_PAUSE, Instant::now());
        let error = loop {
            let once = Builder::new().retry_config(RetryConfig::disabled());
            let call = self
                .client
                .create_schedule()
                .name(&name)
                .schedule_expression(&at)
                .flexible_time_window(window.clone())
                .target(target.clone())
                .action_after_completion(ActionAfterCompletion::Delete)
                .customize()
                .config_override(once);
            let scheduled = |was_scheduled_before| Sent {
                message_id: name.clone(),
                may_be_twice: false,
                is_scheduled: true,
                was_scheduled_before,
            };
            let error = match timeout(CALL, call.send()).await {
                Ok(Ok(_)) => {
                    reserved.name = None;
                    return Ok(scheduled(false));
                }
                Ok(Err(error)) if error.code() == Some("ConflictException") => {
                    reserved.name = None;
                    // Perhaps by a call of ours whose answer was lost.
                    return Ok(scheduled(!unclear));
                }
                Ok(Err(error)) => refused(&error),
                Err(_) => SendError::unconfirmed(format!(
                    "the Scheduler did not answer within {} s",
                    CALL.as_secs()
                )),
            };
            unclear |= matches!(error, SendError::Unconfirmed(_));
            let goes_on = matches!(error, SendError::Unconfirmed(_) | SendError::NotInTime(_));
            if !goes_on || began.elapsed() + pause > patience {
                break error;
            }
            sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        };
        // A later refusal says nothing of a call whose answer was lost.
        let is_unclear = unclear && !matches!(error, SendError::Unconfirmed(_));
        Err(if is_unclear { SendError::Unconfirmed(Box::new(error)) } else { error })
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, SystemTime>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a schedule, unless too many wait.
    fn reserve<'a>(
        &'a self,
        name: &'a str,
        now: SystemTime,
        due: SystemTime,
    ) -> Result<Reserved<'a>, SendError> {
        let mut waiting = self.waiting();
        let is_known = waiting.contains_key(name);
        if !is_known && waiting.len() >= self.most {
            waiting.retain(|_, due| *due > now);
        }
        if !is_known && waiting.len() >= self.most {
            let most = self.most;
            return Err(SendError::Invalid(format!(
                "{most} schedules of this process wait, allowed: {most}"
            )));
        }
        waiting.entry(name.to_owned()).or_insert(due);
        Ok(Reserved { schedules: self, name: (!is_known).then_some(name) })
    }
}

impl std::fmt::Debug for Schedules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedules").field("role_arn", &self.role_arn).finish_non_exhaustive()
    }
}

fn refused(error: &SdkError<CreateScheduleError>) -> SendError {
    let Some(service) = error.as_service_error() else {
        let text = innermost(error).to_string();
        return match error {
            SdkError::ConstructionFailure(_) => SendError::Denied(text),
            _ => SendError::unconfirmed(text),
        };
    };
    let code = service.code().unwrap_or_default();
    let text = format!("{code}: {}", service.message().unwrap_or_default());
    match (Refusal::of(code), error.raw_response().map(|answer| answer.status().as_u16())) {
        (Refusal::Throttled, _) => SendError::NotInTime(text),
        (Refusal::OfTheCaller, _) => SendError::Denied(text),
        (_, Some(500..)) => SendError::unconfirmed(text),
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
    if !is_fifo(queue_url) {
        // The schedule has the whole delay.
        input["DelaySeconds"] = json!(0);
    }
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
