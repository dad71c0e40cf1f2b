//! Whether a worker is alive and ready, by what it last did.

use std::time::Duration;

use serde::Serialize;

/// A poll waits 20 s at most and has a margin for its answer; after errors the poller pauses for half a minute at most.
const POLL_LIMIT: Duration = Duration::from_secs(90);

/// The keeper turns every ten seconds at least, and a turn may wait for calls that time out.
const KEEPER_LIMIT: Duration = Duration::from_secs(60);

/// When a worker last did what it must keep doing. Times are counted from its start.
#[derive(Debug)]
pub(super) struct Pulse {
    places: usize,
    is_full: bool,
    is_ready: bool,
    is_draining: bool,
    polled: Duration,
    turned: Duration,
}

/// What `/livez` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Liveness {
    #[serde(rename = "alive")]
    pub(super) is_alive: bool,
    #[serde(rename = "ready")]
    pub(super) is_ready: bool,
    /// `None` while no poll is expected.
    seconds_since_poll: Option<f64>,
    poll_limit_seconds: u64,
    seconds_since_keeper: f64,
    keeper_limit_seconds: u64,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            places: usize::MAX,
            is_full: false,
            is_ready: false,
            is_draining: false,
            polled: Duration::ZERO,
            turned: Duration::ZERO,
        }
    }
}

impl Pulse {
    pub(super) fn has_places(&mut self, places: usize) {
        self.places = places;
    }

    pub(super) fn is_ready(&mut self) {
        self.is_ready = true;
    }

    pub(super) fn drains(&mut self) {
        self.is_draining = true;
    }

    pub(super) fn poll_ended(&mut self, now: Duration) {
        self.polled = now;
    }

    pub(super) fn keeper_turned(&mut self, now: Duration) {
        self.turned = now;
    }

    /// A worker whose hands were full has until the limit for its next poll.
    pub(super) fn holds(&mut self, in_hand: usize, now: Duration) {
        let was_full = std::mem::replace(&mut self.is_full, in_hand >= self.places);
        if was_full && !self.is_full {
            self.polled = now;
        }
    }

    pub(super) fn liveness(&self, now: Duration) -> Liveness {
        let polls = !self.is_full && !self.is_draining;
        let since_poll = polls.then(|| now.saturating_sub(self.polled));
        let since_turn = now.saturating_sub(self.turned);
        Liveness {
            is_alive: since_poll.is_none_or(|since| since <= POLL_LIMIT) && since_turn <= KEEPER_LIMIT,
            is_ready: self.is_ready && !self.is_draining,
            seconds_since_poll: since_poll.map(tenths),
            poll_limit_seconds: POLL_LIMIT.as_secs(),
            seconds_since_keeper: tenths(since_turn),
            keeper_limit_seconds: KEEPER_LIMIT.as_secs(),
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
            pulse.has_places(3);
            pulse.poll_ended(at(polled));
            pulse.keeper_turned(at(turned));
            pulse.holds(if is_full { 3 } else { 2 }, at(polled));
            if is_draining {
                pulse.drains();
            }
            let case = (polled, turned, is_full, is_draining, now);
            assert_eq!(pulse.liveness(at(now)).is_alive, expected, "{case:?}");
        }
    }

    #[test]
    fn hands_that_become_free_after_hours_are_no_stuck_poller() {
        let mut pulse = Pulse::default();
        pulse.has_places(1);
        pulse.poll_ended(at(1));
        pulse.holds(1, at(1));
        pulse.keeper_turned(at(7_200));
        assert_eq!(pulse.liveness(at(7_200)).seconds_since_poll, None);
        pulse.holds(0, at(7_200));
        pulse.keeper_turned(at(7_290));
        assert!(pulse.liveness(at(7_290)).is_alive);
        assert!(!pulse.liveness(at(7_291)).is_alive, "it does not poll though it could");
        // Messages that come and go without filling it are no excuse.
        pulse.has_places(5);
        for in_hand in [1, 2, 1] {
            pulse.holds(in_hand, at(7_291));
        }
        assert!(!pulse.liveness(at(7_291)).is_alive);
    }

    #[test]
    fn a_worker_is_ready_from_the_first_contact_until_it_drains() {
        let mut pulse = Pulse::default();
        assert!(!pulse.liveness(at(1)).is_ready);
        pulse.is_ready();
        assert!(pulse.liveness(at(1)).is_ready);
        pulse.drains();
        assert!(!pulse.liveness(at(1)).is_ready);
        pulse.is_ready();
        assert!(!pulse.liveness(at(1)).is_ready, "there is no way back");
    }

    #[test]
    fn the_answer_has_the_ages_and_their_limits() {
        let mut pulse = Pulse::default();
        pulse.poll_ended(at(5));
        let answer = serde_json::to_string(&pulse.liveness(Duration::from_millis(7_260))).unwrap();
        let expected = r#"{"alive":true,"ready":false,"seconds_since_poll":2.3,"poll_limit_seconds":90,"seconds_since_keeper":7.3,"keeper_limit_seconds":60}"#;
        assert_eq!(answer, expected);
        pulse.drains();
        let answer = serde_json::to_string(&pulse.liveness(at(7))).unwrap();
        assert!(answer.contains(r#""seconds_since_poll":null"#), "{answer}");
    }
}
