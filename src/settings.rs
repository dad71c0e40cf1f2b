//! Settings: from the code, else the environment, else the default.

mod choices;
mod queues;
mod variable;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use redrive_sqs::{OriginSenders, Quoted, cut_to};

use crate::backoff::{Backoff, MAX_VISIBILITY};
pub use crate::settings::choices::{LastDelivery, Metrics, OnFailure, Overrides};
pub(crate) use crate::settings::queues::check_queue_url;
pub use crate::settings::queues::{VARIABLES_OF_ONE_QUEUE, variable_of_queue};
use crate::settings::variable::{Fill, Variable};

/// Less would not be enough to cancel handlers and to respond.
const SHORTEST_RESERVE: Duration = Duration::from_millis(200);

/// A longer visibility timeout leaves too little of the 12 hours for backoff.
const LONGEST_VISIBILITY: Duration = Duration::from_secs(36_000);

const LONGEST_TIME_LIMIT: Duration = Duration::from_secs(5_400);

const LONGEST_DRAIN: Duration = Duration::from_secs(3_600);

/// Every setting; `None` if it is not set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) dead_letter_queue_url: Option<String>,
    pub(crate) max_receive_count: Option<u32>,
    pub(crate) visibility_timeout: Option<Duration>,
    pub(crate) concurrency: Option<NonZeroUsize>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) reserve: Option<Duration>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) overrides: Option<Overrides>,
    pub(crate) origin_senders: Option<OriginSenders>,
    pub(crate) on_panic: Option<OnFailure>,
    pub(crate) on_malformed: Option<OnFailure>,
    pub(crate) last_delivery: Option<LastDelivery>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) metrics_namespace: Option<String>,
    /// Of a worker.
    pub(crate) drain: Option<Duration>,
    pub(crate) health: Option<SocketAddr>,
    pub(crate) task_protection: Option<bool>,
    /// By the ARNs of the queues; empty if these settings are those of whatever queue feeds the function.
    pub(crate) queues: BTreeMap<String, Self>,
}

impl Settings {
    /// Reads settings that are not set from the environment. An empty variable counts as not set, except
    /// `REDRIVE_ORIGIN_SENDERS`, which is refused.
    ///
    /// # Errors
    /// A variable does not parse; it is named with its value and what is allowed.
    pub(crate) fn or_environment(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, InvalidSetting> {
        let fill = Fill { variable: &variable, name: &str::to_owned };
        self.fill_own(&fill)?;
        fill.setting(&mut self.reserve, "REDRIVE_RESERVE", |it| it.seconds(900.0))?;
        fill.setting(&mut self.metrics, "REDRIVE_METRICS", |it| {
            it.one_of(&[("cloudwatch", Metrics::CloudWatch), ("emf", Metrics::Emf), ("off", Metrics::Off)])
        })?;
        fill.setting(&mut self.metrics_namespace, "REDRIVE_METRICS_NAMESPACE", Variable::namespace)?;
        fill.setting(&mut self.drain, "REDRIVE_DRAIN", |it| it.seconds(3_600.0))?;
        fill.setting(&mut self.health, "REDRIVE_HEALTH", Variable::address)?;
        let switch = [("on", true), ("off", false)];
        fill.setting(&mut self.task_protection, "REDRIVE_TASK_PROTECTION", |it| it.one_of(&switch))?;
        match variable(queues::VARIABLE).filter(|queues| !queues.is_empty()) {
            Some(queues) => self.fill_queues(&queues).map(|()| self),
            None => Ok(self),
        }
    }

    /// Those that may differ from queue to queue.
    fn fill_own(&mut self, fill: &Fill<'_>) -> Result<(), InvalidSetting> {
        fill.setting(&mut self.dead_letter_queue_url, "REDRIVE_DEAD_LETTER_QUEUE_URL", Variable::url)?;
        fill.setting(&mut self.max_receive_count, "REDRIVE_MAX_RECEIVE_COUNT", |it| it.whole(1, 1_000))?;
        fill.setting(&mut self.visibility_timeout, "REDRIVE_VISIBILITY_TIMEOUT", |it| it.seconds(36_000.0))?;
        fill.setting(&mut self.concurrency, "REDRIVE_CONCURRENCY", |it| it.whole(1, 10_000))?;
        fill.setting(&mut self.time_limit, "REDRIVE_TIME_LIMIT", |it| it.seconds(5_400.0))?;
        fill.setting(&mut self.backoff, "REDRIVE_BACKOFF", Variable::backoff)?;
        fill.setting(&mut self.overrides, "REDRIVE_OVERRIDES", Variable::overrides)?;
        fill.guard(&mut self.origin_senders, "REDRIVE_ORIGIN_SENDERS", Variable::senders)?;
        let on_failure = [("dead-letter", OnFailure::DeadLetter), ("retry", OnFailure::Retry)];
        fill.setting(&mut self.on_panic, "REDRIVE_ON_PANIC", |it| it.one_of(&on_failure))?;
        fill.setting(&mut self.on_malformed, "REDRIVE_ON_MALFORMED", |it| it.one_of(&on_failure))?;
        fill.setting(&mut self.last_delivery, "REDRIVE_LAST_DELIVERY", |it| {
            it.one_of(&[
                ("redrive-policy", LastDelivery::RedrivePolicy),
                ("dead-letter", LastDelivery::DeadLetter),
            ])
        })
    }

    /// Checks the settings that the code has set, and those that depend on each other.
    ///
    /// # Errors
    /// A value is out of range, or a delay is too long beside the queue's visibility timeout.
    pub(crate) fn check(&self) -> Result<(), InvalidSetting> {
        self.check_queues()?;
        let visibility = self.visibility_timeout();
        let refused = [
            (
                self.max_receive_count.is_some_and(|count| !(1..=1_000).contains(&count)),
                "max receive count",
                self.max_receive_count.unwrap_or_default().to_string(),
                "1 to 1000",
            ),
            (
                visibility > LONGEST_VISIBILITY,
                "visibility timeout",
                format!("{visibility:?}"),
                "at most 36000 s",
            ),
            (
                self.time_limit.is_some_and(|limit| limit.is_zero() || limit > LONGEST_TIME_LIMIT),
                "time limit",
                format!("{:?}", self.time_limit.unwrap_or_default()),
                "more than 0 s, at most 5400 s",
            ),
            (
                self.drain.is_some_and(|drain| drain.is_zero() || drain > LONGEST_DRAIN),
                "drain",
                format!("{:?}", self.drain()),
                "more than 0 s, at most 3600 s",
            ),
            (
                !variable::is_namespace(self.namespace()),
                "metrics namespace",
                Quoted(self.namespace()).to_string(),
                variable::NAMESPACE,
            ),
        ];
        if let Some((_, name, value, allowed)) = refused.into_iter().find(|(refused, ..)| *refused) {
            return Err(InvalidSetting::new(name, &value, allowed));
        }
        if let Some(url) = self.dead_letter_queue_url.as_ref().filter(|url| !variable::is_queue_url(url)) {
            return Err(InvalidSetting::new(
                "dead-letter queue URL",
                &Quoted(url).to_string(),
                variable::QUEUE_URL,
            ));
        }
        if let Some(fault) = self.origin_senders.as_ref().and_then(OriginSenders::fault) {
            return Err(InvalidSetting::new(
                "origin sender",
                &Quoted(fault).to_string(),
                variable::UNIQUE_ID,
            ));
        }
        match self.backoff.as_ref().and_then(Backoff::longest) {
            Some(longest) if longest > self.longest() => {
                let allowed = format!(
                    "delays of at most {} s: SQS allows 12 h in all, of which the visibility timeout may take {} s",
                    self.longest().as_secs(),
                    visibility.as_secs()
                );
                Err(InvalidSetting::new("backoff", &format!("up to {longest:?}"), &allowed))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn concurrency(&self) -> usize {
        self.concurrency.map_or(10, NonZeroUsize::get)
    }

    /// How long a worker's handlers may run on after it was told to end.
    pub(crate) fn drain(&self) -> Duration {
        self.drain.unwrap_or(Duration::from_secs(25))
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metrics_namespace.as_deref().unwrap_or("Redrive")
    }

    /// How much of the remaining time is reserved for settling.
    pub(crate) fn reserve_of(&self, left: Duration) -> Duration {
        let (least, most) = (Duration::from_millis(500), Duration::from_secs(5));
        let reserve = self.reserve.unwrap_or((left / 10).clamp(least, most));
        reserve.max(SHORTEST_RESERVE).min(left / 2)
    }

    pub(crate) fn visibility_timeout(&self) -> Duration {
        self.visibility_timeout.unwrap_or(Duration::from_secs(30))
    }

    /// The longest delay that SQS is sure to accept: the 12 hours count from the receive, which was at most a visibility
    /// timeout ago.
    pub(crate) fn longest(&self) -> Duration {
        MAX_VISIBILITY - self.visibility_timeout().min(LONGEST_VISIBILITY)
    }
}

/// An invalid setting: its name, its value, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSetting(String);

impl InvalidSetting {
    /// The runtime that the code names for handlers.
    pub(crate) fn workers(name: &str, fault: &str) -> Self {
        Self::new(name, fault, "one that is running and has timers (enable_time or enable_all)")
    }

    /// A queue whose settings these are not.
    pub(crate) fn second_source(arn: &str, first: &str, name: &str) -> Self {
        let allowed = format!(
            "{first}, whose {name} is set; to have several queues feed one function, name each in REDRIVE_QUEUES or by Consumer::queue"
        );
        Self::new("eventSourceARN", &Quoted(arn).to_string(), &allowed)
    }

    pub(crate) fn log(filter: &str, error: &dyn fmt::Display) -> Self {
        Self::new(
            "REDRIVE_LOG",
            &Quoted(filter).to_string(),
            &format!("levels by target such as \"info,orders=debug\" ({})", cut_to(&error.to_string(), 256)),
        )
    }

    pub(crate) fn new(name: &str, value: &str, allowed: &str) -> Self {
        Self(format!("{name} is {value}, allowed: {allowed}"))
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidSetting {}

#[cfg(test)]
mod tests;
