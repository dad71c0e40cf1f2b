//! Settings: from the code, else the environment, else the default.

mod choices;
pub(crate) mod names;
mod policy;
mod queues;
mod values;
mod variable;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use redrive_sqs::{LONGEST_INVOCATION, LONGEST_VISIBILITY, Quoted, cut_to};

pub use crate::settings::choices::Metrics;
pub use crate::settings::queues::{VARIABLES_OF_ONE_QUEUE, variable_of_queue};
pub(crate) use crate::settings::values::{
    ChunkBytes, ChunkSize, LONGEST_VISIBILITY_TIMEOUT, QueueUrl, Value, VisibilityTimeout,
};
use crate::settings::values::{
    Concurrency, Drain, Limit, LimitOfKey, Namespace, OutageHorizon, ReceiveCount, Senders, SlowTime,
    TimeLimit,
};
use crate::settings::variable::{Fill, Variable};
use redrive_engine::{Backoff, LastDelivery, OnFailure, Overrides, longest_delay};

/// An empty value of this variable is refused, because it would trust every sender.
const ORIGIN_SENDERS: &str = "REDRIVE_ORIGIN_SENDERS";

/// The shortest reserve. Less would not be enough to cancel handlers and to respond.
const SHORTEST_RESERVE: Duration = Duration::from_millis(200);

/// Every setting; `None` if it is not set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) dead_letter_queue_url: Option<QueueUrl>,
    pub(crate) max_receive_count: Option<ReceiveCount>,
    pub(crate) visibility_timeout: Option<VisibilityTimeout>,
    pub(crate) concurrency: Option<Concurrency>,
    pub(crate) time_limit: Option<TimeLimit>,
    pub(crate) reserve: Option<Duration>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) overrides: Option<Overrides>,
    pub(crate) origin_senders: Option<Senders>,
    pub(crate) on_panic: Option<OnFailure>,
    pub(crate) on_malformed: Option<OnFailure>,
    pub(crate) last_delivery: Option<LastDelivery>,
    pub(crate) outage_horizon: Option<OutageHorizon>,
    pub(crate) rate: Option<Limit>,
    /// The rate of each key of `Consumer::rate_by`.
    pub(crate) rate_of_key: Option<LimitOfKey>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) metrics_namespace: Option<Namespace>,
    /// For workers only, like the next three.
    pub(crate) adaptive_concurrency: Option<SlowTime>,
    pub(crate) drain: Option<Drain>,
    pub(crate) health: Option<SocketAddr>,
    pub(crate) task_protection: Option<bool>,
    /// True if the process outlives a handler that ends, see `tools::outlives_handlers`.
    pub(crate) outlives_handlers: bool,
    /// The settings of each queue, by ARN. Empty if these settings are for any queue that feeds the function.
    pub(crate) queues: BTreeMap<String, Self>,
    /// The errors of values that the code has set, by the names of the settings.
    pub(crate) refused: BTreeMap<&'static str, InvalidSetting>,
}

impl Settings {
    /// Reads settings that are not set from the environment. An empty variable counts as not set, except
    /// `REDRIVE_ORIGIN_SENDERS`, which is refused.
    ///
    /// # Errors
    /// A variable does not parse. The error names it, its value and what is allowed.
    pub(crate) fn or_environment(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, InvalidSetting> {
        let fill = Fill { variable: &variable, name: &str::to_owned };
        self.fill_own(&fill)?;
        fill.setting(&mut self.outage_horizon, "REDRIVE_OUTAGE_HORIZON", Value::read)?;
        fill.setting(&mut self.rate, "REDRIVE_RATE", Value::read)?;
        fill.setting(&mut self.reserve, "REDRIVE_RESERVE", |it| it.seconds(LONGEST_INVOCATION))?;
        fill.setting(&mut self.metrics, "REDRIVE_METRICS", |it| {
            it.one_of(&[("cloudwatch", Metrics::CloudWatch), ("emf", Metrics::Emf), ("off", Metrics::Off)])
        })?;
        fill.setting(&mut self.metrics_namespace, "REDRIVE_METRICS_NAMESPACE", Value::read)?;
        fill.setting(&mut self.drain, "REDRIVE_DRAIN", Value::read)?;
        fill.setting(&mut self.health, "REDRIVE_HEALTH", Variable::address)?;
        let switch = [("on", true), ("off", false)];
        fill.setting(&mut self.task_protection, "REDRIVE_TASK_PROTECTION", |it| it.one_of(&switch))?;
        fill.setting(&mut self.adaptive_concurrency, "REDRIVE_ADAPTIVE_CONCURRENCY", Value::read)?;
        match variable(queues::VARIABLE).filter(|queues| !queues.is_empty()) {
            Some(queues) => self.fill_queues(&queues).map(|()| self),
            None => Ok(self),
        }
    }

    /// Reads the settings that may differ from queue to queue.
    fn fill_own(&mut self, fill: &Fill<'_>) -> Result<(), InvalidSetting> {
        fill.setting(&mut self.dead_letter_queue_url, "REDRIVE_DEAD_LETTER_QUEUE_URL", Value::read)?;
        fill.setting(&mut self.max_receive_count, "REDRIVE_MAX_RECEIVE_COUNT", Value::read)?;
        fill.setting(&mut self.visibility_timeout, "REDRIVE_VISIBILITY_TIMEOUT", Value::read)?;
        fill.setting(&mut self.concurrency, "REDRIVE_CONCURRENCY", Value::read)?;
        fill.setting(&mut self.time_limit, "REDRIVE_TIME_LIMIT", Value::read)?;
        fill.setting(&mut self.backoff, "REDRIVE_BACKOFF", Variable::backoff)?;
        fill.setting(&mut self.overrides, "REDRIVE_OVERRIDES", Variable::overrides)?;
        fill.setting(&mut self.origin_senders, ORIGIN_SENDERS, Value::read)?;
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

    /// Returns the value that the code sets, unless it is refused, which [`check`](Self::check) reports. The last call wins.
    pub(crate) fn keep<T: Value>(&mut self, given: T::Given) -> Option<T> {
        self.refused.remove(T::NAME);
        T::new(T::NAME, given).map_err(|refusal| self.refused.insert(T::NAME, refusal)).ok()
    }

    /// # Errors
    /// The code has set a value that is not allowed, or a delay is too long beside the queue's visibility timeout.
    pub(crate) fn check(&self) -> Result<(), InvalidSetting> {
        self.check_queues()?;
        self.check_refused()?;
        let (longest, visibility) = (self.longest(), self.visibility_timeout());
        match self.backoff.as_ref().and_then(longest_delay).filter(|delay| *delay > longest) {
            Some(delay) => {
                let allowed = format!(
                    "delays of at most {} s: SQS allows {} h in all, of which the visibility timeout may take {} s",
                    longest.as_secs(),
                    LONGEST_VISIBILITY.as_secs() / 3_600,
                    visibility.as_secs()
                );
                Err(InvalidSetting::new("backoff", format!("up to {delay:?}"), allowed))
            }
            None => Ok(()),
        }
    }

    /// # Errors
    /// The code has set a value that is not allowed.
    fn check_refused(&self) -> Result<(), InvalidSetting> {
        self.refused.values().next().cloned().map_or(Ok(()), Err)
    }

    /// Refuses rates on Lambda: messages that wait for their turn would cost the function's time, and those that return would
    /// cost deliveries.
    ///
    /// # Errors
    /// A rate is set, or the code has set a value that is not allowed.
    pub(crate) fn check_function(&self) -> Result<(), InvalidSetting> {
        self.check_refused()?;
        let rates = [
            ("the rate (REDRIVE_RATE)", self.rate.as_deref()),
            ("the rate of a key", self.rate_of_key.as_deref()),
        ];
        let allowed = "none on Lambda: set MaximumConcurrency and BatchSize of the event source mapping, or run a worker";
        let mut set = rates.into_iter().filter_map(|(name, rate)| Some((name, rate?)));
        set.next().map_or(Ok(()), |(name, rate)| Err(InvalidSetting::new(name, rate, allowed)))
    }

    pub(crate) fn concurrency(&self) -> usize {
        self.concurrency.as_deref().copied().unwrap_or(10)
    }

    /// Sets the concurrency, if it is not set.
    #[cfg(feature = "worker")]
    pub(crate) fn default_concurrency(&mut self, default: usize) {
        if self.concurrency.is_none() {
            self.concurrency = self.keep(default);
        }
    }

    pub(crate) fn outage_horizon(&self) -> Duration {
        self.outage_horizon.as_deref().copied().unwrap_or(Duration::from_secs(4 * 3_600))
    }

    /// Returns the time that a worker's handlers have to finish after shutdown begins.
    pub(crate) fn drain(&self) -> Duration {
        self.drain.as_deref().copied().unwrap_or(Duration::from_secs(25))
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metrics_namespace.as_deref().unwrap_or("Redrive")
    }

    /// Returns the part of the remaining time that is reserved for settling.
    pub(crate) fn reserve_of(&self, left: Duration) -> Duration {
        let (least, most) = (Duration::from_millis(500), Duration::from_secs(5));
        let reserve = self.reserve.unwrap_or((left / 10).clamp(least, most));
        reserve.max(SHORTEST_RESERVE).min(left / 2)
    }

    pub(crate) fn visibility_timeout(&self) -> Duration {
        self.visibility_timeout.as_deref().copied().unwrap_or(Duration::from_secs(30))
    }

    /// Returns the longest delay that SQS is sure to accept: the 12 hours count from the receive, which was at most a
    /// visibility timeout ago.
    pub(crate) fn longest(&self) -> Duration {
        LONGEST_VISIBILITY - self.visibility_timeout()
    }
}

/// An invalid setting: its name, its value, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSetting(String);

impl InvalidSetting {
    /// Creates the error for a queue that the settings are not for.
    pub(crate) fn second_source(arn: &str, first: &str, name: &str) -> Self {
        let allowed = format!(
            "{first}, whose {name} is set; to have several queues feed one function, name each in REDRIVE_QUEUES or by Consumer::queue"
        );
        Self::new("eventSourceARN", Quoted(arn), allowed)
    }

    pub(crate) fn log(filter: &str, error: &dyn fmt::Display) -> Self {
        Self::new(
            "REDRIVE_LOG",
            Quoted(filter),
            format!(
                "off, error, warn, info, debug or trace, also by target such as \"info,orders=debug\" ({})",
                cut_to(&error.to_string(), 256)
            ),
        )
    }

    pub(crate) fn new(name: &str, value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self(format!("{name} is {value}, allowed: {allowed}"))
    }
}

#[cfg(test)]
mod tests;
