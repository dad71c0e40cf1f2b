//! The delay of a failed message, computed from the attempt and one random number.

use std::error::Error;
use std::time::Duration;

use redrive_sqs::LONGEST_VISIBILITY;
use serde::{Deserialize, Serialize, Serializer};

/// The delay after a failed attempt. The default is 2^attempt seconds: 2, 4, 8, … 512 s for the deliveries 1 to 9.
///
/// Delays are whole seconds, rounded up, and never exceed the [12
/// hours](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html) that SQS
/// allows.
///
/// ```
/// use redrive::{Backoff, Jitter};
/// use std::time::Duration;
///
/// let seconds = Duration::from_secs;
/// assert_eq!(Backoff::default().delay(3, 0.5), seconds(8));
///
/// let capped = Backoff::exponential(seconds(5), seconds(900))?;
/// assert_eq!([1, 2, 9].map(|attempt| capped.delay(attempt, 0.5).as_secs()), [5, 10, 900]);
///
/// let steps = Backoff::steps([seconds(1), seconds(5), seconds(15)])?.jitter(Jitter::Equal);
/// assert_eq!(steps.delay(7, 0.0), seconds(8)); // half of 15 s and no random part, rounded up
/// # Ok::<(), redrive::InvalidBackoff>(())
/// ```
///
/// A producer writes it into the message attribute `redrive.backoff` as JSON:
///
/// ```
/// use redrive::Backoff;
/// use std::time::Duration;
///
/// let backoff = Backoff::fixed(Duration::from_secs(60))?;
/// assert_eq!(serde_json::to_string(&backoff)?, r#"{"kind":"steps","delay":[60.0],"jitter":"none"}"#);
/// # Ok::<(), redrive::BoxError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Backoff {
    schedule: Schedule,
    jitter: Jitter,
}

#[derive(Debug, Clone, PartialEq)]
enum Schedule {
    /// Without a maximum, delays grow up to the 12 hours that SQS allows.
    Exponential { initial: Duration, multiplier: f64, maximum: Option<Duration> },
    /// Never empty; the last value repeats.
    Steps(Vec<Duration>),
}

/// The random spread of delays, so that messages that failed together do not return together.
///
/// ```
/// use redrive::{Backoff, Jitter};
/// use std::time::Duration;
///
/// let spread = Backoff::fixed(Duration::from_secs(60))?.jitter(Jitter::Symmetric(Duration::from_secs(10)));
/// assert_eq!([0.0, 0.5, 1.0].map(|random| spread.delay(1, random).as_secs()), [50, 60, 70]);
/// # Ok::<(), redrive::InvalidBackoff>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Jitter {
    /// No jitter.
    #[default]
    None,
    /// A random delay from 1 s to the full delay.
    Full,
    /// Half of the delay, plus a random part of the other half.
    Equal,
    /// The delay, plus or minus up to this much.
    Symmetric(Duration),
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DOUBLING
    }
}

impl Backoff {
    /// 2^attempt seconds.
    pub(crate) const DOUBLING: Self = Self {
        schedule: Schedule::Exponential { initial: Duration::from_secs(2), multiplier: 2.0, maximum: None },
        jitter: Jitter::None,
    };

    /// Creates a backoff that waits `initial` after the first attempt, and twice as long after each further one, up to
    /// `maximum`.
    ///
    /// # Errors
    /// `initial` is zero or above `maximum`, or `maximum` is above 12 hours.
    pub fn exponential(initial: Duration, maximum: Duration) -> Result<Self, InvalidBackoff> {
        Self::growing(initial, Some(maximum))
    }

    /// Sets the factor between consecutive delays, at least 1. Default: 2. Only an exponential backoff has a factor.
    ///
    /// # Errors
    /// The factor is below 1 or not finite, or the backoff is not exponential.
    pub fn multiplier(self, factor: f64) -> Result<Self, InvalidBackoff> {
        if !(factor.is_finite() && factor >= 1.0) {
            return Err(InvalidBackoff::new(format!("the multiplier is {factor}; it must be at least 1")));
        }
        let Schedule::Exponential { initial, maximum, .. } = self.schedule else {
            return Err(InvalidBackoff::new("only an exponential backoff can have a multiplier"));
        };
        Ok(Self { schedule: Schedule::Exponential { initial, multiplier: factor, maximum }, ..self })
    }

    /// Creates a backoff with the same delay after every attempt.
    ///
    /// # Errors
    /// The delay is above 12 hours.
    pub fn fixed(delay: Duration) -> Result<Self, InvalidBackoff> {
        Self::steps([delay])
    }

    /// Creates a backoff with one delay per attempt. The last one repeats.
    ///
    /// # Errors
    /// There is no delay, or one is above 12 hours.
    pub fn steps(delays: impl IntoIterator<Item = Duration>) -> Result<Self, InvalidBackoff> {
        let steps: Vec<_> = delays.into_iter().collect();
        if steps.is_empty() {
            return Err(InvalidBackoff::new("there are no steps; at least one is needed"));
        }
        steps.iter().try_for_each(|step| within_visibility(*step))?;
        Ok(Self { schedule: Schedule::Steps(steps), jitter: Jitter::None })
    }

    /// Spreads the delays. Default: none.
    #[must_use]
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Returns the delay after attempt number `attempt` (from 1; 0 counts as 1), in whole seconds.
    ///
    /// `random` is a number from 0 to 1 that places the delay within the jitter.
    #[must_use]
    pub fn delay(&self, attempt: u32, random: f64) -> Duration {
        let attempt = attempt.max(1);
        let delay = match &self.schedule {
            Schedule::Exponential { initial, multiplier, maximum } => {
                let exponent = i32::try_from(attempt - 1).unwrap_or(i32::MAX);
                let seconds = initial.as_secs_f64() * multiplier.powi(exponent);
                // Infinite past 2^1023, which `f64::min` handles.
                seconds.min(maximum.unwrap_or(LONGEST_VISIBILITY).as_secs_f64())
            }
            Schedule::Steps(steps) => steps[(attempt as usize - 1).min(steps.len() - 1)].as_secs_f64(),
        };
        let random = random.clamp(0.0, 1.0);
        let spread = match self.jitter {
            Jitter::None => delay,
            Jitter::Full => (delay * random).max(1.0),
            Jitter::Equal => (delay * (1.0 + random) / 2.0).max(1.0),
            Jitter::Symmetric(by) => (delay + by.as_secs_f64() * (2.0 * random - 1.0)).max(1.0),
        };
        // A rounding error of floating point must not turn 110 s into 111 s.
        let spread = (spread * 1e6).round() / 1e6;
        Duration::from_secs_f64(spread.ceil().min(LONGEST_VISIBILITY.as_secs_f64()))
    }

    /// Returns the longest configured delay, without jitter.
    pub(crate) fn longest(&self) -> Option<Duration> {
        match &self.schedule {
            Schedule::Exponential { maximum, .. } => *maximum,
            Schedule::Steps(steps) => steps.iter().copied().max(),
        }
    }

    /// Creates an exponential backoff, with or without a maximum.
    pub(crate) fn growing(initial: Duration, maximum: Option<Duration>) -> Result<Self, InvalidBackoff> {
        let most = maximum.unwrap_or(LONGEST_VISIBILITY);
        within_visibility(most)?;
        if initial.is_zero() || initial > most {
            return Err(InvalidBackoff::new(format!(
                "the initial delay is {initial:?}; it must be above 0 s and at most the maximum of {most:?}"
            )));
        }
        let schedule = Schedule::Exponential { initial, multiplier: 2.0, maximum };
        Ok(Self { schedule, jitter: Jitter::None })
    }
}

/// The default.
pub static DOUBLING: Backoff = Backoff::DOUBLING;

/// Returns the longest configured delay, without jitter.
pub fn longest_delay(backoff: &Backoff) -> Option<Duration> {
    backoff.longest()
}

/// Writes the value of the message attribute `redrive.backoff`, and of the variable `REDRIVE_BACKOFF`.
impl Serialize for Backoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let jitter = match self.jitter {
            Jitter::None => JitterSpec::Named(JitterName::None),
            Jitter::Full => JitterSpec::Named(JitterName::Full),
            Jitter::Equal => JitterSpec::Named(JitterName::Equal),
            Jitter::Symmetric(by) => JitterSpec::Seconds(by.as_secs_f64()),
        };
        let (kind, delay, max, multiplier) = match &self.schedule {
            // All fields are written, because a consumer completes missing ones from its own backoff.
            Schedule::Exponential { initial, multiplier, maximum } => {
                let maximum = maximum.unwrap_or(LONGEST_VISIBILITY).as_secs_f64();
                (
                    ScheduleKind::Exponential,
                    Delays::One(initial.as_secs_f64()),
                    Some(maximum),
                    Some(*multiplier),
                )
            }
            Schedule::Steps(steps) => {
                let steps = steps.iter().map(Duration::as_secs_f64).collect();
                (ScheduleKind::Steps, Delays::Many(steps), None, None)
            }
        };
        let spec = Spec { kind: Some(kind), delay: Some(delay), max, multiplier, jitter: Some(jitter) };
        spec.serialize(serializer)
    }
}

fn within_visibility(delay: Duration) -> Result<(), InvalidBackoff> {
    if delay > LONGEST_VISIBILITY {
        return Err(InvalidBackoff::new(format!(
            "a delay of {delay:?} is above the {} s that SQS allows",
            LONGEST_VISIBILITY.as_secs()
        )));
    }
    Ok(())
}

/// The error for an invalid [`Backoff`], such as one with a delay that SQS does not allow.
///
/// ```
/// let refused = redrive::Backoff::steps([]).unwrap_err();
/// assert_eq!(refused.to_string(), "there are no steps; at least one is needed");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidBackoff(String);

impl InvalidBackoff {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// A backoff as JSON, in `REDRIVE_BACKOFF` and in the attribute of a message.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Spec {
    kind: Option<ScheduleKind>,
    delay: Option<Delays>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multiplier: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    jitter: Option<JitterSpec>,
}

#[derive(Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ScheduleKind {
    Exponential,
    Fixed,
    Steps,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Delays {
    One(f64),
    Many(Vec<f64>),
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum JitterSpec {
    Named(JitterName),
    Seconds(f64),
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum JitterName {
    None,
    Full,
    Equal,
}

/// Parses a backoff from JSON. Missing fields are taken from `base`.
pub fn parse_backoff(json: &str, base: &Backoff) -> Result<Backoff, Box<dyn Error + Send + Sync>> {
    let spec: Spec = serde_json::from_str(json)?;
    let jitter = match spec.jitter {
        None => base.jitter,
        Some(JitterSpec::Named(JitterName::None)) => Jitter::None,
        Some(JitterSpec::Named(JitterName::Full)) => Jitter::Full,
        Some(JitterSpec::Named(JitterName::Equal)) => Jitter::Equal,
        Some(JitterSpec::Seconds(by)) => Jitter::Symmetric(seconds(by)?),
    };
    // Steps have no factor, so another kind of schedule starts with the default of 2.
    let (own, is_exponential, factor, maximum) = match &base.schedule {
        Schedule::Exponential { initial, multiplier, maximum } => {
            (vec![*initial], true, *multiplier, *maximum)
        }
        Schedule::Steps(steps) => (steps.clone(), false, 2.0, None),
    };
    let delays = match spec.delay {
        None => own,
        Some(Delays::One(delay)) => vec![seconds(delay)?],
        Some(Delays::Many(delays)) => delays.into_iter().map(seconds).collect::<Result<_, _>>()?,
    };
    let exponential = spec.kind.as_ref().map_or(is_exponential, |kind| *kind == ScheduleKind::Exponential);
    let backoff = match *delays.as_slice() {
        [initial] if exponential => {
            let maximum = spec.max.map(seconds).transpose()?.or(maximum);
            let backoff = Backoff::growing(initial, maximum)?;
            backoff.multiplier(spec.multiplier.unwrap_or(factor))?
        }
        _ if exponential => return Err("a list of delays requires the kind `steps`".into()),
        _ => Backoff::steps(delays)?,
    };
    Ok(backoff.jitter(jitter))
}

fn seconds(number: f64) -> Result<Duration, InvalidBackoff> {
    Duration::try_from_secs_f64(number)
        .map_err(|_| InvalidBackoff(format!("{number} is not a number of seconds")))
}

#[cfg(test)]
mod tests;
