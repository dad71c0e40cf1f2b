//! The plan of a run: everything that chance decides in advance.

use std::time::Duration;

use fastrand::Rng;

use super::swarm::Swarm;
use super::{Backoff, Failure, Jitter, LastDelivery};

/// One queue, one function, and what will be sent.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) fifo: bool,
    pub(crate) messages: Vec<Letterhead>,
    /// The maxReceiveCount of the queue's redrive policy, if it has one.
    pub(crate) limit: Option<u32>,
    /// The maxReceiveCount that the function was told.
    pub(crate) told: Option<u32>,
    pub(crate) has_dead_letter_queue: bool,
    /// In seconds, and always more than an invocation has.
    pub(crate) visibility: u64,
    pub(crate) batch_size: usize,
    pub(crate) concurrency: usize,
    /// From the start of an invocation to its deadline.
    pub(crate) left: Duration,
    pub(crate) time_limit: Option<Duration>,
    /// Nothing is the default, 2^attempt seconds.
    pub(crate) backoff: Option<Backoff>,
    pub(crate) retries_panics: bool,
    pub(crate) retries_malformed: bool,
    pub(crate) last_delivery: Option<LastDelivery>,
    pub(crate) odds: Odds,
    /// The handler takes many messages at once.
    pub(crate) bulk: Option<Bulk>,
}

/// How a bulk handler is called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bulk {
    pub(crate) chunk: usize,
    pub(crate) halves: bool,
}

/// How many in a hundred go wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Odds {
    pub(crate) calls: u32,
    pub(crate) kills: u32,
    pub(crate) losses: u32,
}

/// One message, and what its handler will do.
#[derive(Debug)]
pub(crate) struct Letterhead {
    pub(crate) sent_after: Duration,
    pub(crate) group: Option<&'static str>,
    pub(crate) malformed: bool,
    pub(crate) max_attempts: Option<u32>,
    /// As the attribute has it, and as it is to be understood.
    pub(crate) backoff: Option<(&'static str, Backoff)>,
    script: Vec<Turn>,
}

/// What a handler does at one delivery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) says: Says,
    pub(crate) takes: Duration,
    /// A bulk handler rules on the message by itself.
    pub(crate) rules: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Ok,
    Error,
    RetryAfter(u64),
    Reject,
    Defer(u64),
    Discard,
    Panic,
    Hang,
    /// A bulk handler panicked, and left several messages open.
    PanicTogether,
}

impl Says {
    /// Whether Lambda may delete the message for this.
    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::Ok | Self::Discard)
    }

    /// What a handler returns for this, unless it panics or hangs.
    pub(crate) fn result(self) -> Result<(), Failure> {
        let seconds = Duration::from_secs;
        match self {
            Self::Ok | Self::Panic | Self::Hang | Self::PanicTogether => Ok(()),
            Self::Error => Err("down".into()),
            Self::RetryAfter(after) => Err(Failure::retry_after(seconds(after), "busy")),
            Self::Reject => Err(Failure::reject("refused")),
            Self::Defer(after) => Err(Failure::defer(seconds(after))),
            Self::Discard => Err(Failure::discard("late")),
        }
    }
}

impl Scenario {
    pub(crate) fn generate(rng: &mut Rng) -> Self {
        let fifo = rng.bool();
        let left = Duration::from_millis(match rng.u8(..4) {
            0 => rng.u64(300..1_500),
            1 => rng.u64(2_000..60_000),
            2 => 900_000,
            _ => 30_000,
        });
        let limit = (rng.u8(..8) > 0).then(|| rng.u32(1..=6));
        let told = match rng.u8(..10) {
            0 | 1 => None,
            2 => Some(rng.u32(1..=8)),
            3 => limit.map(|limit| limit + 1),
            4 => limit.map(|limit| limit.saturating_sub(1).max(1)),
            _ => limit,
        };
        let mut messages: Vec<_> = (0..rng.usize(1..=7)).map(|_| Letterhead::generate(rng, fifo)).collect();
        messages.sort_by_key(|message| message.sent_after);
        Self {
            fifo,
            messages,
            limit,
            told,
            has_dead_letter_queue: rng.u8(..8) > 0,
            visibility: choose(rng, &[30, 180, 5_700]).max(left.as_secs() + 1),
            batch_size: if fifo { rng.usize(1..=10) } else { rng.usize(1..=20) },
            concurrency: choose(rng, &[1, 1, 2, 4, 10]),
            left,
            time_limit: (rng.u8(..5) == 0).then(|| Duration::from_millis(rng.u64(20..3_000))),
            backoff: rng.bool().then(|| backoff(rng)),
            retries_panics: rng.u8(..4) == 0,
            retries_malformed: rng.u8(..4) == 0,
            last_delivery: match rng.u8(..6) {
                0 => Some(LastDelivery::DeadLetter),
                1 => Some(LastDelivery::RedrivePolicy),
                _ => None,
            },
            odds: Odds {
                calls: choose(rng, &[0, 0, 10, 50, 100]),
                kills: choose(rng, &[0, 0, 0, 20, 70]),
                losses: choose(rng, &[0, 0, 0, 10, 40]),
            },
            bulk: rng.bool().then(|| Bulk { chunk: choose(rng, &[1, 2, 3, 4, 10]), halves: rng.bool() }),
        }
    }

    /// The same, without what is muted.
    pub(crate) fn without(mut self, swarm: &Swarm) -> Self {
        if !swarm.has("drift") {
            self.told = self.limit;
        }
        self.odds.kills *= u32::from(swarm.has("kills"));
        self.odds.losses *= u32::from(swarm.has("losses"));
        self.bulk = self.bulk.filter(|_| swarm.has("bulk"));
        self.time_limit = self.time_limit.filter(|_| swarm.has("time-limit"));
        self.backoff = self.backoff.filter(|_| swarm.has("backoff"));
        for message in &mut self.messages {
            message.malformed &= swarm.has("malformed");
            if !swarm.has("overrides") {
                (message.max_attempts, message.backoff) = (None, None);
            }
        }
        self
    }

    /// Nobody told the function anything wrong.
    pub(crate) fn agrees(&self) -> bool {
        self.limit.is_some() && self.limit == self.told
    }

    /// The longest delay that SQS is sure to take.
    pub(crate) fn longest(&self) -> u64 {
        43_200 - self.visibility
    }

    /// The delivery after which the function expects no other.
    pub(crate) fn last_attempt(&self, message: usize) -> Option<u32> {
        let own = self.messages[message].max_attempts;
        self.told.map_or(own, |told| Some(own.map_or(told, |own| own.min(told))))
    }

    /// How long a message waits that has failed; on a standard queue it may ask for more than the consumer's own delay.
    pub(crate) fn delay_of(&self, message: usize, attempt: u32, random: f64) -> Duration {
        let ours = self.backoff.clone().unwrap_or_default().delay(attempt, random);
        let own = self.messages[message].backoff.as_ref().filter(|_| !self.fifo);
        own.map_or(ours, |(_, own)| own.delay(attempt, random).max(ours))
    }
}

impl Letterhead {
    fn generate(rng: &mut Rng, fifo: bool) -> Self {
        let mut script: Vec<_> = (0..rng.usize(0..=5)).map(|_| Turn::generate(rng)).collect();
        script.push(if rng.u8(..4) > 0 { Turn::ok(rng) } else { Turn::generate(rng) });
        Self {
            sent_after: Duration::from_secs(choose(rng, &[0, 0, 0, 3, 60])),
            group: (fifo || rng.u8(..5) == 0).then(|| choose(rng, &["A", "A", "B", "C"])),
            malformed: rng.u8(..15) == 0,
            max_attempts: (rng.u8(..8) == 0).then(|| rng.u32(1..=7)),
            backoff: (rng.u8(..8) == 0).then(|| own_backoff(rng)),
            script,
        }
    }

    /// The last turn is repeated for ever.
    pub(crate) fn turn(&self, attempt: u32) -> Turn {
        self.script[(attempt as usize - 1).min(self.script.len() - 1)]
    }
}

impl Turn {
    fn ok(rng: &mut Rng) -> Self {
        Self { says: Says::Ok, takes: Duration::from_millis(rng.u64(..40)), rules: rng.u8(..3) == 0 }
    }

    fn generate(rng: &mut Rng) -> Self {
        let says = match rng.u8(..20) {
            0..=7 => Says::Error,
            8 | 9 => Says::RetryAfter(choose(rng, &[0, 1, 7, 50_000])),
            10..=12 => Says::Reject,
            13 => Says::Defer(choose(rng, &[0, 5])),
            14 => Says::Discard,
            15 | 16 => Says::Panic,
            17 => Says::Hang,
            _ => Says::Ok,
        };
        let most = if rng.u8(..6) == 0 { 20_000 } else { 40 };
        Self { says, takes: Duration::from_millis(rng.u64(..most)), rules: rng.u8(..3) > 0 }
    }
}

fn backoff(rng: &mut Rng) -> Backoff {
    let seconds = Duration::from_secs;
    let backoff = match rng.u8(..4) {
        0 => Backoff::fixed(seconds(choose(rng, &[0, 1, 9]))),
        1 => Backoff::steps([1, 0, 15].map(seconds)),
        2 => Backoff::exponential(seconds(5), seconds(60)),
        _ => Ok(Backoff::default()),
    };
    let jitter = choose(
        rng,
        &[
            Jitter::None,
            Jitter::None,
            Jitter::None,
            Jitter::Full,
            Jitter::Equal,
            Jitter::Symmetric(seconds(3)),
        ],
    );
    backoff.unwrap().jitter(jitter)
}

fn own_backoff(rng: &mut Rng) -> (&'static str, Backoff) {
    let (seconds, fixed) = (Duration::from_secs, |after| Backoff::fixed(Duration::from_secs(after)).unwrap());
    match rng.u8(..3) {
        0 => (r#"{"kind":"fixed","delay":0,"jitter":"none"}"#, fixed(0)),
        1 => (r#"{"kind":"fixed","delay":11,"jitter":"none"}"#, fixed(11)),
        _ => (
            r#"{"kind":"exponential","delay":3,"multiplier":2,"max":20,"jitter":"none"}"#,
            Backoff::exponential(seconds(3), seconds(20)).unwrap(),
        ),
    }
}

pub(crate) fn choose<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}
