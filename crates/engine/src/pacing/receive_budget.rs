//! The messages that a worker may receive by its rate. It takes tokens from its own bucket, or leases them from a shared one.

use std::time::Duration;

use redrive_sqs::MAX_ENTRIES;

use crate::Time;
use crate::pacing::rate::Rate;
use crate::pacing::tokens::{Bucket, Lease, ONE, capacity, gained};

/// The time for which tokens wait for others, so that one receive asks for them together.
const GATHERING: Duration = Duration::from_millis(100);

/// The shortest pause between leases.
const PAUSE: Duration = Duration::from_millis(100);
/// The pause after a failed lease, and the longest after an empty one if tokens may arrive that soon.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause. If the rate is slow, others may take the token that a worker waits for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The time after which tokens that no receive has asked for are lost.
const KEPT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReceiveBudget {
    Own(Rate, Bucket),
    Shared(SharedTokens),
}

/// Tokens of a shared bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedTokens {
    rate: Rate,
    lease: Lease,
    /// The time at which the lease was granted.
    at: Time,
    /// Tokens of the lease that were used.
    taken: usize,
    /// Tokens of earlier leases that receives under way have asked for.
    kept: usize,
    /// True if the last receive was empty. One token then waits for the next receive.
    is_idle: bool,
    /// Tokens that the next lease asks for: up to twice as many as before if those were used, otherwise as many as were used.
    wanted: usize,
    is_under_way: bool,
    pause: Duration,
    again_at: Time,
    pub(crate) is_failing: bool,
}

/// `asked` is the number of messages that the receives under way ask for.
impl ReceiveBudget {
    pub(crate) fn new(rate: Rate, is_shared: bool) -> Self {
        if is_shared { Self::Shared(SharedTokens::new(rate)) } else { Self::Own(rate, Bucket::full(&rate)) }
    }

    /// Returns how many messages receives may ask for together, which grows once there are enough tokens for another receive.
    pub(crate) fn ask(&self, asked: usize, now: Time) -> usize {
        match self {
            // The tokens stay in the bucket until messages arrive, so that it does not fill meanwhile.
            Self::Own(rate, bucket) => match bucket.tokens(rate, now) {
                tokens if tokens >= asked + enough(rate) => tokens,
                tokens => asked.min(tokens),
            },
            Self::Shared(leased) => leased.ask(asked, now),
        }
    }

    /// Returns when receives may ask for more, if not now.
    pub(crate) fn due_at(&self, asked: usize, now: Time) -> Option<Time> {
        match self {
            Self::Own(rate, bucket) => {
                let wanted = asked + enough(rate);
                let at = bucket.holds_at(wanted, rate);
                Some(at).filter(|at| *at > now && wanted <= most_of(rate))
            }
            Self::Shared(leased) => leased.due_at(asked, now),
        }
    }

    pub(crate) fn take(&mut self, messages: usize, now: Time) {
        match self {
            Self::Own(rate, bucket) => bucket.take(messages, rate, now),
            Self::Shared(leased) => leased.take(messages),
        }
    }

    pub(crate) fn give_back(&mut self, messages: usize, now: Time) {
        match self {
            Self::Own(rate, bucket) => bucket.give_back(messages, rate, now),
            Self::Shared(leased) => leased.taken = leased.taken.saturating_sub(messages),
        }
    }

    pub(crate) const fn leased(&mut self) -> Option<&mut SharedTokens> {
        match self {
            Self::Own(..) => None,
            Self::Shared(leased) => Some(leased),
        }
    }
}

impl SharedTokens {
    fn new(rate: Rate) -> Self {
        let lease = crate::pacing::tokens::Bucket { level: 0, at: Time::ZERO }.lease(0, &rate, Time::ZERO);
        Self {
            rate,
            lease,
            at: Time::ZERO,
            taken: 0,
            kept: 0,
            is_idle: false,
            wanted: 1,
            is_under_way: false,
            pause: PAUSE,
            again_at: Time::ZERO,
            is_failing: false,
        }
    }

    /// Returns the number of tokens to lease, if it is time and there are free places.
    pub(crate) fn next(&mut self, places: usize, asked: usize, now: Time) -> Option<u32> {
        let places = places.saturating_sub(asked);
        if self.is_under_way || now < self.again_at || places == 0 || self.spare(asked, now) > 0 {
            return None;
        }
        self.is_under_way = true;
        if self.is_failing {
            // The bucket may have granted each lease whose answer was lost.
            self.wanted = 1;
        } else if self.lease.tokens() > 0 {
            let is_used_up = self.unused() <= asked;
            // A lease lasts for a second at least. Free places now do not limit it, because they are soon free again.
            let late = now.saturating_sub(self.at + self.lease.arrives_after(self.tokens())).min(KEPT);
            let more =
                (self.wanted * (2 * KEPT - late).as_millis() as usize).div_ceil(KEPT.as_millis() as usize);
            let wanted = if is_used_up { more } else { self.taken };
            let in_a_second = self.lease.most_in(Duration::from_secs(1));
            self.wanted = wanted.clamp(1, in_a_second);
        }
        u32::try_from(self.wanted).ok()
    }

    /// Returns when to lease more, if nothing else happens.
    pub(crate) fn next_at(&self, asked: usize, now: Time) -> Option<Time> {
        let are_lost_at = self.at + self.lease.arrives_after(self.tokens()) + KEPT;
        let at = if self.spare(asked, now) > 0 { are_lost_at.max(self.again_at) } else { self.again_at };
        Some(at).filter(|_| !self.is_under_way)
    }

    /// Takes the tokens of a granted lease. `random` is from 0 to 1, so that workers do not ask at the same time.
    pub(crate) fn granted(&mut self, lease: Lease, asked: usize, now: Time, random: f64) {
        let waiting = self.waiting(asked);
        self.kept = (self.kept.min(waiting) + self.unused()).min(waiting);
        (self.lease, self.at, self.taken) = (lease, now, 0);
        (self.is_under_way, self.is_failing) = (false, false);
        let pause = if lease.tokens() > 0 {
            self.pause = PAUSE;
            PAUSE
        } else {
            self.pause = (2 * self.pause).min(LONG_PAUSE);
            lease.retry_after().clamp(self.pause, LONGEST_PAUSE)
        };
        self.again_at = now + pause.mul_f64(1.0 + random / 4.0);
    }

    /// Notes that a lease failed. Returns true if it is the first failure in a row.
    pub(crate) fn failed(&mut self, now: Time, random: f64) -> bool {
        self.is_under_way = false;
        self.again_at = now + LONG_PAUSE.mul_f64(1.0 + random / 4.0);
        !std::mem::replace(&mut self.is_failing, true)
    }

    fn ask(&self, asked: usize, now: Time) -> usize {
        let tokens = self.usable(self.lease.arrived(now.saturating_sub(self.at)), asked, now);
        if tokens >= asked + self.enough(asked, now) { tokens } else { asked.min(tokens) }
    }

    fn due_at(&self, asked: usize, now: Time) -> Option<Time> {
        let tokens = asked + self.enough(asked, now) + self.taken - self.kept.min(self.waiting(asked));
        let at = self.at + self.lease.arrives_after(tokens);
        Some(at).filter(|at| *at > now && tokens <= self.tokens())
    }

    fn take(&mut self, messages: usize) {
        self.is_idle = messages == 0;
        let kept = messages.min(self.kept);
        self.kept -= kept;
        self.taken += messages - kept;
    }

    /// Returns the tokens that a receive waits for. The lease may have fewer than usual.
    fn enough(&self, asked: usize, now: Time) -> usize {
        enough(&self.rate).min(self.spare(asked, now)).max(1)
    }

    /// Returns the tokens that have arrived or are yet to arrive, besides those that receives under way have asked for.
    fn spare(&self, asked: usize, now: Time) -> usize {
        self.usable(self.tokens(), asked, now).saturating_sub(asked)
    }

    /// Returns how many of these tokens of the lease may be used, with those kept. Tokens that were asked for are not lost.
    fn usable(&self, tokens: usize, asked: usize, now: Time) -> usize {
        let lost = now.checked_sub(self.at + KEPT).map_or(0, |after| self.lease.arrived(after));
        let waiting = self.waiting(asked);
        let kept = self.kept.min(waiting);
        let asked_for = tokens.saturating_sub(self.taken).min(waiting - kept);
        kept + tokens.saturating_sub(lost.max(self.taken)).max(asked_for)
    }

    /// Returns the tokens that are not lost, however late they are used.
    fn waiting(&self, asked: usize) -> usize {
        asked.max(self.is_idle.into())
    }

    /// Returns the whole state: first the part that does not change with time, then times.
    #[cfg(test)]
    pub(crate) fn state(&self) -> (impl std::hash::Hash, [Time; 2]) {
        let counts = [self.taken, self.kept, self.wanted, self.is_idle.into()];
        ((counts, self.lease, self.pause, self.is_under_way), [self.at, self.again_at])
    }

    fn unused(&self) -> usize {
        self.tokens().saturating_sub(self.taken)
    }

    fn tokens(&self) -> usize {
        self.lease.tokens() as usize
    }
}

/// Returns the tokens that a receive waits for.
fn enough(rate: &Rate) -> usize {
    let gathered = usize::try_from(gained(rate, GATHERING) / ONE).unwrap_or(MAX_ENTRIES);
    gathered.min(most_of(rate)).clamp(1, MAX_ENTRIES)
}

/// Returns the tokens of a full bucket.
fn most_of(rate: &Rate) -> usize {
    usize::try_from(capacity(rate) / ONE).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pacing::tokens;

    const fn millis(milliseconds: u64) -> Time {
        Duration::from_millis(milliseconds)
    }

    fn leased(budget: &mut ReceiveBudget) -> &mut SharedTokens {
        budget.leased().unwrap()
    }

    /// Creates a budget that has leased these tokens at 0 s.
    fn with(tokens: u32, rate: Rate) -> ReceiveBudget {
        let mut budget = ReceiveBudget::new(rate, true);
        let lease = tokens::Bucket::full(&rate).lease(tokens, &rate, millis(0));
        leased(&mut budget).granted(lease, 0, millis(0), 0.0);
        budget
    }

    #[test]
    fn a_receive_waits_for_ten_tokens_or_those_of_a_tenth_of_a_second() {
        let rates = [
            Rate::per_second(5_000),
            Rate::per_second(50),
            Rate::per_hour(10),
            Rate::per_second(50).burst(2),
        ];
        assert_eq!(rates.map(|rate| enough(&rate)), [10, 5, 1, 2]);
        let mut budget = ReceiveBudget::new(Rate::per_second(50), false);
        assert_eq!((budget.ask(0, millis(0)), budget.due_at(0, millis(0))), (26, None));
        budget.take(26, millis(0));
        assert_eq!((budget.ask(0, millis(99)), budget.due_at(0, millis(99))), (0, Some(millis(100))));
        assert_eq!((budget.ask(0, millis(100)), budget.due_at(0, millis(100))), (5, None));
        // While one receive asks for five, another has to wait for five more.
        assert_eq!((budget.ask(5, millis(180)), budget.due_at(5, millis(180))), (5, Some(millis(200))));
        assert_eq!((budget.ask(5, millis(200)), budget.ask(26, millis(9_000))), (10, 26));
        assert_eq!(budget.due_at(26, millis(200)), None, "the bucket never holds so many");
    }

    #[test]
    fn tokens_that_no_receive_asks_for_are_lost_after_a_second() {
        let budget = with(20, Rate::per_second(50).burst(10));
        assert_eq!(
            [0, 99, 100, 200, 1_000, 1_099, 1_100, 1_200].map(|at| budget.ask(0, millis(at))),
            [10, 14, 15, 20, 10, 6, 5, 0]
        );
        assert_eq!(budget.due_at(10, millis(0)), Some(millis(100)), "five more");
        assert_eq!(budget.ask(10, millis(9_000)), 10, "a receive has asked for them");
    }

    #[test]
    fn a_lease_asks_for_twice_the_used_tokens_or_for_as_many_as_were_used() {
        let rate = Rate::per_second(50).burst(10);
        let mut budget = ReceiveBudget::new(rate, true);
        assert_eq!(leased(&mut budget).next(20, 0, millis(0)), Some(1));
        assert_eq!(leased(&mut budget).next(20, 0, millis(0)), None, "one at a time");
        let mut shared = tokens::Bucket::full(&rate);
        let mut grant = |budget: &mut ReceiveBudget, most, now| {
            leased(budget).granted(shared.lease(most, &rate, now), 0, now, 0.0);
        };
        grant(&mut budget, 1, millis(0));
        assert_eq!(leased(&mut budget).next(20, 1, millis(99)), None, "ten calls a second");
        assert_eq!(leased(&mut budget).next(20, 0, millis(100)), None, "the token is unused");
        assert_eq!(leased(&mut budget).next(20, 1, millis(100)), Some(2));
        budget.take(1, millis(100));
        grant(&mut budget, 2, millis(100));
        budget.take(2, millis(100));
        assert_eq!(leased(&mut budget).next(1, 0, millis(200)), Some(4), "places are soon free again");
        grant(&mut budget, 3, millis(200));
        budget.take(1, millis(300));
        assert_eq!(leased(&mut budget).next_at(0, millis(300)), Some(millis(1_200)));
        assert_eq!(leased(&mut budget).next(20, 0, millis(1_200)), Some(1), "only one was used");
    }

    #[test]
    fn after_an_empty_lease_or_a_failure_the_next_waits() {
        let rate = Rate::per_second(1).burst(1);
        let mut budget = ReceiveBudget::new(rate, true);
        let none = || tokens::Bucket { level: 0, at: millis(0) }.lease(0, &rate, millis(0));
        for pause in [200, 400, 800, 1_000, 1_000] {
            leased(&mut budget).next(1, 0, millis(50_000));
            leased(&mut budget).granted(none(), 0, millis(0), 0.0);
            assert_eq!(leased(&mut budget).next_at(0, millis(0)), Some(millis(pause)));
        }
        assert!(leased(&mut budget).failed(millis(0), 1.0));
        assert!(!leased(&mut budget).failed(millis(1), 0.0), "it has failed before");
        assert_eq!(leased(&mut budget).next_at(0, millis(1)), Some(millis(1_001)));
    }

    #[test]
    fn after_a_failure_leases_ask_for_one_token_until_one_is_granted() {
        let rate = Rate::per_second(50).burst(20);
        let mut budget = with(20, rate);
        leased(&mut budget).wanted = 20;
        budget.take(20, millis(0));
        for (at, wanted) in [(100, 38), (2_000, 1), (4_000, 1)] {
            assert_eq!(leased(&mut budget).next(50, 0, millis(at)), Some(wanted));
            leased(&mut budget).failed(millis(at), 0.0);
        }
        assert_eq!(leased(&mut budget).next(50, 0, millis(8_000)), Some(1));
        let lease = tokens::Bucket::full(&rate).lease(1, &rate, millis(0));
        leased(&mut budget).granted(lease, 0, millis(8_000), 0.0);
        budget.take(1, millis(8_000));
        assert_eq!(leased(&mut budget).next(50, 0, millis(8_100)), Some(2));
    }

    proptest! {
        /// Receives of several messages take up to a second here, and those of one up to twenty.
        #[test]
        fn workers_that_share_a_rate_exceed_it_by_two_seconds_and_one_each(
            messages in 1_u32..30, burst in 1_u32..20,
            steps in prop::collection::vec((0_u64..400, 0_usize..8, any::<bool>(), 0.0_f64..1.0), 1..200),
            has_messages in prop::collection::vec(any::<bool>(), 200),
        ) {
            let mut has_messages = has_messages.into_iter().cycle();
            let rate = Rate::per_second(messages).burst(burst);
            let mut shared = tokens::Bucket::full(&rate);
            let mut workers = vec![(ReceiveBudget::new(rate, true), None::<(u64, usize)>); 8];
            workers.iter_mut().for_each(|(budget, _)| leased(budget).wanted = 30);
            let (mut now, mut starts) = (0, Vec::new());
            for (later, worker, has_places, part) in steps {
                now += later;
                for (budget, receive) in &mut workers {
                    if let Some((at, asked)) = receive.take_if(|(at, _)| *at <= now) {
                        let received = if has_messages.next().unwrap() { asked } else { 0 };
                        budget.take(received, millis(at));
                        starts.push((at, received));
                    }
                }
                let (budget, receive) = &mut workers[worker];
                let asked = receive.map_or(0, |(_, asked)| asked);
                if let Some(most) = leased(budget).next(30, asked, millis(now)) {
                    prop_assert!(most <= 30);
                    let lease = shared.lease(most, &rate, millis(now));
                    leased(budget).granted(lease, asked, millis(now), part);
                }
                let more = budget.ask(asked, millis(now)).saturating_sub(asked).min(10);
                if has_places && more > 0 && receive.is_none() {
                    let longest = if more == 1 { 20_000.0 } else { 1_000.0 };
                    *receive = Some((now + (part * longest) as u64, more));
                }
            }
            starts.sort_unstable();
            for first in 0..starts.len() {
                let mut sum = 0;
                for (at, count) in &starts[first..] {
                    sum += count;
                    let time = (at - starts[first].0) as f64 / 1_000.0 + 2.0;
                    prop_assert!(sum as f64 <= f64::from(burst) + f64::from(messages) * time + 8.0);
                }
            }
        }
    }
}
