//! Tests a Lambda batch whose handler takes many messages of many groups in one call, in any order of events. The explorer
//! has only handlers of one message on Lambda.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

const UNTIL: Duration = Duration::from_secs(20);

/// The commands that a shell must perform, and what has happened.
struct Shell {
    engine: LambdaEngine<'static, Fake>,
    batch: BatchKey,
    /// The lanes that a runner may take.
    lanes: Vec<Range<usize>>,
    calls: Vec<Call>,
    is_stopped: bool,
    is_canceled: bool,
    reported: Option<Vec<Settlement>>,
}

impl Shell {
    fn new(messages: &[(u32, Option<u8>)]) -> Self {
        let is_fifo = messages.iter().any(|(_, group)| group.is_some());
        let policy = policy(is_fifo, Some(5), VISIBILITY);
        let limits = BatchLimits {
            epoch: Time::ZERO,
            until: UNTIL,
            settle_until: UNTIL + Duration::from_secs(5),
            has_client: true,
            ends_process: true,
        };
        let fact = |(id, (attempt, group)): (usize, &(u32, Option<u8>))| Fake {
            id: id.to_string(),
            attempt: *attempt,
            group: group.map(|group| group.to_string()),
        };
        let facts: Vec<_> = messages.iter().enumerate().map(fact).collect();
        let engine =
            LambdaEngine::of_batch(facts.into_iter(), is_fifo, policy, limits, &mut Shared::default(), 1);
        let batch = *engine.batches.keys().next().expect("it began");
        let (lanes, calls) = (Vec::new(), Vec::new());
        Self { engine, batch, lanes, calls, is_stopped: false, is_canceled: false, reported: None }
    }

    /// Performs the engine's commands.
    fn turn(&mut self, now: Time) {
        let batch = self.batch;
        while let Some(command) = self.engine.next(now) {
            match command {
                Command::Run { lanes, .. } => self.lanes.extend(lanes),
                Command::Call(call) => self.calls.push(call),
                Command::Stop(_) => self.is_stopped = true,
                Command::Cancel(_) => (self.is_stopped, self.is_canceled) = (true, true),
                Command::GiveUp(_) => {
                    self.lanes.clear();
                    self.engine.on(Event::GivenUp { batch, worked: Vec::new() }, now);
                }
                Command::Report { settled, .. } => self.reported = Some(settled),
                Command::Begin { .. } | Command::EndProcess(_) | Command::Note(_) => {}
                other => unreachable!("{other:?} is for a worker"),
            }
        }
        if std::mem::take(&mut self.is_stopped) {
            self.lanes.clear();
            self.engine.on(Event::Idle(batch), now);
            self.turn(now);
        }
    }

    /// Runs a call with the heads of some lanes, up to `most` messages. No other call takes the rest of a lane behind a
    /// message that stops it.
    fn run(&mut self, most: usize, outcomes: &[u8], now: Time) {
        let (mut worked, mut outcomes) = (Vec::new(), outcomes.iter().cycle());
        while worked.len() < most && !self.lanes.is_empty() {
            let lane = self.lanes.remove(0);
            let end = lane.end.min(lane.start + most - worked.len());
            let mut goes_on = true;
            for at in lane.start..end {
                let outcome = match outcomes.next().expect("it is a cycle") {
                    0 => failed(Failure::reject("bad")),
                    1 => failed(Failure::from("503")),
                    2 => failed(Failure::discard("late")),
                    _ => Outcome::Done,
                };
                goes_on &= outcome.lets_the_lane_go_on();
                worked.push(Worked { key: MessageKey { batch: self.batch, at }, outcome, ran: None });
            }
            if goes_on && end < lane.end {
                self.lanes.insert(0, end..lane.end);
            }
        }
        self.engine.on(Event::Ended(worked), now);
    }

    fn answer(&mut self, which: &Index, is_confirmed: bool, now: Time) {
        let call = self.calls.remove(which.index(self.calls.len()));
        let keys = call.messages.iter().map(|(key, _)| *key);
        let answers = keys.filter(|_| is_confirmed).map(|key| (key, Confirmation::Done)).collect();
        self.engine.on(Event::Answered { call, answers, took: millis(5) }, now);
    }
}

fn messages() -> impl Strategy<Value = Vec<(u32, Option<u8>)>> {
    let standard = prop::collection::vec((1_u32..=5, Just(None)), 1..8);
    let fifo = prop::collection::vec((1_u32..=5, (0_u8..2).prop_map(Some)), 1..8);
    prop_oneof![1 => standard, 3 => fifo]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn each_message_is_settled_whatever_comes_first(
        messages in messages(),
        most in 1_usize..6,
        confirms in prop::bool::weighted(0.8),
        events in prop::collection::vec((0_u8..3, any::<Index>(), prop::collection::vec(0_u8..4, 1..6)), 60),
    ) {
        let (mut shell, mut now) = (Shell::new(&messages), Time::ZERO);
        let mut events = events.iter().cycle();
        for _ in 0..200 {
            shell.turn(now);
            if shell.reported.is_some() {
                break;
            }
            let (which, index, outcomes) = events.next().expect("it is a cycle");
            let wakes = shell.engine.wake_at();
            match (which, wakes) {
                (0, _) if !shell.lanes.is_empty() => shell.run(most, outcomes, now),
                (1, _) if !shell.calls.is_empty() => shell.answer(index, confirms, now),
                (2, Some(at)) => now = now.max(at),
                _ if !shell.lanes.is_empty() => shell.run(most, outcomes, now),
                _ if !shell.calls.is_empty() => shell.answer(index, confirms, now),
                (_, Some(at)) => now = now.max(at),
                (_, None) => prop_assert!(false, "nothing is to come"),
            }
        }
        prop_assert!(shell.reported.is_some(), "it does not end");
        for settled in shell.reported.iter().flatten() {
            let is_done = settled.outcome.lets_the_lane_go_on();
            prop_assert!(is_done == matches!(settled.action, NextStep::Ack));
            prop_assert!(!confirms || settled.state != State::Left, "{settled:?}");
        }
    }
}
