//! The scenarios: their trouble, its duration, and the messages that arrive meanwhile. Pure.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::time;

/// How much there is to do.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Scenarios")]
pub(super) struct Load {
    /// How many messages arrive, such as 10/s, 500/min or 2000/h
    #[arg(long, value_name = "RATE", value_parser = rate, default_value = "10/s")]
    pub(super) rate: f64,

    /// How long a call to the dependency takes
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "20ms")]
    pub(super) call: Duration,

    /// How long the dependency is down
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "4h")]
    pub(super) outage: Duration,

    /// Maximum number of messages in each simulation, 100 to 50000
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(100..=50_000), default_value_t = 1_000)]
    pub(super) messages: u32,

    /// Simulate a worker with the function's settings. Its cost covers SQS only
    #[arg(long)]
    pub(super) worker: bool,
}

/// Parses a rate, in messages a second.
fn rate(text: &str) -> Result<f64, String> {
    let units = [("/s", 1.0), ("/min", 60.0), ("/h", 3_600.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number / seconds)
    });
    let parsed = parsed.filter(|rate| (0.001..=100_000.0).contains(rate));
    parsed.ok_or_else(|| {
        "allowed: messages per second, minute or hour, such as 10/s, 500/min or 20/h".to_owned()
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scenario {
    /// All calls fail for a while
    Outage,
    /// Ten times as many messages arrive for ten minutes
    Burst,
    /// One tenant sends 9 of 10 messages, and its calls are slow and fail
    Noisy,
}

/// What the handler returns when a call has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Errors {
    /// Any error, returned with the ? operator
    Retry,
    /// Failure::outage
    Outage,
}

/// Name of the noisy tenant.
pub(super) const NOISY: &str = "noisy";

impl Scenario {
    pub(super) const ALL: [Self; 3] = [Self::Outage, Self::Burst, Self::Noisy];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Outage => "outage",
            Self::Burst => "burst",
            Self::Noisy => "noisy",
        }
    }

    /// Returns the errors to simulate. In a burst no call fails.
    pub(super) const fn errors(self) -> &'static [Errors] {
        match self {
            Self::Outage | Self::Noisy => &[Errors::Retry, Errors::Outage],
            Self::Burst => &[Errors::Retry],
        }
    }

    /// Returns the tenant of a message by its number.
    pub(super) const fn tenant(self, number: u32) -> &'static str {
        match self {
            Self::Noisy if number % 10 != 9 => NOISY,
            Self::Outage | Self::Burst | Self::Noisy => "quiet",
        }
    }
}

/// Arrival of messages in groups. The trouble begins after the calm and ends with the last message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Course {
    pub(super) calm: Duration,
    pub(super) trouble: Duration,
    pub(super) group: u32,
    pub(super) every: Duration,
    /// Number of groups before the trouble, and until its end.
    pub(super) calm_groups: u32,
    pub(super) groups: u32,
}

/// Least number of groups. With fewer messages, all batches would have one message.
const LEAST_GROUPS: u32 = 100;

impl Course {
    /// Plans the arrivals. If there are more messages than the simulation allows, it takes a part over the whole time, as many at
    /// once as arrive within a second. A burst keeps its rate, and ends early.
    pub(super) fn of(scenario: Scenario, load: &Load) -> Self {
        let trouble = match scenario {
            Scenario::Outage => load.outage,
            Scenario::Burst => Duration::from_secs(600),
            Scenario::Noisy => Duration::from_secs(3_600),
        };
        if scenario == Scenario::Burst {
            let rate = 10.0 * load.rate;
            let trouble = trouble.min(Duration::from_secs_f64(f64::from(load.messages) / rate));
            return Self::evenly(Duration::ZERO, trouble, rate, load.messages);
        }
        Self::evenly(trouble / 12, trouble, load.rate, load.messages)
    }

    fn evenly(calm: Duration, trouble: Duration, rate: f64, most: u32) -> Self {
        let wanted = ((calm + trouble).as_secs_f64() * rate).round().max(1.0);
        let messages = wanted.min(f64::from(most));
        let group = rate.round().clamp(1.0, (messages / f64::from(LEAST_GROUPS)).max(1.0)).floor();
        let groups = (messages / group).floor().max(1.0);
        let every = (calm + trouble).div_f64(groups);
        let calm_groups = (calm.as_secs_f64() / every.as_secs_f64()).floor();
        // All numbers are at most 50,000.
        Self {
            calm,
            trouble,
            group: group as u32,
            every,
            calm_groups: calm_groups as u32,
            groups: groups as u32,
        }
    }

    pub(super) const fn messages(&self) -> u32 {
        self.group * self.groups
    }

    pub(super) fn end(&self) -> Duration {
        self.calm + self.trouble
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(rate: f64, messages: u32) -> Load {
        let (call, outage) = (Duration::from_millis(20), Duration::from_secs(4 * 3_600));
        Load { rate, call, outage, messages, worker: false }
    }

    #[test]
    fn a_rate_is_messages_per_unit_of_time() {
        assert_eq!((rate("10/s"), rate("30/min"), rate("1800/h")), (Ok(10.0), Ok(0.5), Ok(0.5)));
        for wrong in ["10", "-1/s", "0/s", "NaN/s", "inf/s", "1e9/s", "fast"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fewer_messages_are_spread_over_the_whole_outage() {
        let course = Course::of(Scenario::Outage, &load(10.0, 2_000));
        assert_eq!((course.messages(), course.group, course.every), (2_000, 10, Duration::from_secs(78)));
        let all = Course::of(Scenario::Outage, &load(0.01, 2_000));
        assert_eq!((all.messages(), all.group), (156, 1));
    }

    #[test]
    fn a_burst_keeps_its_rate_and_is_shorter() {
        let course = Course::of(Scenario::Burst, &load(10.0, 2_000));
        assert_eq!((course.trouble, course.messages()), (Duration::from_secs(20), 2_000));
    }
}
