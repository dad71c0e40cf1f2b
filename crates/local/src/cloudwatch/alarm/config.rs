//! The configuration of an alarm, from a template or a test.

use std::collections::BTreeMap;
use std::time::Duration;

use super::definition::{Actions, Comparison, Definition, MissingData, period_is_wrong};
use crate::cloudwatch::{Metric, Statistic, Unit};

/// A CloudWatch alarm on one metric.
#[derive(Debug, Clone)]
pub struct AlarmConfig {
    /// Its name.
    pub name: String,
    /// Its description, for the people that it notifies.
    pub description: Option<String>,
    /// The metric's namespace, such as `AWS/SQS`.
    pub namespace: String,
    /// The metric's name.
    pub metric: String,
    /// The metric's dimensions, all of them.
    pub dimensions: BTreeMap<String, String>,
    /// The unit of the values that count. By default all values count.
    pub unit: Option<Unit>,
    /// The statistic of a period's values.
    pub statistic: Statistic,
    /// The length of a period: 10, 20 or 30 seconds, or whole minutes.
    pub period: Duration,
    /// Number of periods that are evaluated.
    pub evaluation_periods: u32,
    /// Number of these periods that must breach.
    pub datapoints_to_alarm: u32,
    /// The value that the statistic is compared with.
    pub threshold: f64,
    /// The comparison of statistic and threshold.
    pub comparison: Comparison,
    /// The meaning of a period without values.
    pub missing: MissingData,
}

impl AlarmConfig {
    /// # Errors
    /// Returns CloudWatch's refusal.
    pub(crate) fn definition(self) -> Result<Definition, String> {
        let name = self.name.clone();
        let refused = |reason| format!("alarm {name}: {reason}");
        if self.period.subsec_nanos() != 0 {
            return Err(refused(period_is_wrong(format!("{:?}", self.period))));
        }
        let (periods, needed) = (self.evaluation_periods, self.datapoints_to_alarm);
        let definition = Definition {
            name: self.name,
            description: self.description,
            metric: Metric { namespace: self.namespace, name: self.metric, dimensions: self.dimensions },
            unit: self.unit,
            statistic: self.statistic,
            period: self.period.as_secs(),
            evaluation_periods: periods,
            datapoints_to_alarm: (needed != periods).then_some(needed),
            threshold: self.threshold,
            comparison: self.comparison,
            missing: Some(self.missing),
            low_samples: None,
            actions: Actions::default(),
        };
        definition.check().map_err(refused)?;
        Ok(definition)
    }
}
