//! The definition of an alarm, with CloudWatch's checks.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>

use crate::cloudwatch::{Metric, Statistic, Unit};

/// The comparison of a statistic with an alarm's threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "CloudWatch has no other")]
pub enum Comparison {
    /// `>`
    GreaterThanThreshold,
    /// `>=`
    GreaterThanOrEqualToThreshold,
    /// `<`
    LessThanThreshold,
    /// `<=`
    LessThanOrEqualToThreshold,
}

/// The meaning of a period without values (`TreatMissingData`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "CloudWatch has no other")]
pub enum MissingData {
    /// Unknown, CloudWatch's default.
    #[default]
    Missing,
    /// Within the threshold.
    NotBreaching,
    /// Beyond the threshold.
    Breaching,
    /// Ignored: the state does not change.
    Ignore,
}

/// The meaning of a percentile of too few values (`EvaluateLowSampleCountPercentile`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LowSamples {
    Evaluate,
    Ignore,
}

/// The definition of an alarm. Optional parts are returned as they were given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) metric: Metric,
    pub(crate) unit: Option<Unit>,
    pub(crate) statistic: Statistic,
    /// Length of a period in seconds.
    pub(crate) period: u64,
    pub(crate) evaluation_periods: u32,
    pub(crate) datapoints_to_alarm: Option<u32>,
    pub(crate) threshold: f64,
    pub(crate) comparison: Comparison,
    pub(crate) missing: Option<MissingData>,
    pub(crate) low_samples: Option<LowSamples>,
    pub(crate) actions: Actions,
}

/// The actions that CloudWatch would call at a change of state. Here nothing calls them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Actions {
    pub(crate) enabled: bool,
    pub(crate) ok: Vec<String>,
    pub(crate) alarm: Vec<String>,
    pub(crate) insufficient_data: Vec<String>,
}

impl Definition {
    /// # Errors
    /// Returns CloudWatch's refusal.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { period, evaluation_periods: periods, .. } = *self;
        if !matches!(period, 10 | 20 | 30) && (period == 0 || !period.is_multiple_of(60)) {
            return Err(period_is_wrong(period));
        }
        if periods == 0 {
            return Err("EvaluationPeriods 0 is less than 1".into());
        }
        if self.needed() == 0 {
            return Err("DatapointsToAlarm 0 is less than 1".into());
        }
        if self.needed() > periods {
            return Err("DatapointsToAlarm must be less than or equal to EvaluationPeriods".into());
        }
        let most = if period < 3_600 { 86_400 } else { 604_800 };
        let together = period.saturating_mul(periods.into());
        if together > most {
            return Err(format!(
                "Period {period} times EvaluationPeriods {periods} is more than {most} seconds"
            ));
        }
        Ok(())
    }

    /// Returns the number of periods that must breach.
    pub(crate) fn needed(&self) -> u32 {
        self.datapoints_to_alarm.unwrap_or(self.evaluation_periods)
    }

    /// Returns the seconds from one evaluation to the next.
    pub(crate) fn interval(&self) -> u64 {
        if self.period < 60 { 10 } else { 60 }
    }
}

pub(super) fn period_is_wrong(period: impl std::fmt::Display) -> String {
    format!("Period {period} is not 10, 20, 30 or a multiple of 60 seconds")
}

impl Default for Actions {
    fn default() -> Self {
        Self { enabled: true, ok: vec![], alarm: vec![], insufficient_data: vec![] }
    }
}

impl Comparison {
    pub(crate) const ALL: [Self; 4] = [
        Self::GreaterThanOrEqualToThreshold,
        Self::GreaterThanThreshold,
        Self::LessThanThreshold,
        Self::LessThanOrEqualToThreshold,
    ];

    pub(crate) fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::GreaterThanThreshold => value > threshold,
            Self::GreaterThanOrEqualToThreshold => value >= threshold,
            Self::LessThanThreshold => value < threshold,
            Self::LessThanOrEqualToThreshold => value <= threshold,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GreaterThanThreshold => "GreaterThanThreshold",
            Self::GreaterThanOrEqualToThreshold => "GreaterThanOrEqualToThreshold",
            Self::LessThanThreshold => "LessThanThreshold",
            Self::LessThanOrEqualToThreshold => "LessThanOrEqualToThreshold",
        }
    }

    /// Returns the words for the comparison in an alarm's reason.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::GreaterThanThreshold => "greater than",
            Self::GreaterThanOrEqualToThreshold => "greater than or equal to",
            Self::LessThanThreshold => "less than",
            Self::LessThanOrEqualToThreshold => "less than or equal to",
        }
    }
}

impl MissingData {
    pub(crate) const ALL: [Self; 4] = [Self::Breaching, Self::NotBreaching, Self::Ignore, Self::Missing];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotBreaching => "notBreaching",
            Self::Breaching => "breaching",
            Self::Ignore => "ignore",
        }
    }
}

impl LowSamples {
    pub(crate) const ALL: [Self; 2] = [Self::Evaluate, Self::Ignore];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Evaluate => "evaluate",
            Self::Ignore => "ignore",
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Returns an alarm on `Errors >= 1`.
    pub(crate) fn definition(needed: u32, periods: u32, missing: Option<MissingData>) -> Definition {
        Definition {
            name: "TooMany".into(),
            description: None,
            metric: Metric::new("Shop", "Errors", []),
            unit: None,
            statistic: Statistic::Maximum,
            period: 60,
            evaluation_periods: periods,
            datapoints_to_alarm: (needed != periods).then_some(needed),
            threshold: 1.0,
            comparison: Comparison::GreaterThanOrEqualToThreshold,
            missing,
            low_samples: None,
            actions: Actions::default(),
        }
    }
}
