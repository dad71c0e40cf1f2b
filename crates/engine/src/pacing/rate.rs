//! A limit on the messages that start per second, minute or hour.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use redrive_sqs::in_words;

/// A limit on the messages that start per second, minute or hour, by a token bucket. The bucket holds at most the burst, and
/// each message that starts takes a token. So in any period, at most the burst plus the rate times the period may start.
///
/// ```
/// use redrive::Rate;
///
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// let consumer = redrive::Consumer::new(place).rate(Rate::per_minute(3_000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub struct Rate {
    messages: u32,
    per: Unit,
    burst: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Unit {
    Second,
    Minute,
    Hour,
}

/// The number of messages that a rate or a burst may have.
pub const ALLOWED: RangeInclusive<u32> = 1..=1_000_000;
/// Time of a receive under way. A bucket without a burst has room for the messages of this time, and for one more.
const UNDER_WAY: Duration = Duration::from_millis(500);

impl Rate {
    /// Allows this many messages a second, 1 to 1,000,000.
    pub const fn per_second(messages: u32) -> Self {
        Self { messages, per: Unit::Second, burst: None }
    }

    /// Allows this many messages a minute, 1 to 1,000,000.
    pub const fn per_minute(messages: u32) -> Self {
        Self { messages, per: Unit::Minute, burst: None }
    }

    /// Allows this many messages an hour, 1 to 1,000,000.
    pub const fn per_hour(messages: u32) -> Self {
        Self { messages, per: Unit::Hour, burst: None }
    }

    /// Sets how many messages may start at once after a quiet time, 1 to 1,000,000. Default: one, plus the messages of half a
    /// second. With less than that, a worker may not reach the rate, because tokens are lost while it waits for SQS.
    pub const fn burst(self, messages: u32) -> Self {
        Self { burst: Some(messages), ..self }
    }

    /// Parses a rate such as `50/s`, `3000/min` or `10/h`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (messages, unit) = text.split_once('/')?;
        let messages = messages.parse().ok()?;
        let rate = match unit {
            "s" => Self::per_second(messages),
            "min" => Self::per_minute(messages),
            "h" => Self::per_hour(messages),
            _ => return None,
        };
        Some(rate).filter(|rate| rate.refusal().is_none())
    }

    /// Returns the allowed values if the rate or its burst is not allowed.
    pub(crate) fn refusal(&self) -> Option<String> {
        let messages = in_words(&ALLOWED);
        match self.burst {
            _ if !ALLOWED.contains(&self.messages) => {
                Some(format!("{messages} messages a second, minute or hour"))
            }
            Some(burst) if !ALLOWED.contains(&burst) => Some(format!("a burst of {messages} messages")),
            _ => None,
        }
    }

    /// Returns the number of messages that a bucket gains in each [`period`](Self::period).
    pub(crate) const fn messages(&self) -> u32 {
        self.messages
    }

    pub(crate) const fn period(&self) -> Duration {
        Duration::from_secs(match self.per {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 3_600,
        })
    }

    /// Returns the time in which this many messages start.
    pub(crate) fn time_for(&self, messages: usize) -> Duration {
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        self.period().saturating_mul(messages) / self.messages.max(1)
    }

    /// Returns the capacity of a bucket, in nanoseconds times messages: a message costs the nanoseconds of a period.
    pub(crate) fn capacity(&self) -> i128 {
        let cost = nanoseconds(self.period());
        match self.burst {
            Some(burst) => i128::from(burst) * cost,
            None => cost + i128::from(self.messages) * nanoseconds(UNDER_WAY),
        }
    }
}

/// Parses a rate such as `50/s`, `3000/min` or `10/h`.
pub fn parse_rate(text: &str) -> Option<Rate> {
    Rate::parse(text)
}

/// Returns the allowed values if a rate or its burst is not allowed.
pub fn rate_refusal(rate: &Rate) -> Option<String> {
    rate.refusal()
}

pub(crate) fn nanoseconds(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per {
            Unit::Second => "s",
            Unit::Minute => "min",
            Unit::Hour => "h",
        };
        write!(f, "{}/{unit}", self.messages)?;
        self.burst.map_or(Ok(()), |burst| write!(f, " with a burst of {burst}"))
    }
}
