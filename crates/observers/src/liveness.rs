//! Decides if a worker is alive and ready, by the times of its last actions.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// Longest time between polls. A poll waits 20 s at most, with a margin for its answer. After errors, the poller pauses for half
/// a minute at most.
const POLL_LIMIT: Duration = Duration::from_secs(90);

/// Longest time between turns of the keeper. It turns every ten seconds at least, and a turn may wait for calls that time out.
const KEEPER_LIMIT: Duration = Duration::from_secs(60);

/// Times of a worker's last poll and last turn, counted from its start.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    is_full: bool,
    is_ready: bool,
    pub(crate) is_draining: bool,
    pub(crate) has_ended: bool,
    /// True if the worker receives nothing because a dependency is down.
    pub(crate) is_paused: bool,
    pub(crate) polled: Duration,
    /// Time at which the loop last looked at all leases.
    pub(crate) turned: Duration,
}

/// The answer of `/livez` and `/readyz` for all workers of a process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct GroupLiveness {
    #[serde(rename = "alive")]
    pub(crate) is_alive: bool,
    #[serde(rename = "ready")]
    pub(crate) is_ready: bool,
    #[serde(flatten)]
    details: Details,
}

/// The state of the only worker, or of each worker by its queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum Details {
    One(Ages),
    Several { queues: BTreeMap<String, Liveness> },
}

impl GroupLiveness {
    pub(crate) fn new(workers: impl Iterator<Item = (String, Liveness)>) -> Self {
        let queues: BTreeMap<_, _> = workers.collect();
        let is_alive = queues.values().all(|it| it.is_alive);
        let is_ready = !queues.is_empty() && queues.values().all(|it| it.is_ready);
        let details = match queues.values().next() {
            Some(only) if queues.len() == 1 => Details::One(only.ages),
            _ => Details::Several { queues },
        };
        Self { is_alive, is_ready, details }
    }
}

/// The state of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Liveness {
    #[serde(rename = "alive")]
    pub(crate) is_alive: bool,
    #[serde(rename = "ready")]
    pub(crate) is_ready: bool,
    #[serde(flatten)]
    ages: Ages,
}

/// The times since the last poll and the last turn, and their limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Ages {
    /// `None` while no poll is expected.
    seconds_since_poll: Option<f64>,
    poll_limit_seconds: u64,
    seconds_since_keeper: f64,
    keeper_limit_seconds: u64,
}

impl Pulse {
    /// Records that the worker has reached the queue and must poll from now on. Until then, a restart would not help.
    pub(crate) fn is_ready(&mut self, now: Duration) {
        self.is_ready = true;
        (self.polled, self.turned) = (now, now);
    }

    /// Records if a poll could fill a free place. A worker that was full has the whole limit for its next poll.
    pub(crate) fn has_room(&mut self, has_room: bool, now: Duration) {
        if std::mem::replace(&mut self.is_full, !has_room) && has_room {
            self.polled = now;
        }
    }

    pub(crate) fn liveness(&self, now: Duration) -> Liveness {
        let polls = !self.is_full && !self.is_draining;
        let since_poll = polls.then(|| now.saturating_sub(self.polled));
        let since_turn = now.saturating_sub(self.turned);
        Liveness {
            is_alive: !self.is_ready
                || self.has_ended
                || since_poll.is_none_or(|since| since <= POLL_LIMIT) && since_turn <= KEEPER_LIMIT,
            is_ready: self.is_ready && !self.is_draining && !self.is_paused && !self.has_ended,
            ages: Ages {
                seconds_since_poll: since_poll.map(tenths),
                poll_limit_seconds: POLL_LIMIT.as_secs(),
                seconds_since_keeper: tenths(since_turn),
                keeper_limit_seconds: KEEPER_LIMIT.as_secs(),
            },
        }
    }
}

fn tenths(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_worker_is_alive_as_long_as_it_polls_and_its_keeper_turns() {
        // Last poll, last turn, full, draining, now, alive.
        let table = [
            (0, 0, false, false, 60, true),
            (0, 0, false, false, 61, false),
            (0, 50, false, false, 90, true),
            (0, 90, false, false, 91, false),
            (100, 100, false, false, 160, true),
            (0, 400, true, false, 460, true),
            (0, 400, false, true, 460, true),
            (0, 400, true, false, 461, false),
            (0, 400, false, true, 461, false),
            (460, 400, false, true, 461, false),
        ];
        for (polled, turned, is_full, is_draining, now, expected) in table {
            let mut pulse = Pulse::default();
            pulse.is_ready(at(0));
            pulse.polled = at(polled);
            pulse.turned = at(turned);
            pulse.has_room(!is_full, at(polled));
            if is_draining {
                pulse.is_draining = true;
            }
            let case = (polled, turned, is_full, is_draining, now);
            assert_eq!(pulse.liveness(at(now)).is_alive, expected, "{case:?}");
        }
    }

    #[test]
    fn a_worker_that_waits_for_a_dependency_is_alive_and_not_ready() {
        let mut pulse = Pulse { is_paused: true, ..Pulse::default() };
        pulse.is_ready(at(0));
        pulse.has_room(false, at(1));
        pulse.turned = at(7_200);
        let of = |pulse: &Pulse| (pulse.liveness(at(7_201)).is_alive, pulse.liveness(at(7_201)).is_ready);
        assert_eq!(of(&pulse), (true, false));
        pulse.is_paused = false;
        assert_eq!(of(&pulse), (true, true));
    }

    #[test]
    fn hands_that_become_free_after_hours_are_no_stuck_poller() {
        let mut pulse = Pulse::default();
        pulse.is_ready(at(0));
        pulse.polled = at(1);
        pulse.has_room(false, at(1));
        pulse.turned = at(7_200);
        assert_eq!(pulse.liveness(at(7_200)).ages.seconds_since_poll, None);
        pulse.has_room(true, at(7_200));
        pulse.turned = at(7_290);
        assert!(pulse.liveness(at(7_290)).is_alive);
        assert!(!pulse.liveness(at(7_291)).is_alive, "it does not poll though it could");
        // A place that was free before is no excuse.
        pulse.has_room(true, at(7_291));
        assert!(!pulse.liveness(at(7_291)).is_alive);
    }

    #[test]
    fn a_worker_is_ready_from_the_first_contact_until_it_drains() {
        let ready = |pulse: &Pulse, now| {
            let liveness = pulse.liveness(at(now));
            (liveness.is_ready, liveness.is_alive)
        };
        let mut pulse = Pulse::default();
        assert_eq!(
            ready(&pulse, 9_000),
            (false, true),
            "a queue that cannot be reached is no reason to restart"
        );
        pulse.is_ready(at(9_000));
        assert_eq!(ready(&pulse, 9_060), (true, true));
        assert_eq!(ready(&pulse, 9_061), (true, false));
        pulse.is_draining = true;
        pulse.is_ready(at(9_100));
        assert_eq!(ready(&pulse, 9_100), (false, true), "there is no way back");
    }

    #[test]
    fn the_answer_has_the_ages_and_their_limits() {
        let mut pulse = Pulse { polled: at(5), ..Pulse::default() };
        let answer = serde_json::to_string(&pulse.liveness(Duration::from_millis(7_260))).unwrap();
        let expected = r#"{"alive":true,"ready":false,"seconds_since_poll":2.3,"poll_limit_seconds":90,"seconds_since_keeper":7.3,"keeper_limit_seconds":60}"#;
        assert_eq!(answer, expected);
        pulse.is_draining = true;
        let answer = serde_json::to_string(&pulse.liveness(at(7))).unwrap();
        assert!(answer.contains(r#""seconds_since_poll":null"#), "{answer}");
    }

    #[test]
    fn several_workers_are_alive_and_ready_together() {
        let of = |pulses: [(&str, Pulse); 2]| {
            let workers = pulses.into_iter().map(|(queue, pulse)| (queue.to_owned(), pulse.liveness(at(60))));
            serde_json::to_value(GroupLiveness::new(workers)).unwrap()
        };
        let ready = || {
            let mut pulse = Pulse::default();
            pulse.is_ready(at(60));
            pulse
        };
        let good = of([("orders", ready()), ("mails", ready())]);
        assert_eq!((&good["alive"], &good["ready"]), (&true.into(), &true.into()));
        assert_eq!(good["queues"]["mails"]["ready"], true);
        let starts = of([("orders", ready()), ("mails", Pulse::default())]);
        assert_eq!((&starts["alive"], &starts["ready"]), (&true.into(), &false.into()));
        let mut stuck = ready();
        stuck.turned = at(0);
        stuck.polled = at(0);
        let mut ended = ready();
        ended.has_ended = true;
        assert_eq!((ended.liveness(at(9_000)).is_alive, ended.liveness(at(9_000)).is_ready), (true, false));
        let stuck = GroupLiveness::new(
            [("orders", ready().liveness(at(100))), ("mails", stuck.liveness(at(100)))]
                .into_iter()
                .map(|(queue, liveness)| (queue.to_owned(), liveness)),
        );
        assert!(!stuck.is_alive && stuck.is_ready);
    }
}
