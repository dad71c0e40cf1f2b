//! CloudWatch: metrics, alarms on them, and its API.
//!
//! Values of SQS, Lambda and the functions' logs go into the same store as those of PutMetricData. Alarms of a template and
//! of PutMetricAlarm are the same.

mod alarm;
mod alarms;
pub(crate) mod api;
mod body;
mod emf;
mod error;
mod of_functions;
mod of_queues;
mod store;
mod unit;

use std::time::{Duration, SystemTime};

pub(crate) use alarm::Definition;
pub use alarm::{AlarmConfig, AlarmState, Comparison, MissingData};
pub(crate) use alarms::AlarmChange;
pub(crate) use of_functions::Invoked;
pub use unit::Unit;

use alarms::Alarms;
use emf::BadDocument;
use of_queues::ActiveQueues;
use store::{Metric, Resolution, Store, moment, second};

use crate::clock::ClientClock;
use crate::sqs::Sqs;
use crate::values::{Statistic, ValueSet};

/// Largest value. Values above it or below its negative are refused.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>
const LARGEST_VALUE: f64 = f64::from_bits((1_023 + 360) << 52);

/// Returns true if an alarm on the metric can ever see a value here. In AWS's namespaces only a few metrics are published.
/// All other namespaces belong to clients and functions.
#[must_use]
pub fn is_published(namespace: &str, metric: &str) -> bool {
    match namespace {
        "AWS/SQS" => of_queues::METRICS.iter().any(|(name, ..)| *name == metric),
        "AWS/Lambda" => of_functions::METRICS.iter().any(|(name, _)| *name == metric),
        "AWS/Logs" => BadDocument::ALL.iter().any(|bad| bad.metric() == metric),
        _ => !namespace.starts_with("AWS/"),
    }
}

/// The CloudWatch of one account in one region.
#[derive(Debug)]
pub(crate) struct CloudWatch {
    region: String,
    account: String,
    store: Store,
    alarms: Alarms,
    active_queues: ActiveQueues,
    /// Time at which old data was last dropped.
    swept_at: SystemTime,
}

impl CloudWatch {
    pub(crate) fn new(region: &str, account: &str) -> Self {
        Self {
            region: region.to_owned(),
            account: account.to_owned(),
            store: Store::default(),
            alarms: Alarms::default(),
            active_queues: ActiveQueues::default(),
            swept_at: SystemTime::UNIX_EPOCH,
        }
    }

    /// Creates an alarm, or replaces its definition.
    pub(crate) fn put_alarm(&mut self, definition: Definition, now: SystemTime) {
        self.alarms.put(definition, now);
    }

    /// Returns the time of the next tick after a moment: the next minute, or sooner if an alarm has shorter periods.
    pub(crate) fn next_tick(&self, after: SystemTime) -> SystemTime {
        moment((second(after) / self.interval() + 1) * self.interval())
    }

    /// Returns true if no tick after this one can change anything until something happens, because all queues are inactive
    /// and alarms see no value.
    pub(crate) fn rests(&self, queues: &Sqs, ticked_at: SystemTime) -> bool {
        self.active_queues.are_none(queues, ticked_at) && self.alarms.rest(&self.store, ticked_at)
    }

    /// Skips the ticks until now, since none could change anything, and returns the last one.
    pub(crate) fn pass_over(&mut self, now: SystemTime) -> SystemTime {
        self.sweep(now);
        moment(second(now) / self.interval() * self.interval())
    }

    fn interval(&self) -> u64 {
        self.alarms.interval().unwrap_or(60)
    }

    /// Returns true if a tick can change any alarm.
    pub(crate) fn has_alarms(&self) -> bool {
        self.alarms.interval().is_some()
    }

    /// Publishes the metrics of the minute that ends now, if one does, and evaluates the alarms that are due.
    pub(crate) fn tick(&mut self, queues: &mut Sqs, at: SystemTime) {
        if second(at).is_multiple_of(60) {
            self.active_queues.publish(&mut self.store, queues, at);
            self.sweep(at);
        }
        self.alarms.evaluate(&self.store, at);
    }

    /// Returns the alarms' changes of state since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<AlarmChange> {
        self.alarms.take_changes()
    }

    pub(crate) fn invoked(&mut self, invoked: Invoked<'_>) {
        of_functions::invoked(&mut self.store, invoked);
    }

    pub(crate) fn throttled(&mut self, function: &str, now: SystemTime) {
        of_functions::throttled(&mut self.store, function, now);
    }

    /// Records the number of invocations of a function that run now.
    pub(crate) fn concurrent(&mut self, function: &str, running: usize, now: SystemTime) {
        of_functions::concurrent(&mut self.store, function, running, now);
    }

    /// Records the metrics in a line of a function's log. Returns true if the line is a document with metrics.
    pub(crate) fn log_line(
        &mut self,
        function: &str,
        line: &str,
        clock: ClientClock,
        now: SystemTime,
    ) -> bool {
        let found = match emf::read(line) {
            Ok(found) => found,
            Err(bad) => {
                let group = format!("/aws/lambda/{function}");
                let metric = Metric::new("AWS/Logs", bad.metric(), [("LogGroupName", group.as_str())]);
                let one = ValueSet::of(1.0, 1.0);
                self.store.record(&metric, Unit::COUNT, Resolution::Minute, &one, now);
                return true;
            }
        };
        for embedded in &found {
            for values in &embedded.values {
                let at = clock.to_simulated(embedded.at);
                self.store.record(&embedded.metric, embedded.unit, embedded.resolution, values, at);
            }
        }
        !found.is_empty()
    }

    /// Returns the sum of a metric's values that are kept, over all its dimensions, in one namespace or in all.
    pub(crate) fn sum(&self, namespace: Option<&str>, name: &str) -> f64 {
        self.store.sum(namespace, name)
    }

    fn alarm_arn(&self, name: &str) -> String {
        format!("arn:aws:cloudwatch:{}:{}:alarm:{name}", self.region, self.account)
    }

    /// Drops old data, once an hour.
    fn sweep(&mut self, now: SystemTime) {
        let since = now.duration_since(self.swept_at).unwrap_or_default();
        if since >= Duration::from_secs(3_600) {
            self.store.forget(now);
            self.swept_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::alarm::testing::definition;
    use super::*;
    use crate::queue::NewMessage;

    const DAY: u64 = 86_400;

    fn at(seconds: u64) -> SystemTime {
        moment(1_800_000_000 + seconds)
    }

    /// Ticks until the account rests or the time is over. Returns when that was, and the number of ticks.
    fn tick_until_rest(cloudwatch: &mut CloudWatch, queues: &mut Sqs, from: u64, to: u64) -> (u64, usize) {
        let (mut last, mut ticks) = (at(from), 0);
        while !cloudwatch.rests(queues, last) && last < at(to) {
            last = cloudwatch.next_tick(last);
            cloudwatch.tick(queues, last);
            ticks += 1;
        }
        (second(last) - second(at(0)), ticks)
    }

    #[test]
    fn a_year_passes_at_once_after_a_message_expired_in_an_inactive_queue() {
        let mut cloudwatch = CloudWatch::new("eu-west-1", "123456789012");
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        let visible = "ApproximateNumberOfMessagesVisible";
        let metric = Metric::new("AWS/SQS", visible, [("QueueName", "orders")]);
        cloudwatch.put_alarm(Definition { metric, ..definition(1, 1, None) }, at(0));
        queues.create("orders", &BTreeMap::new(), at(0)).unwrap();
        let message = NewMessage { body: "tea".to_owned(), ..NewMessage::default() };
        queues.send("orders", message.clone(), at(1)).unwrap();
        let (rested, ticks) = tick_until_rest(&mut cloudwatch, &mut queues, 0, 365 * DAY);
        assert!(rested > 4 * DAY + 6 * 3_600 && ticks < 6_200, "{rested} {ticks}");
        let states: Vec<_> = cloudwatch.take_changes().into_iter().map(|change| change.state).collect();
        assert_eq!(states, [AlarmState::Alarm, AlarmState::Ok, AlarmState::InsufficientData]);

        let ticked = cloudwatch.pass_over(at(365 * DAY + 30));
        assert_eq!(ticked, at(365 * DAY));
        assert_eq!(cloudwatch.store.metrics().count(), 0, "what is too old is dropped");
        queues.send("orders", message, at(365 * DAY + 31)).unwrap();
        assert!(!cloudwatch.rests(&queues, ticked));
        cloudwatch.tick(&mut queues, cloudwatch.next_tick(ticked));
        assert_eq!(cloudwatch.take_changes()[0].state, AlarmState::Alarm);
    }

    #[test]
    fn a_new_queue_or_alarm_or_a_value_ends_the_rest() {
        let mut cloudwatch = CloudWatch::new("eu-west-1", "123456789012");
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        assert!(cloudwatch.rests(&queues, at(0)), "without queues and alarms nothing can change");
        cloudwatch.put_alarm(definition(1, 1, None), at(0));
        assert!(!cloudwatch.rests(&queues, at(0)) && cloudwatch.rests(&queues, at(300)));
        let metric = Metric::new("Shop", "Errors", []);
        let one = ValueSet::of(1.0, 1.0);
        cloudwatch.store.record(&metric, Unit::COUNT, Resolution::Minute, &one, at(300));
        assert!(!cloudwatch.rests(&queues, at(300)) && cloudwatch.rests(&queues, at(900)));
        queues.create("orders", &BTreeMap::new(), at(900)).unwrap();
        assert!(!cloudwatch.rests(&queues, at(900)));
    }

    proptest! {
        #[test]
        fn no_tick_changes_an_account_at_rest(
            alarms in prop::collection::vec(
                (1_u32..4, 1_u32..4, prop::option::of(prop::sample::select(&MissingData::ALL[..])), any::<bool>()), 1..4),
            values in prop::collection::vec((0_u64..3_600, 0_u8..3), 0..8),
            resolution in prop::sample::select(&[Resolution::Second, Resolution::Minute][..]),
        ) {
            let mut cloudwatch = CloudWatch::new("eu-west-1", "123456789012");
            let mut queues = Sqs::new("eu-west-1", "123456789012");
            for (number, (needed, periods, missing, short)) in alarms.into_iter().enumerate() {
                let period = if short { 10 } else { 300 };
                let alarm = definition(needed.min(periods), periods, missing);
                cloudwatch.put_alarm(Definition { name: number.to_string(), period, ..alarm }, at(number as u64));
            }
            let metric = Metric::new("Shop", "Errors", []);
            for (second, value) in values {
                let value = ValueSet::of(f64::from(value), 1.0);
                cloudwatch.store.record(&metric, Unit::COUNT, resolution, &value, at(second));
            }
            let (rested, _) = tick_until_rest(&mut cloudwatch, &mut queues, 0, DAY);
            prop_assert!(rested < DAY);
            cloudwatch.take_changes();
            let mut last = at(rested);
            while last < at(rested + 7_200) {
                last = cloudwatch.next_tick(last);
                cloudwatch.tick(&mut queues, last);
            }
            prop_assert_eq!(cloudwatch.take_changes(), []);
        }
    }
}
