//! Settings: from the code, else the environment, else the default.

mod choices;
pub(crate) mod names;
mod policy;
mod queues;
mod table;
mod values;
mod variable;

use std::fmt;
use std::time::Duration;

use redrive_engine::longest_delay;
use redrive_sqs::{LONGEST_VISIBILITY, Quoted, cut_to};

pub use crate::settings::choices::Metrics;
pub use crate::settings::names::variables;
pub use crate::settings::queues::variable_of_queue;
pub use crate::settings::table::VARIABLES_OF_ONE_QUEUE;
pub(crate) use crate::settings::table::{Settings, VARIABLES, for_all_settings};
pub(crate) use crate::settings::values::{
    ChunkBytes, ChunkSize, LONGEST_VISIBILITY_TIMEOUT, QueueUrl, Value, VisibilityTimeout,
};
use crate::settings::variable::Fill;

/// An empty value of this variable is refused, because it would trust every sender.
const ORIGIN_SENDERS: &str = "REDRIVE_ORIGIN_SENDERS";

/// The shortest reserve. Less would not be enough to cancel handlers and to respond.
const SHORTEST_RESERVE: Duration = Duration::from_millis(200);

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
        self.fill_others(&fill)?;
        match variable(queues::VARIABLE).filter(|queues| !queues.is_empty()) {
            Some(queues) => self.fill_queues(&queues).map(|()| self),
            None => Ok(self),
        }
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
        let reserve = self.reserve.as_deref().copied().unwrap_or((left / 10).clamp(least, most));
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
