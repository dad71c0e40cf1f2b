//! Derives simulated time from real time. Pure except that it reads the real clock.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::Speed;

#[derive(Debug)]
pub(super) struct ClockState {
    pub(super) speed: Speed,
    /// True if time stands still while nothing runs, at any speed.
    pub(super) held: bool,
    /// The two clocks at the last change of pace.
    real: Instant,
    simulated: SystemTime,
    /// Time until which simulated time is no faster than real time.
    pub(super) real_until: Option<SystemTime>,
    /// Time until which waiting is skipped at any speed.
    skip_to: SystemTime,
    pub(super) running: usize,
    pub(super) sleepers: BTreeSet<(SystemTime, u64)>,
    pub(super) next_id: u64,
}

pub(super) enum Wait {
    Over,
    For(Duration),
    ForChange,
}

pub(super) enum Step {
    Jumped,
    Wait(Wait),
}

impl ClockState {
    pub(super) fn new(speed: Speed, start: SystemTime) -> Self {
        let sleepers = BTreeSet::new();
        Self {
            speed,
            held: false,
            real: Instant::now(),
            simulated: start,
            real_until: None,
            skip_to: start,
            running: 0,
            sleepers,
            next_id: 0,
        }
    }

    pub(super) fn now(&self) -> SystemTime {
        let elapsed = self.real.elapsed();
        let pace = self.pace_at(self.simulated);
        let slow = self.slow_left(self.simulated).filter(|_| pace > 0.0).map(|left| left.div_f64(pace));
        match slow.filter(|slow| *slow < elapsed) {
            None => self.simulated + elapsed.mul_f64(pace),
            Some(slow) => {
                let end = self.simulated + slow.mul_f64(pace);
                end + (elapsed - slow).mul_f64(self.free_pace())
            }
        }
    }

    /// Returns the present number of simulated seconds per second, apart from jumps.
    pub(super) fn pace(&self) -> f64 {
        self.pace_at(self.now())
    }

    fn pace_at(&self, moment: SystemTime) -> f64 {
        match self.speed {
            Speed::Times(times) if self.slow_left(moment).is_some() && self.may_pass() => times.min(1.0),
            Speed::Max if self.slow_left(moment).is_some() && self.may_pass() => 1.0,
            _ => self.free_pace(),
        }
    }

    /// Returns the pace while no client has a message in hand.
    fn free_pace(&self) -> f64 {
        match self.speed {
            _ if self.running > 0 => 1.0,
            Speed::Times(times) if !self.held => times,
            Speed::Times(_) | Speed::Max => 0.0,
        }
    }

    fn may_pass(&self) -> bool {
        self.running == 0 && !self.held
    }

    /// Returns how much longer clients have messages in hand, or None if they have none.
    fn slow_left(&self, moment: SystemTime) -> Option<Duration> {
        self.real_until?.duration_since(moment).ok().filter(|left| !left.is_zero())
    }

    pub(super) fn settle(&mut self) {
        self.simulated = self.now();
        self.real = Instant::now();
    }

    /// Skips the next `time`, and returns its end.
    pub(super) fn skip(&mut self, time: Duration) -> SystemTime {
        let end = self.now() + time;
        self.skip_to = self.skip_to.max(end);
        end
    }

    pub(super) fn real_time_to(&self, until: SystemTime) -> Wait {
        let now = self.now();
        let Some(left) = until.duration_since(now).ok().filter(|left| !left.is_zero()) else {
            return Wait::Over;
        };
        let left = self.slow_left(now).map_or(left, |slow| left.min(slow));
        match self.pace_at(now) {
            0.0 => Wait::ForChange,
            // Timers have a resolution of a millisecond, and can wait for a year.
            pace => {
                Wait::For(Duration::from_secs_f64((left.as_secs_f64() / pace).clamp(0.001, 31_536_000.0)))
            }
        }
    }

    pub(super) fn step(&mut self, until: Option<SystemTime>, stop: SystemTime) -> Step {
        let skip_to = Some(self.skip_to).filter(|end| *end > self.now());
        let until = until.into_iter().chain(skip_to).min();
        let wait = self.real_time_to(until.unwrap_or(stop).min(stop));
        let leaps = self.speed == Speed::Max && !self.held && self.slow_left(self.now()).is_none();
        let skips = leaps || skip_to.is_some();
        let may_jump = skips && self.running == 0 && !matches!(wait, Wait::Over);
        let sleeper = self.sleepers.first().map(|(until, _)| *until);
        match until.into_iter().chain(sleeper).min() {
            Some(next) if may_jump && next > self.now() => {
                (self.simulated, self.real) = (next.min(stop), Instant::now());
                Step::Jumped
            }
            _ => Step::Wait(wait),
        }
    }
}
