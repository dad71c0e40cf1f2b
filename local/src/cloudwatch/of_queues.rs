//! What SQS itself publishes of a queue.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::store::{Resolution, Store};
use super::{Metric, Unit, ValueSet};
use crate::queue::{Counts, Traffic};
use crate::sqs::Sqs;

/// A queue that neither holds nor sees messages for as long publishes nothing. That SQS may take 15 minutes to begin
/// again is left out.
const ACTIVE: Duration = Duration::from_secs(6 * 3_600);

/// Which queues are active, by when they last were in use.
#[derive(Debug, Default)]
pub(crate) struct ActiveQueues(BTreeMap<String, SystemTime>);

impl ActiveQueues {
    /// Publishes the minute that ends at `end`.
    pub(crate) fn publish(&mut self, store: &mut Store, queues: &mut Sqs, end: SystemTime) {
        let names: Vec<_> = queues.names().map(str::to_owned).collect();
        self.0.retain(|name, _| queues.exists(name));
        for name in names {
            let in_use = queues.is_in_use(&name, end);
            let (counts, traffic) =
                (queues.counts(&name, end).unwrap_or_default(), queues.take_traffic(&name));
            // Being created is a use as well.
            let last = self.0.entry(name.clone()).or_insert(end);
            if in_use {
                *last = end;
            }
            if end.duration_since(*last).unwrap_or_default() <= ACTIVE {
                let age = queues.oldest(&name, end).and_then(|since| end.duration_since(since).ok());
                publish(
                    store,
                    &name,
                    counts,
                    &traffic,
                    age.unwrap_or_default(),
                    end - Duration::from_secs(60),
                );
            }
        }
    }

    /// Whether no queue will publish anything before it is used again.
    pub(crate) fn are_none(&self, queues: &Sqs, now: SystemTime) -> bool {
        let is_inactive = |last: &SystemTime| now.duration_since(*last).is_ok_and(|since| since > ACTIVE);
        queues.names().all(|name| self.0.get(name).is_some_and(is_inactive) && !queues.is_in_use(name, now))
    }
}

fn publish(
    store: &mut Store,
    queue: &str,
    counts: Counts,
    traffic: &Traffic,
    age: Duration,
    minute: SystemTime,
) {
    let of = |name| Metric::new("AWS/SQS", name, [("QueueName", queue)]);
    let values = [
        ("ApproximateNumberOfMessagesVisible", Unit::COUNT, counts.visible as f64),
        ("ApproximateNumberOfMessagesNotVisible", Unit::COUNT, counts.in_flight as f64),
        ("ApproximateNumberOfMessagesDelayed", Unit::COUNT, counts.delayed as f64),
        ("ApproximateAgeOfOldestMessage", Unit::SECONDS, age.as_secs() as f64),
        ("NumberOfMessagesSent", Unit::COUNT, traffic.sent as f64),
        ("NumberOfMessagesReceived", Unit::COUNT, traffic.received as f64),
        ("NumberOfMessagesDeleted", Unit::COUNT, traffic.deleted as f64),
        ("NumberOfEmptyReceives", Unit::COUNT, traffic.empty_receives as f64),
    ];
    for (name, unit, value) in values {
        store.record(&of(name), unit, Resolution::Minute, &ValueSet::of(value, 1.0), minute);
    }
    if let Some(sizes) = &traffic.sent_sizes {
        store.record(&of("SentMessageSize"), Unit::BYTES, Resolution::Minute, sizes, minute);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Statistic;
    use super::super::store::{moment, second};
    use super::*;
    use crate::queue::NewMessage;

    /// Of the minute that ends then.
    fn statistic(store: &Store, name: &str, end: SystemTime) -> Option<f64> {
        let metric = Metric::new("AWS/SQS", name, [("QueueName", "orders")]);
        let end = second(end);
        store.value_set(&metric, None, end - 60..end)?.statistic(Statistic::Sum)
    }

    #[test]
    fn a_minute_tells_what_a_queue_holds_and_what_passed_through_it() {
        let at = |seconds: u64| moment(1_800_000_000 + seconds);
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        queues.create("orders", &BTreeMap::new(), at(0)).unwrap();
        for body in ["tea", "coffee", "water"] {
            let message = NewMessage { body: body.into(), ..NewMessage::default() };
            queues.send("orders", message, at(5)).unwrap();
        }
        let taken = queues.receive("orders", 2, None, at(6)).unwrap();
        queues.delete("orders", &taken[0].receipt_handle, at(7)).unwrap();
        queues.receive("orders", 1, None, at(8)).unwrap();
        queues.receive("orders", 1, None, at(9)).unwrap();
        let (mut store, mut active) = (Store::default(), ActiveQueues::default());
        active.publish(&mut store, &mut queues, at(60));
        for (name, expected) in [
            ("ApproximateNumberOfMessagesVisible", 2.0),
            ("ApproximateNumberOfMessagesNotVisible", 0.0),
            ("ApproximateNumberOfMessagesDelayed", 0.0),
            ("ApproximateAgeOfOldestMessage", 55.0),
            ("NumberOfMessagesSent", 3.0),
            ("NumberOfMessagesReceived", 3.0),
            ("NumberOfMessagesDeleted", 1.0),
            ("NumberOfEmptyReceives", 1.0),
            ("SentMessageSize", 14.0),
        ] {
            assert_eq!(statistic(&store, name, at(60)), Some(expected), "{name}");
        }
        active.publish(&mut store, &mut queues, at(120));
        assert_eq!(statistic(&store, "NumberOfMessagesSent", at(120)), Some(0.0));
        assert_eq!(statistic(&store, "SentMessageSize", at(120)), None);
    }

    #[test]
    fn a_queue_that_nobody_uses_publishes_nothing_after_six_hours() {
        let at = |minutes: u64| moment(1_800_000_000 + 60 * minutes);
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        queues.create("orders", &BTreeMap::new(), at(0)).unwrap();
        let (mut store, mut active) = (Store::default(), ActiveQueues::default());
        for minute in 1..=400 {
            active.publish(&mut store, &mut queues, at(minute));
            let found = statistic(&store, "NumberOfMessagesSent", at(minute));
            assert_eq!(found.is_some(), minute <= 361, "minute {minute}");
        }
        queues.receive("orders", 1, None, at(400)).unwrap();
        active.publish(&mut store, &mut queues, at(401));
        assert_eq!(statistic(&store, "NumberOfEmptyReceives", at(401)), Some(1.0));
    }
}
