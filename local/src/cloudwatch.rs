//! CloudWatch: metrics, alarms on them, and its API.
//!
//! What SQS, Lambda and the functions' logs say becomes metrics at the same place as what PutMetricData says, and alarms
//! of a template are the same as those that are put.

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

use alarms::Alarms;
use emf::BadDocument;
use of_queues::ActiveQueues;
use store::{Metric, Resolution, Store, moment, second};
use unit::Unit;

use crate::clock::ClientClock;
use crate::sqs::Sqs;
use crate::values::{Statistic, ValueSet};

/// Above it, and below its negative, a value is refused.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>
const LARGEST_VALUE: f64 = f64::from_bits((1_023 + 360) << 52);

/// The CloudWatch of one account in one region.
#[derive(Debug)]
pub(crate) struct CloudWatch {
    region: String,
    account: String,
    store: Store,
    alarms: Alarms,
    active_queues: ActiveQueues,
    /// When what is too old was last dropped.
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

    /// Creates an alarm, or gives one another definition.
    pub(crate) fn put_alarm(&mut self, definition: Definition, now: SystemTime) {
        self.alarms.put(definition, now);
    }

    /// When the next tick is due after a moment: at the next minute, or sooner if an alarm has shorter periods.
    pub(crate) fn next_tick(&self, after: SystemTime) -> SystemTime {
        let interval = self.alarms.interval().unwrap_or(60);
        moment((second(after) / interval + 1) * interval)
    }

    /// Whether a tick can change any alarm.
    pub(crate) fn has_alarms(&self) -> bool {
        self.alarms.interval().is_some()
    }

    /// Publishes the metrics of the minute that ends here, if one does, and evaluates the alarms that are due.
    pub(crate) fn tick(&mut self, queues: &mut Sqs, at: SystemTime) {
        if second(at).is_multiple_of(60) {
            self.active_queues.publish(&mut self.store, queues, at);
            self.sweep(at);
        }
        self.alarms.evaluate(&self.store, at);
    }

    /// The alarms that came into another state since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<AlarmChange> {
        self.alarms.take_changes()
    }

    /// An invocation is over.
    pub(crate) fn invoked(&mut self, invoked: Invoked<'_>) {
        of_functions::invoked(&mut self.store, invoked);
    }

    pub(crate) fn throttled(&mut self, function: &str, now: SystemTime) {
        of_functions::throttled(&mut self.store, function, now);
    }

    /// So many invocations of a function run now.
    pub(crate) fn concurrent(&mut self, function: &str, running: usize, now: SystemTime) {
        of_functions::concurrent(&mut self.store, function, running, now);
    }

    /// Takes the metrics that a line of a function's log holds, and says whether it is a document that holds any.
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
                let name = match bad {
                    BadDocument::Unreadable => "EMFParsingErrors",
                    BadDocument::Invalid => "EMFValidationErrors",
                };
                let group = format!("/aws/lambda/{function}");
                let metric = Metric::new("AWS/Logs", name, [("LogGroupName", group.as_str())]);
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

    /// The sum of all that is kept of a metric, over all its dimensions, in one namespace or in all.
    pub(crate) fn sum(&self, namespace: Option<&str>, name: &str) -> f64 {
        self.store.sum(namespace, name)
    }

    fn alarm_arn(&self, name: &str) -> String {
        format!("arn:aws:cloudwatch:{}:{}:alarm:{name}", self.region, self.account)
    }

    /// Drops what is too old, once an hour.
    fn sweep(&mut self, now: SystemTime) {
        let since = now.duration_since(self.swept_at).unwrap_or_default();
        if since >= Duration::from_secs(3_600) {
            self.store.forget(now);
            self.swept_at = now;
        }
    }
}
