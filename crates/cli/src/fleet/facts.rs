//! Turns AWS's facts about many queues into a report on each dead-letter queue. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use redrive_sqs::QueueArn;
use serde::Serialize;

use super::seen::Seen;
use super::snooze::Snooze;
use crate::counted::counted;
use crate::find::Queue;
use crate::letters::expiry::{Expiry, Letters};

const HOUR: Duration = Duration::from_secs(60 * 60);
/// Least age of a value that counts as an hour old.
const ABOUT_AN_HOUR: Duration = Duration::from_secs(55 * 60);
const DAY_IN_HOURS: u64 = 24;

/// Facts that were read with one profile in one region.
#[derive(Debug, Default)]
pub(crate) struct PlaceFacts {
    /// Region and profile, such as `eu-west-1, profile shop`.
    pub(crate) place: String,
    pub(crate) profile: Option<String>,
    pub(crate) queues: Vec<Queue>,
    /// Details by the ARNs of dead-letter queues.
    pub(crate) details: BTreeMap<String, Details>,
    /// Reasons why dead-letter queues in redrive policies could not be read, by their ARNs.
    pub(crate) absent: BTreeMap<String, String>,
    /// Reasons why queues are missing in `queues`.
    pub(crate) failures: Vec<String>,
    /// Reasons why details are missing.
    pub(crate) unknown: Vec<String>,
}

/// Facts about a dead-letter queue from its metrics and tags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Details {
    /// Current age of the oldest letter.
    pub(crate) oldest: Option<Duration>,
    /// Visible letters in each minute of the last hour, with the time since.
    pub(crate) visible: Vec<(Duration, f64)>,
    pub(crate) owner: Option<String>,
}

/// All dead-letter queues, worst first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Fleet {
    pub(crate) queues: Vec<DeadLetterQueue>,
    /// Number of dead-letter queues without a letter.
    pub(crate) empty: usize,
    pub(crate) unreachable: Vec<Unreachable>,
    /// Queues, profiles and regions that could not be read.
    pub(crate) failed: Vec<Fault>,
    /// Details that could not be read.
    pub(crate) unknown: Vec<Fault>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DeadLetterQueue {
    pub(crate) name: String,
    pub(crate) arn: String,
    pub(crate) url: String,
    pub(crate) account: String,
    pub(crate) region: String,
    pub(crate) profile: Option<String>,
    pub(crate) letters: u64,
    pub(crate) growth_per_hour: Option<i64>,
    pub(crate) oldest_seconds: Option<u64>,
    pub(crate) first_letter_expires: Option<Expiry>,
    pub(crate) retention_seconds: u64,
    /// The dead-letter queue's own maxReceiveCount, if it has a redrive policy. SQS then moves its letters on.
    pub(crate) own_max_receive_count: Option<u32>,
    /// ARNs of the queues whose redrive policies name it.
    pub(crate) sources: Vec<String>,
    pub(crate) owner: Option<String>,
    /// The snooze for which it is listed last.
    pub(crate) snoozed: Option<Snooze>,
    /// Errors of its letters when they were last listed.
    pub(crate) seen: Option<Seen>,
}

/// A dead-letter queue that a redrive policy names and that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Unreachable {
    pub(crate) arn: String,
    pub(crate) sources: Vec<String>,
    pub(crate) error: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    pub(crate) place: String,
    pub(crate) error: String,
}

impl PlaceFacts {
    /// Returns the dead-letter queues that these queues name. On AWS they are in the same account and region.
    pub(crate) fn targets(&self) -> BTreeSet<String> {
        self.queues.iter().filter_map(target).collect()
    }

    /// Returns true if a queue with this ARN is in the account and region of these.
    pub(crate) fn covers(&self, arn: &str) -> bool {
        let own = self.queues.first().and_then(|queue| QueueArn::parse(&queue.arn));
        let place = |arn: QueueArn<'_>| (arn.account.to_owned(), arn.region.to_owned());
        own.map(place).is_some_and(|own| QueueArn::parse(arn).map(place) == Some(own))
    }
}

impl Fleet {
    /// Builds the fleet. Counts empty queues, and lists them only if `with_empty`.
    pub(crate) fn of(facts: &[PlaceFacts], with_empty: bool) -> Self {
        let read = facts.iter().flat_map(|facts| facts.queues.iter().map(move |queue| (queue, facts)));
        let by_arn: BTreeMap<&str, (&Queue, &PlaceFacts)> =
            read.map(|(queue, facts)| (queue.arn.as_str(), (queue, facts))).collect();
        let mut sources: BTreeMap<String, Vec<&Queue>> = BTreeMap::new();
        for (queue, _) in by_arn.values() {
            if let Some(target) = target(queue) {
                sources.entry(target).or_default().push(queue);
            }
        }
        let mut fleet = Self::default();
        for (arn, sources) in sources {
            let Some((dead, facts)) = by_arn.get(arn.as_str()) else {
                let absent = facts.iter().find_map(|facts| facts.absent.get(&arn));
                let error = absent.cloned().unwrap_or_else(|| elsewhere(&arn));
                let sources = sources.iter().map(|queue| queue.arn.clone()).collect();
                fleet.unreachable.push(Unreachable { arn, sources, error });
                continue;
            };
            let is_empty = dead.counted() == 0;
            fleet.empty += usize::from(is_empty);
            if !is_empty || with_empty {
                fleet.queues.push(DeadLetterQueue::of(dead, &sources, facts));
            }
        }
        fleet.queues.sort_by_key(DeadLetterQueue::urgency);
        let faults = |of: fn(&PlaceFacts) -> &Vec<String>| {
            let fault = |facts: &PlaceFacts, error: &String| Fault {
                place: facts.place.clone(),
                error: error.clone(),
            };
            facts.iter().flat_map(|facts| of(facts).iter().map(move |error| fault(facts, error))).collect()
        };
        Self { failed: faults(|facts| &facts.failures), unknown: faults(|facts| &facts.unknown), ..fleet }
    }

    /// Adds the errors that were seen last, and ages: the metric leaves out letters that were received three times.
    pub(crate) fn with_seen(mut self, mut seen: BTreeMap<String, Seen>, now: SystemTime) -> Self {
        for queue in self.queues.iter_mut().filter(|queue| queue.letters > 0) {
            let seen = seen.remove(&queue.arn);
            if let Some((age, is_oldest)) = seen.as_ref().and_then(|seen| seen.oldest(queue.letters, now)) {
                queue.know_age(age, is_oldest);
            }
            queue.seen = seen;
        }
        self.queues.sort_by_key(DeadLetterQueue::urgency);
        self
    }

    /// Moves snoozed queues to the end.
    pub(crate) fn with_snoozes(mut self, snoozes: Vec<Snooze>) -> Self {
        for snooze in snoozes {
            let queue = self.queues.iter_mut().find(|queue| queue.arn == snooze.queue);
            if let Some(queue) = queue.filter(|queue| snooze.lasts_with(queue.letters)) {
                queue.snoozed = Some(snooze);
            }
        }
        self.queues.sort_by_key(|queue| queue.snoozed.is_some());
        self
    }

    pub(super) fn with_unknown(mut self, place: String, error: String) -> Self {
        self.unknown.push(Fault { place, error });
        self
    }

    pub(crate) fn letters(&self) -> u64 {
        self.queues.iter().map(|queue| queue.letters).sum()
    }

    /// Counts the dead-letter queues with letters.
    pub(crate) fn with_letters(&self) -> usize {
        self.queues.iter().filter(|queue| queue.letters > 0).count()
    }

    /// Describes the queues and places that could not be read.
    pub(crate) fn problem(&self) -> Option<String> {
        let unreachable = (!self.unreachable.is_empty())
            .then(|| format!("{} not reached", counted(self.unreachable.len(), "dead-letter queue")));
        let places: BTreeSet<&str> = self.failed.iter().map(|fault| fault.place.as_str()).collect();
        let failed = places.into_iter().map(|place| format!("{place} could not be read"));
        let parts: Vec<String> = unreachable.into_iter().chain(failed).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl DeadLetterQueue {
    fn of(dead: &Queue, sources: &[&Queue], facts: &PlaceFacts) -> Self {
        let details = facts.details.get(&dead.arn).cloned().unwrap_or_default();
        let (letters, arn) = (dead.counted(), QueueArn::parse(&dead.arn));
        // If there are letters, zero means that the metric does not see them, or not yet.
        let oldest = details.oldest.filter(|oldest| letters > 0 && !oldest.is_zero());
        Self {
            name: dead.name().to_owned(),
            arn: dead.arn.clone(),
            url: dead.url.clone(),
            account: arn.map_or("", |arn| arn.account).to_owned(),
            region: arn.map_or("", |arn| arn.region).to_owned(),
            profile: facts.profile.clone(),
            letters,
            growth_per_hour: growth(dead.visible(), &details.visible),
            oldest_seconds: oldest.map(|oldest| oldest.as_secs()),
            first_letter_expires: (letters > 0).then(|| expiry(dead, sources, oldest)),
            retention_seconds: dead.retention().as_secs(),
            own_max_receive_count: dead.redrive_policy().map(|policy| policy.max_receive_count),
            sources: sources.iter().map(|queue| queue.arn.clone()).collect(),
            owner: details.owner,
            snoozed: None,
            seen: None,
        }
    }

    /// Records the age of a letter, which decides its expiry.
    fn know_age(&mut self, age: Duration, is_oldest: bool) {
        let Some(left) = self.retention_seconds.checked_sub(age.as_secs()) else { return };
        if self.oldest_seconds.is_some_and(|oldest| oldest >= age.as_secs()) {
            return;
        }
        self.oldest_seconds = Some(age.as_secs());
        let earliest = self.first_letter_expires.map_or(0, |expiry| expiry.earliest_in_seconds);
        let earliest_in_seconds = if is_oldest { left } else { earliest.min(left) };
        self.first_letter_expires = Some(Expiry { earliest_in_seconds, latest_in_seconds: left });
    }

    /// Returns the sort key: the latest expiry of the oldest letter, then growth, then the number of letters. Within a day the expiry
    /// counts in whole hours, and later in whole days, so that growth matters. Letters of unknown age may expire at any time.
    fn urgency(&self) -> (u64, Reverse<i64>, Reverse<u64>, String) {
        let hours = match (self.first_letter_expires, self.oldest_seconds) {
            (None, _) => u64::MAX,
            (Some(_), None) => 0,
            (Some(expiry), Some(_)) => expiry.latest_in_seconds / HOUR.as_secs(),
        };
        let soon = if hours < DAY_IN_HOURS { hours } else { hours - hours % DAY_IN_HOURS };
        (soon, Reverse(self.growth_per_hour.unwrap_or_default()), Reverse(self.letters), self.arn.clone())
    }
}

fn target(queue: &Queue) -> Option<String> {
    Some(queue.redrive_policy()?.dead_letter_target_arn)
}

fn elsewhere(arn: &str) -> String {
    match QueueArn::parse(arn) {
        Some(arn) => {
            format!("account {}, {} was not read: pass its --profile and --region", arn.account, arn.region)
        }
        None => "not the ARN of a queue".to_owned(),
    }
}

/// Computes the expiry. Without an age, a letter may expire at any time within the retention period.
fn expiry(dead: &Queue, sources: &[&Queue], oldest: Option<Duration>) -> Expiry {
    let retention = dead.retention();
    let Some(oldest) = oldest else {
        return Expiry { earliest_in_seconds: 0, latest_in_seconds: retention.as_secs() };
    };
    let source_retention = sources.iter().map(|queue| queue.retention()).max();
    Expiry::of(Letters { oldest, retention, source_retention, is_fifo: dead.is_fifo() })
}

/// Returns the visible letters minus those of an hour ago. No metric counts arrivals, because SQS does not count letters that
/// it moves as sent. A queue without values was inactive, and so empty.
fn growth(now: u64, visible: &[(Duration, f64)]) -> Option<i64> {
    let (past, then) = visible.iter().min_by_key(|(past, _)| past.abs_diff(HOUR))?;
    let then = if *past >= ABOUT_AN_HOUR { *then } else { 0.0 };
    Some(i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(then as i64))
}

#[cfg(test)]
pub(super) mod tests {
    use aws_sdk_sqs::types::QueueAttributeName as Name;
    use proptest::prelude::*;

    use super::*;

    pub(in crate::fleet) fn queue(name: &str, letters: u64, retention: u64, dead: Option<&str>) -> Queue {
        let arn = |name: &str| format!("arn:aws:sqs:eu-west-1:123456789012:{name}");
        let policy =
            dead.map(|dead| format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":3}}"#, arn(dead)));
        let attributes = [
            (Name::ApproximateNumberOfMessages, letters.to_string()),
            (Name::MessageRetentionPeriod, retention.to_string()),
        ];
        let attributes = attributes.into_iter().chain(policy.map(|policy| (Name::RedrivePolicy, policy)));
        Queue::new(format!("https://sqs/123456789012/{name}"), arn(name), attributes.collect())
    }

    /// Returns a dead-letter queue with its source and its details.
    fn pair(name: &str, letters: u64, details: Details) -> PlaceFacts {
        let queues = vec![
            queue(name, letters, 1_209_600, None),
            queue(&format!("{name}-source"), 0, 345_600, Some(name)),
        ];
        let details = BTreeMap::from([(queues[0].arn.clone(), details)]);
        PlaceFacts { place: name.to_owned(), queues, details, ..PlaceFacts::default() }
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    #[test]
    fn growth_is_what_an_hour_has_added() {
        for (visible, expected) in [
            (vec![], None),
            (vec![(1, 8.0), (30, 5.0), (60, 3.0)], Some(7)),
            (vec![(59, 5.0), (60, 3.0), (61, 2.0), (64, 1.0)], Some(7)),
            (vec![(56, 12.0)], Some(-2)),
            (vec![(2, 9.0), (20, 4.0)], Some(10)),
        ] {
            let visible: Vec<_> = visible.into_iter().map(|(past, count)| (minutes(past), count)).collect();
            assert_eq!(growth(10, &visible), expected, "{visible:?}");
        }
    }

    #[test]
    fn letters_in_flight_are_no_growth() {
        let mut facts = pair("dead", 2, Details { visible: vec![(minutes(60), 2.0)], ..Details::default() });
        let in_flight = (Name::ApproximateNumberOfMessagesNotVisible, "40".to_owned());
        let visible = (Name::ApproximateNumberOfMessages, "2".to_owned());
        let Queue { url, arn, .. } = &facts.queues[0];
        facts.queues[0] = Queue::new(url.clone(), arn.clone(), [in_flight, visible].into());
        let queue = &Fleet::of(&[facts], false).queues[0];
        assert_eq!((queue.letters, queue.growth_per_hour), (42, Some(0)));
    }

    #[test]
    fn the_soonest_loss_is_first_then_growth_then_number() {
        let of = |hours: u64, growth: Option<f64>| Details {
            oldest: Some(Duration::from_secs(1_209_600 - 3_600 * hours - 60)),
            visible: growth.map(|growth| (minutes(60), 10.0 - growth)).into_iter().collect(),
            ..Details::default()
        };
        let facts = [
            pair("later", 10, of(75, None)),
            pair("later-and-growing", 10, of(90, Some(3.0))),
            pair("unknown", 10, Details::default()),
            pair("soon", 10, of(3, Some(0.0))),
            pair("soon-and-growing", 10, of(3, Some(4.0))),
            pair("sooner", 10, of(2, None)),
            pair("unknown-and-many", 11, Details::default()),
            pair("empty", 0, Details::default()),
        ];
        let names = |fleet: &Fleet| fleet.queues.iter().map(|queue| queue.name.clone()).collect::<Vec<_>>();
        let listed = [
            "unknown-and-many",
            "unknown",
            "sooner",
            "soon-and-growing",
            "soon",
            "later-and-growing",
            "later",
        ];
        let fleet = Fleet::of(&facts, false);
        assert_eq!(
            (names(&fleet), fleet.empty, fleet.letters()),
            (listed.map(str::to_owned).to_vec(), 1, 71)
        );
        assert_eq!(names(&Fleet::of(&facts, true)).last().map(String::as_str), Some("empty"));
    }

    #[test]
    fn an_age_that_was_read_counts_while_the_metric_is_silent() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000);
        let seen = |letters: usize, of: u64, age: u64| -> BTreeMap<String, Seen> {
            let oldest = humantime::format_rfc3339_seconds(now - Duration::from_secs(age)).to_string();
            let json = serde_json::json!({
                "queue": "q", "at": oldest, "letters": letters, "of": of, "oldest": oldest, "errors": [],
            });
            let seen = serde_json::from_value(json).unwrap();
            BTreeMap::from([("arn:aws:sqs:eu-west-1:123456789012:dead".to_owned(), seen)])
        };
        let known = |details: Details, seen| {
            let fleet = Fleet::of(&[pair("dead", 10, details)], false).with_seen(seen, now);
            let expiry = fleet.queues[0].first_letter_expires.unwrap();
            (fleet.queues[0].oldest_seconds, expiry.earliest_in_seconds, expiry.latest_in_seconds)
        };
        let silent = Details::default;
        assert_eq!(known(silent(), BTreeMap::new()), (None, 0, 1_209_600));
        assert_eq!(known(silent(), seen(10, 10, 1_200_000)), (Some(1_200_000), 9_600, 9_600));
        assert_eq!(known(silent(), seen(3, 10, 1_200_000)), (Some(1_200_000), 0, 9_600), "of a sample");
        assert_eq!(known(silent(), seen(11, 11, 1_200_000)), (None, 0, 1_209_600), "one is gone");
        assert_eq!(known(silent(), seen(10, 10, 1_209_601)), (None, 0, 1_209_600), "it has expired");
        let metric = Details { oldest: Some(Duration::from_secs(1_204_800)), ..Details::default() };
        assert_eq!(known(metric, seen(10, 10, 1_200_000)).0, Some(1_204_800));
    }

    #[test]
    fn a_dead_letter_queue_and_its_source_may_be_read_with_two_profiles() {
        let [dead, source] = [queue("dead", 1, 60, None), queue("source", 0, 60, Some("dead"))];
        let facts = [dead, source].map(|queue| PlaceFacts { queues: vec![queue], ..PlaceFacts::default() });
        let fleet = Fleet::of(&facts, false);
        assert_eq!((fleet.with_letters(), fleet.problem()), (1, None));
        let fleet = Fleet::of(&facts[1..], false);
        assert_eq!(fleet.problem().as_deref(), Some("1 dead-letter queue not reached"));
        assert_eq!(fleet.unreachable[0].sources, ["arn:aws:sqs:eu-west-1:123456789012:source"]);
    }

    proptest! {
        #[test]
        fn no_letter_expires_later_than_retention_allows(
            age in proptest::option::of(0_u64..2_000_000), letters in 1_u64..9,
        ) {
            let details = Details { oldest: age.map(Duration::from_secs), ..Details::default() };
            let fleet = Fleet::of(&[pair("dead", letters, details)], false);
            let expiry = fleet.queues[0].first_letter_expires.expect("there are letters");
            prop_assert!(expiry.earliest_in_seconds <= expiry.latest_in_seconds);
            prop_assert!(expiry.latest_in_seconds <= 1_209_600);
        }
    }
}
