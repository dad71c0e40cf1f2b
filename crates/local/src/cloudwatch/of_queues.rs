//! The metrics that SQS publishes of a queue.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::store::{Resolution, Store};
use super::{Metric, Unit, ValueSet};
use crate::sqs::{Measured, Sqs};

/// A queue without messages that no action has named for this long publishes nothing. Two effects are left out: SQS may take
/// 15 minutes to publish again, and Lambda's empty polls keep the queue of an enabled mapping active. The mapping here does
/// not poll, so that only calls of clients count as empty receives.
const ACTIVE: Duration = Duration::from_secs(6 * 3_600);

/// Active queues with the time of their last use.
#[derive(Debug, Default)]
pub(crate) struct ActiveQueues(BTreeMap<String, SystemTime>);

impl ActiveQueues {
    /// Publishes the metrics of the minute that ends at `end`.
    pub(crate) fn publish(&mut self, store: &mut Store, queues: &mut Sqs, end: SystemTime) {
        let names: Vec<_> = queues.names().map(str::to_owned).collect();
        self.0.retain(|name, _| queues.exists(name));
        for name in names {
            let in_use = queues.is_in_use(&name, end);
            let Some(measured) = queues.measure(&name, end) else { continue };
            // Its creation counts as a use.
            let last = self.0.entry(name.clone()).or_insert(end);
            if in_use {
                *last = end;
            }
            if end.duration_since(*last).unwrap_or_default() <= ACTIVE {
                publish(store, &name, &measured, end - Duration::from_secs(60));
            }
        }
    }

    /// Returns true if no queue publishes anything before it is used again.
    pub(crate) fn are_none(&self, queues: &Sqs, now: SystemTime) -> bool {
        let is_inactive = |last: &SystemTime| now.duration_since(*last).is_ok_and(|since| since > ACTIVE);
        queues.names().all(|name| self.0.get(name).is_some_and(is_inactive) && !queues.is_in_use(name, now))
    }
}

/// A metric of a queue: its name, its unit, and the values of a minute, if there are any.
type QueueMetric = (&'static str, Unit, fn(&Measured) -> Option<ValueSet>);

/// All metrics that are published here. For an active queue, only the visible messages and a FIFO queue's groups in flight
/// have a value in each minute. The others have no value in a minute with nothing to count. AWS's page reads as if it
/// published zeros. But after a message was received minutes after an empty receive, AWS returned `[1.0]` for
/// NumberOfMessagesReceived, without a zero (`test_aws_sqs_metrics_created`):
/// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/cloudwatch/test_cloudwatch.snapshot.json>
///
/// The metrics of fair queues, such as ApproximateNumberOfNoisyGroups, are missing, because AWS does not document when a
/// group is noisy.
pub(super) const METRICS: [QueueMetric; 11] = [
    ("ApproximateNumberOfMessagesVisible", Unit::COUNT, |of| Some(one(of.counts.visible as u64))),
    ("ApproximateNumberOfGroupsWithInflightMessages", Unit::COUNT, |of| {
        of.groups_in_flight.map(|groups| one(groups as u64))
    }),
    ("ApproximateNumberOfMessagesNotVisible", Unit::COUNT, |of| some(of.counts.in_flight as u64)),
    ("ApproximateNumberOfMessagesDelayed", Unit::COUNT, |of| some(of.counts.delayed as u64)),
    ("ApproximateAgeOfOldestMessage", Unit::SECONDS, |of| of.age.map(|age| one(age.as_secs()))),
    ("NumberOfMessagesSent", Unit::COUNT, |of| some(of.traffic.sent)),
    ("NumberOfDeduplicatedSentMessages", Unit::COUNT, |of| some(of.traffic.deduplicated)),
    ("NumberOfMessagesReceived", Unit::COUNT, |of| some(of.traffic.received)),
    ("NumberOfMessagesDeleted", Unit::COUNT, |of| some(of.traffic.deleted)),
    ("NumberOfEmptyReceives", Unit::COUNT, |of| some(of.traffic.empty_receives)),
    ("SentMessageSize", Unit::BYTES, |of| of.traffic.sent_sizes.clone()),
];

fn publish(store: &mut Store, queue: &str, measured: &Measured, minute: SystemTime) {
    for (name, unit, values) in METRICS {
        if let Some(values) = values(measured) {
            let metric = Metric::new("AWS/SQS", name, [("QueueName", queue)]);
            store.record(&metric, unit, Resolution::Minute, &values, minute);
        }
    }
}

fn one(value: u64) -> ValueSet {
    ValueSet::of(value as f64, 1.0)
}

fn some(count: u64) -> Option<ValueSet> {
    (count > 0).then(|| one(count))
}

#[cfg(test)]
mod tests {
    use super::super::store::moment;
    use super::*;
    use crate::queue::NewMessage;

    #[test]
    fn a_group_whose_messages_have_expired_is_no_longer_in_flight() {
        let at = |seconds: u64| moment(1_800_000_000 + seconds);
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        let fifo =
            [("FifoQueue", "true"), ("ContentBasedDeduplication", "true"), ("MessageRetentionPeriod", "60")];
        let fifo = fifo.map(|(name, value)| (name.to_owned(), value.to_owned()));
        queues.create("orders.fifo", &BTreeMap::from(fifo), at(0)).unwrap();
        let message = NewMessage { body: "tea".into(), group_id: Some("g".into()), ..NewMessage::default() };
        queues.send("orders.fifo", message, at(5)).unwrap();
        queues.receive("orders.fifo", 1, Some(Duration::from_secs(3_600)), at(6)).unwrap();
        for (now, groups, in_flight) in [(64, 1, 1), (65, 0, 0), (605, 0, 0)] {
            let measured = queues.measure("orders.fifo", at(now)).unwrap();
            assert_eq!(
                (measured.groups_in_flight, measured.counts.in_flight),
                (Some(groups), in_flight),
                "{now} s"
            );
        }
    }
}
