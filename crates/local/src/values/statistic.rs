//! A statistic of the values of a period.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Statistics-definitions.html>

use std::fmt::{self, Display};
use std::str::FromStr;

/// A statistic of the values of a period.
///
/// ```
/// use redrive_local::Statistic;
///
/// assert_eq!("p99.9".parse(), Ok(Statistic::Percentile(99.9)));
/// assert_eq!(Statistic::Sum.to_string(), "Sum");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Statistic {
    /// The sum of the values.
    Sum,
    /// The largest value.
    Maximum,
    /// The smallest value.
    Minimum,
    /// The mean of the values.
    Average,
    /// The number of values.
    SampleCount,
    /// The smallest value that this percentage of the values does not exceed: 0 to 100. It does not exist for statistic sets
    /// and for negative values.
    Percentile(f64),
}

/// The error for a name that is not a statistic, or not one that is computed here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("statistic {0} is not Sum, Maximum, Minimum, Average, SampleCount or a percentile such as p99.9")]
pub struct UnknownStatistic(String);

impl FromStr for Statistic {
    type Err = UnknownStatistic;

    fn from_str(name: &str) -> Result<Self, UnknownStatistic> {
        Ok(match name {
            "Sum" => Self::Sum,
            "Maximum" => Self::Maximum,
            "Minimum" => Self::Minimum,
            "Average" => Self::Average,
            "SampleCount" => Self::SampleCount,
            _ => {
                let percent = name.strip_prefix('p').filter(|digits| digits.starts_with(char::is_numeric));
                let percent = percent.and_then(|digits| digits.parse().ok());
                let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
                Self::Percentile(percent.ok_or_else(|| UnknownStatistic(name.to_owned()))?)
            }
        })
    }
}

impl Display for Statistic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(percent) => write!(formatter, "p{percent}"),
            plain => write!(formatter, "{plain:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statistic_is_known_by_its_name_and_anything_else_is_refused() {
        for name in ["Sum", "Maximum", "Minimum", "Average", "SampleCount", "p0", "p50", "p99.99", "p100"] {
            assert_eq!(name.parse::<Statistic>().unwrap().to_string(), name);
        }
        for name in ["", "p", "p101", "p-1", "pinf", "pNaN", "sum", "tm90", "IQM"] {
            let refusal = name.parse::<Statistic>().unwrap_err();
            assert!(refusal.to_string().starts_with(&format!("statistic {name} is not")), "{refusal}");
        }
    }
}
