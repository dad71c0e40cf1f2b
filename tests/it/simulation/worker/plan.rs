//! A run of workers before it happens.

use std::time::Duration;

use fastrand::Rng;

use crate::simulation::scenario::{Says, choose};

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) fifo: bool,
    /// How many messages a bulk handler takes at once.
    pub(super) chunk: Option<usize>,
    /// In seconds. No delay that is asked for is as long, which tells extensions from them.
    pub(super) visibility: u64,
    pub(super) concurrency: usize,
    pub(super) limit: u32,
    pub(super) drain: Duration,
    pub(super) backoff: u64,
    /// How many calls in a hundred go wrong.
    pub(super) odds: u32,
    pub(super) latency: Duration,
    pub(super) messages: Vec<Planned>,
    /// Workers at the same time, and in each place one after the other.
    pub(super) places: Vec<Vec<Life>>,
}

#[derive(Debug)]
pub(super) struct Planned {
    pub(super) after: Duration,
    pub(super) group: &'static str,
    script: Vec<Turn>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) says: Says,
    pub(super) takes: Duration,
    /// Somebody else deletes the message meanwhile.
    pub(super) is_taken_away: bool,
}

/// A process, from its start to the signal that ends it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub(super) pause: Duration,
    pub(super) lasts: Duration,
    pub(super) is_killed: bool,
}

impl Plan {
    pub(super) fn generate(rng: &mut Rng) -> Self {
        let fifo = rng.bool();
        let visibility = if fifo { choose(rng, &[4, 5, 11, 29]) } else { choose(rng, &[2, 4, 5, 11, 29]) };
        let concurrency = choose(rng, &[1, 2, 5, 10, 30]);
        let messages =
            (0..choose(rng, &[1, 5, 12, 40])).map(|_| Planned::generate(rng, visibility)).collect();
        let lives = |rng: &mut Rng| (0..rng.usize(0..=3)).map(|_| Life::generate(rng)).collect();
        let places = (0..rng.usize(1..=2)).map(|_| lives(rng)).collect();
        Self {
            fifo,
            chunk: (rng.u8(..3) == 0).then(|| choose(rng, &[1, 3, 10])),
            visibility,
            concurrency,
            limit: rng.u32(2..=6),
            drain: Duration::from_secs(choose(rng, &[5, 10, 25])),
            backoff: choose(rng, &[0, 1, 7, 40]),
            odds: choose(rng, &[0, 0, 5, 30, 80]),
            latency: Duration::from_millis(choose(rng, &[0, 5, 30])),
            messages,
            places,
        }
    }
}

impl Planned {
    fn generate(rng: &mut Rng, visibility: u64) -> Self {
        let mut script: Vec<_> = (0..rng.usize(0..=3)).map(|_| Turn::generate(rng, visibility)).collect();
        script.push(Turn { says: Says::Ok, ..Turn::generate(rng, visibility) });
        Self {
            after: Duration::from_millis(choose(rng, &[0, 0, 0, 500, 3_000, 20_000])),
            group: choose(rng, &["A", "A", "B", "C"]),
            script,
        }
    }

    /// The last turn is repeated for ever.
    pub(super) fn turn(&self, attempt: u32) -> Turn {
        self.script[(attempt as usize - 1).min(self.script.len() - 1)]
    }
}

impl Turn {
    fn generate(rng: &mut Rng, visibility: u64) -> Self {
        let says = match rng.u8(..16) {
            0 | 1 => Says::Error,
            2 => Says::RetryAfter(choose(rng, &[0, 7])),
            3 => Says::Reject,
            4 => Says::Defer(6),
            5 => Says::Discard,
            6 => Says::Panic,
            _ => Says::Ok,
        };
        let longest = visibility * choose(rng, &[0, 0, 1, 3]) * 1_000 + 40;
        let is_taken_away = rng.u8(..25) == 0;
        Self { says, takes: Duration::from_millis(rng.u64(..longest)), is_taken_away }
    }
}

impl Life {
    fn generate(rng: &mut Rng) -> Self {
        Self {
            pause: Duration::from_millis(rng.u64(..5_000)),
            lasts: Duration::from_millis(choose(rng, &[200, 3_000, 60_000]) * rng.u64(1..=100) / 100),
            is_killed: rng.bool(),
        }
    }
}
