//! Computes in advance how a consumer retries a message that keeps failing.

use std::time::Duration;

use redrive_sqs::is_same_queue;

use crate::error::Error;
use crate::settings::Settings;
use redrive_engine::decide::{Case, Unstarted, decide_lane};
use redrive_engine::{LastDelivery, MessageOverrides, NextStep, Outcome};

/// Predicts the result of each failed attempt with the code that decides in the function itself.
///
/// It knows the `REDRIVE_*` variables, but not the settings in the consumer's code, the overrides of a message, or the
/// delay that an error sets.
///
/// ```
/// use redrive::LastDelivery;
/// use redrive::tools::{Retries, Retry};
/// use std::time::Duration;
///
/// let variable = |name: &str| match name {
///     "REDRIVE_MAX_RECEIVE_COUNT" => Some("3".to_owned()),
///     "REDRIVE_BACKOFF" => Some(r#"{"kind": "fixed", "delay": 60, "jitter": 10}"#.to_owned()),
///     _ => None,
/// };
/// let retries = Retries::from_variables("orders", variable)?;
/// assert_eq!(retries.after(1, 0.5), Retry::In(Duration::from_secs(60)));
/// assert_eq!(retries.after(2, 1.0), Retry::In(Duration::from_secs(70)));
/// assert_eq!(retries.after(3, 0.5), Retry::Never(LastDelivery::RedrivePolicy));
/// # Ok::<(), redrive::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Retries {
    settings: Box<Settings>,
    queue: String,
}

/// The result of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// The message is visible again after this long.
    In(Duration),
    /// It was the last delivery. The message leaves its queue at once, in this way.
    Never(LastDelivery),
}

impl Retries {
    /// Reads these variables of a function, for the queue with this ARN or name.
    ///
    /// # Errors
    /// A variable is invalid; the error names it, its value and what is allowed.
    pub fn from_variables(queue: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let settings = Settings::default().or_environment(variable)?;
        settings.check()?;
        let settings = Box::new(settings.of_queue(queue)?.into_owned());
        Ok(Self { settings, queue: queue.to_owned() })
    }

    /// Checks that a function starts with these settings.
    ///
    /// # Errors
    /// A setting is for workers only; the error names it, its value and what to set instead.
    pub fn check_function(&self) -> Result<(), Error> {
        Ok(self.settings.check_function()?)
    }

    /// Returns the result of attempt number `attempt` (from 1) if its handler returns an error.
    ///
    /// `random` is a number from 0 to 1 that places the delay within the jitter.
    #[must_use]
    pub fn after(&self, attempt: u32, random: f64) -> Retry {
        let url = self.settings.dead_letter_queue_url.as_deref();
        let has_dead_letter_queue = url.is_some_and(|url| !is_same_queue(&self.queue, url));
        let policy = self.settings.policy(&self.queue, has_dead_letter_queue);
        let (outcome, asked) = (Outcome::TimedOut, MessageOverrides::default());
        let case = Case { outcome: &outcome, attempt, overrides: &asked, age: Duration::ZERO, random };
        match decide_lane(&[case], &policy, Unstarted::Backoff).swap_remove(0) {
            NextStep::ByRedrivePolicy => Retry::Never(LastDelivery::RedrivePolicy),
            NextStep::DeadLetter { .. } => Retry::Never(LastDelivery::DeadLetter),
            NextStep::Retry { after } | NextStep::Release { after } => Retry::In(after),
            NextStep::Ack | NextStep::Leave => Retry::In(self.settings.visibility_timeout()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retries(queue: &str, variables: &[(&str, &str)]) -> Result<Retries, Error> {
        Retries::from_variables(queue, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const fn after(seconds: u64) -> Retry {
        Retry::In(Duration::from_secs(seconds))
    }

    const BY_POLICY: Retry = Retry::Never(LastDelivery::RedrivePolicy);
    const BY_LETTER: Retry = Retry::Never(LastDelivery::DeadLetter);

    #[test]
    fn a_retry_depends_on_the_queue_and_its_settings() {
        let arn = |name: &str| format!("arn:aws:sqs:eu-west-1:123456789012:{name}");
        let max = ("REDRIVE_MAX_RECEIVE_COUNT", "3");
        let dead =
            ("REDRIVE_DEAD_LETTER_QUEUE_URL", "https://sqs.eu-west-1.amazonaws.com/123456789012/orders-dead");
        let last = ("REDRIVE_LAST_DELIVERY", "dead-letter");
        let timeout = ("REDRIVE_VISIBILITY_TIMEOUT", "180");
        let queues = format!(r#"{{"{}": {{"max_receive_count": 2}}}}"#, arn("a"));
        let queues = ("REDRIVE_QUEUES", queues.as_str());
        for (queue, variables, expected) in [
            ("orders", &[max, dead][..], &[(2, after(4)), (3, BY_POLICY), (4, BY_LETTER)][..]),
            ("orders.fifo", &[max, dead], &[(2, after(4)), (3, BY_LETTER)]),
            ("orders.fifo", &[max], &[(3, BY_POLICY), (4, after(16))]),
            ("orders", &[max, dead, last], &[(3, BY_LETTER)]),
            // The rest of the 12 hours.
            ("orders", &[], &[(15, after(32_768)), (1_000, after(43_170))]),
            ("orders", &[timeout], &[(u32::MAX, after(43_020))]),
            // Its dead-letter queue is the queue itself.
            (&arn("orders-dead"), &[max, dead], &[(4, after(16))]),
            (&arn("a"), &[queues], &[(1, after(2)), (2, BY_POLICY)]),
        ] {
            let retries = retries(queue, variables).unwrap();
            for (attempt, retry) in expected {
                assert_eq!(retries.after(*attempt, 0.5), *retry, "{queue} {variables:?} {attempt}");
            }
        }
    }

    #[test]
    fn a_variable_that_cannot_be_kept_is_named() {
        for (name, value, said) in [
            ("REDRIVE_MAX_RECEIVE_COUNT", "none", "a whole number from 1 to 1000"),
            ("REDRIVE_BACKOFF", r#"{"max": 43200}"#, "delays of at most 43170 s"),
            ("REDRIVE_QUEUES", r#"{"arn:aws:sqs:eu-west-1:123456789012:a": {}}"#, "REDRIVE_QUEUES"),
        ] {
            let error = retries("orders", &[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
