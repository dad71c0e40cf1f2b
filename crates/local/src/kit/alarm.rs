//! Alarms.

use std::collections::BTreeMap;
use std::time::Duration;

use super::TestAws;
use crate::cloudwatch::AlarmConfig;
use crate::cloudwatch::{AlarmState, Comparison, MissingData};
use crate::values::Statistic;

/// An alarm of a [`TestAws`]. It is evaluated every minute.
#[derive(Debug, Clone)]
pub struct Alarm {
    aws: TestAws,
    name: String,
}

impl TestAws {
    /// Creates an alarm, or replaces the one of the same name.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use redrive_local::kit::TestAws;
    /// use redrive_local::{AlarmConfig, AlarmState};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
    /// let aws = TestAws::new();
    /// let dead = aws.queue("orders-dead").create();
    /// let alarm = aws.alarm(AlarmConfig::depth_of("orders-dead"));
    ///
    /// dead.send("a letter");
    /// tokio::time::sleep(Duration::from_secs(60)).await;
    /// assert_eq!(alarm.state(), AlarmState::Alarm);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If CloudWatch would refuse the alarm.
    #[track_caller]
    #[must_use]
    pub fn alarm(&self, config: AlarmConfig) -> Alarm {
        let name = config.name.clone();
        if let Err(refusal) = self.with(|account, now| account.put_alarm(config, now)) {
            panic!("{refusal}");
        }
        Alarm { aws: self.clone(), name }
    }
}

impl Alarm {
    /// Returns the present state.
    #[must_use]
    pub fn state(&self) -> AlarmState {
        self.changes().last().map_or(AlarmState::InsufficientData, |&(_, state)| state)
    }

    /// Returns the changes of state, each with its time since the account was created.
    #[must_use]
    pub fn changes(&self) -> Vec<(Duration, AlarmState)> {
        self.aws.alarm_changes(&self.name)
    }
}

impl AlarmConfig {
    /// An alarm on the depth of a queue, such as a dead-letter queue. It goes off after a minute in which a message was
    /// visible.
    #[must_use]
    pub fn depth_of(queue: &str) -> Self {
        let metric = "ApproximateNumberOfMessagesVisible";
        Self {
            name: format!("{metric}-{queue}"),
            statistic: Statistic::Maximum,
            ..Self::sum_of("AWS/SQS", metric, [("QueueName", queue)])
        }
    }

    /// An alarm that goes off after a minute in which the sum of a metric was 1 or more. Name all dimensions that the metric
    /// has.
    #[must_use]
    pub fn sum_of<'a>(
        namespace: &str,
        metric: &str,
        dimensions: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let dimensions = dimensions.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            name: metric.to_owned(),
            description: None,
            namespace: namespace.to_owned(),
            metric: metric.to_owned(),
            dimensions: dimensions.collect::<BTreeMap<_, _>>(),
            unit: None,
            statistic: Statistic::Sum,
            period: Duration::from_secs(60),
            evaluation_periods: 1,
            datapoints_to_alarm: 1,
            threshold: 1.0,
            comparison: Comparison::GreaterThanOrEqualToThreshold,
            missing: MissingData::NotBreaching,
        }
    }
}
