//! Tests a worker's engine with one queue, call by call. `explorer` tries all sequences.

mod calls_of_many;

use super::batch::{Batch, Deletes};
use super::keys::LeaseKey;
use super::testing::{Failure, Fake, failed, policy};
use super::worker::Worker;
use super::*;

const VISIBILITY: Duration = Duration::from_secs(30);

/// An invocation of 30 s.
const LIMITS: BatchLimits = BatchLimits {
    epoch: Time::ZERO,
    until: millis(30_000),
    settle_until: millis(30_000),
    has_client: true,
    ends_process: false,
};

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A worker, and a shell that does nothing by itself.
struct Bench {
    engine: WorkerEngine<'static, Fake>,
    commands: Vec<Command>,
}

impl Bench {
    /// Creates a worker of a queue with a dead-letter queue and three deliveries.
    fn new(is_fifo: bool, visibility: Duration) -> Self {
        let policy = policy(is_fifo, Some(3), visibility);
        let drain = Duration::from_secs(25);
        let receiving = Receiving {
            is_fifo,
            visibility,
            concurrency: 20,
            slow: None,
            chunk: None,
            drain,
            rate: None,
            is_rate_shared: false,
            rate_of_key: None,
        };
        Self {
            engine: WorkerEngine::of_worker(receiving, policy, Time::ZERO, (7, Secret::FOR_TESTS)),
            commands: Vec::new(),
        }
    }

    /// Creates a worker that has received this many messages at 0 s: on a FIFO queue those of one group.
    fn with(messages: usize, is_fifo: bool, visibility: Duration) -> Self {
        let mut bench = Self::new(is_fifo, visibility);
        bench.receive(&(0..messages).collect::<Vec<_>>(), 1, millis(0));
        bench
    }

    fn receive(&mut self, ids: &[usize], attempt: u32, now: Time) {
        self.turn(now);
        let poll = self.take(|command| matches!(command, Command::Receive(_)));
        let Some(Command::Receive(poll)) = poll else { panic!("it does not receive") };
        let group = self.engine.machine.receiving.is_fifo.then(|| "group".to_owned());
        let arrival = |&id: &usize| Arrival {
            lease: LeaseKey(1_000 * attempt as usize + id),
            facts: Fake { id: id.to_string(), attempt, group: group.clone() },
            body: 2,
            bytes: 2,
        };
        self.engine.on(Event::Received { poll, messages: ids.iter().map(arrival).collect() }, now);
        self.turn(now);
    }

    /// Ends the poll that is under way without messages, so that another begins.
    fn receive_nothing(&mut self, now: Time) {
        self.receive(&[], 1, now);
        self.turn(now + millis(10));
    }

    fn turn(&mut self, now: Time) {
        self.commands.extend(std::iter::from_fn(|| self.engine.next(now)));
    }

    fn take(&mut self, which: impl Fn(&Command) -> bool) -> Option<Command> {
        let at = self.commands.iter().position(which)?;
        Some(self.commands.remove(at))
    }

    /// Returns the next call to settle messages, and their ids.
    fn call(&mut self, now: Time) -> Option<(Call, Vec<String>)> {
        self.turn(now);
        let Command::Call(call) = self.take(|command| matches!(command, Command::Call(_)))? else {
            return None;
        };
        let id = |(key, _): &(MessageKey, Duration)| self.engine.message(*key).unwrap().facts.id.clone();
        let ids = call.messages.iter().map(id).collect();
        Some((call, ids))
    }

    fn answer(&mut self, call: Call, confirmed: bool, now: Time) {
        self.say(call, confirmed.then_some(Confirmation::Done), now);
    }

    /// Answers that SQS would refuse the call for each of its messages again.
    fn refuse(&mut self, call: Call, now: Time) {
        self.say(call, Some(Confirmation::Refused), now);
    }

    fn say(&mut self, call: Call, answer: Option<Confirmation>, now: Time) {
        let answers = call.messages.iter().filter_map(|(key, _)| Some((*key, answer?))).collect();
        self.engine.on(Event::Answered { call, answers, took: millis(5) }, now);
        self.turn(now);
    }

    /// Returns the key of the message with this id.
    fn key(&self, id: usize) -> Option<MessageKey> {
        let of_batch = |(batch, messages): (&BatchKey, &Batch<Fake>)| {
            let at = messages.messages.iter().position(|message| message.facts.id == id.to_string())?;
            (messages.messages[at].settled.state == State::Running)
                .then_some(MessageKey { batch: *batch, at })
        };
        self.engine.batches.iter().find_map(of_batch)
    }

    fn ends(&mut self, ids: impl IntoIterator<Item = usize>, outcome: &Outcome, now: Time) {
        for id in ids {
            let key = self.key(id).expect("it runs");
            self.engine.on(Event::Ended(vec![Worked { key, outcome: outcome.clone(), ran: None }]), now);
        }
        self.turn(now);
    }

    /// Returns the number of dependencies that are down, and true if the worker is paused, as probes and metrics see it.
    fn shown(&mut self, now: Time) -> (usize, bool) {
        self.turn(now);
        (self.engine.down(), self.engine.is_paused())
    }

    fn paused_until(&mut self, now: Time) -> Option<Time> {
        self.turn(now);
        self.engine.paused_until()
    }

    fn extend(&mut self, now: Time) -> Vec<(LeaseKey, u64)> {
        self.turn(now);
        match self.take(|command| matches!(command, Command::Extend(_))) {
            Some(Command::Extend(leases)) => leases,
            _ => panic!("no lease is to be extended"),
        }
    }

    fn extended(&mut self, asked: Time, leases: Vec<(LeaseKey, u64)>, answer: Extension, now: Time) {
        let answers = Ok(leases.iter().map(|(lease, _)| (*lease, answer)).collect());
        self.engine.on(Event::Extended { asked, leases, answers }, now);
        self.turn(now);
    }

    fn reports(&mut self) -> Vec<Settlement> {
        let mut settled = Vec::new();
        while let Some(Command::Report { settled: more, .. }) =
            self.take(|command| matches!(command, Command::Report { .. }))
        {
            settled.extend(more);
        }
        settled
    }
}

fn ids(ids: &[usize]) -> Vec<String> {
    ids.iter().map(usize::to_string).collect()
}

#[test]
fn ten_deletes_make_a_call_at_once_and_fewer_after_a_tenth_of_a_second() {
    let mut bench = Bench::with(10, false, VISIBILITY);
    bench.receive(&[10, 11], 1, millis(20));
    bench.ends(0..12, &Outcome::Done, millis(1_000));
    let (call, first) = bench.call(millis(1_000)).unwrap();
    assert_eq!((call.kind, first.len(), call.until), (SettleCall::Delete, 10, millis(6_000)));
    assert!(bench.call(millis(1_099)).is_none());
    assert_eq!(bench.engine.wake_at(), Some(millis(1_100)));
    assert_eq!(bench.call(millis(1_100)).unwrap().1, ids(&[10, 11]));
}

#[test]
fn a_failed_group_goes_back_at_once_from_its_tail_to_its_head() {
    let mut bench = Bench::with(3, true, VISIBILITY);
    bench.ends([0], &failed(Failure::from("down")), millis(1));
    let (call, order) = bench.call(millis(1)).unwrap();
    assert_eq!((call.kind, order), (SettleCall::ChangeVisibility, ids(&[2, 1, 0])));
    assert_eq!(call.messages.iter().map(|(_, after)| after.as_secs()).collect::<Vec<_>>(), [4, 4, 2]);
}

#[test]
fn the_next_of_a_group_begins_once_the_one_before_it_is_deleted() {
    let mut bench = Bench::with(2, true, VISIBILITY);
    assert!(bench.key(0).is_some() && bench.key(1).is_none());
    bench.ends([0], &Outcome::Done, millis(5));
    let (call, _) = bench.call(millis(5)).unwrap();
    assert!(bench.key(1).is_none(), "the delete is not answered");
    bench.answer(call, true, millis(9));
    assert!(bench.key(1).is_some());
}

#[test]
fn the_next_of_a_group_begins_although_sqs_has_not_answered_the_delete() {
    let mut bench = Bench::with(1, true, VISIBILITY);
    bench.ends([0], &Outcome::Done, millis(5));
    let (call, _) = bench.call(millis(5)).unwrap();
    bench.receive(&[1], 1, millis(20));
    assert!(bench.key(1).is_some(), "SQS delivers it because the one before it is gone");
    bench.answer(call, true, millis(30));
    bench.receive(&[2], 1, millis(60));
    assert!(bench.key(2).is_none(), "another message of its group runs");
}

#[test]
fn a_delay_waits_for_the_answer_to_an_extension_and_a_delete_does_not() {
    let mut bench = Bench::with(2, false, VISIBILITY);
    let leases = bench.extend(millis(10_000));
    assert_eq!(leases.len(), 2);
    bench.ends([0], &failed(Failure::from("down")), millis(10_001));
    bench.ends([1], &Outcome::Done, millis(10_001));
    assert_eq!(bench.call(millis(10_101)).unwrap().1, ids(&[1]));
    assert!(bench.call(millis(11_000)).is_none());
    bench.extended(millis(10_000), leases, Extension::Granted, millis(11_500));
    let (call, order) = bench.call(millis(11_600)).unwrap();
    assert_eq!((call.kind, order), (SettleCall::ChangeVisibility, ids(&[0])));
}

#[test]
fn a_message_whose_lease_has_ended_is_not_settled() {
    let mut bench = Bench::with(2, false, VISIBILITY);
    bench.extend(millis(10_000));
    bench.ends([1], &Outcome::Done, millis(29_960));
    bench.turn(millis(30_000));
    bench.ends([0], &Outcome::Done, millis(30_010));
    assert!(bench.call(millis(30_200)).is_none());
    let settled = bench.reports();
    assert!(settled.iter().all(|it| it.is_lost && it.state == State::Left), "{settled:?}");
    assert!(settled.iter().all(|it| it.call.is_none()), "no call was made: {settled:?}");
    assert_eq!(settled.len(), 2);
}

#[test]
fn a_call_takes_no_longer_than_the_first_of_its_leases() {
    let mut bench = Bench::with(1, true, VISIBILITY);
    bench.extend(millis(10_000));
    bench.ends([0], &Outcome::Done, millis(27_000));
    assert_eq!(bench.call(millis(27_000)).unwrap().0.until, millis(30_000));
}

#[test]
fn a_done_message_keeps_its_lease_until_its_delete_is_confirmed() {
    let mut bench = Bench::with(1, true, VISIBILITY);
    bench.ends([0], &Outcome::Done, millis(0));
    let (mut now, mut tries) = (millis(0), 0);
    while now < Duration::from_secs(200) {
        bench.turn(now);
        if let Some(Command::Extend(leases)) = bench.take(|command| matches!(command, Command::Extend(_))) {
            bench.extended(now, leases, Extension::Granted, now);
        }
        if let Some((call, _)) = bench.call(now) {
            assert_eq!(call.kind, SettleCall::Delete);
            tries += 1;
            bench.answer(call, false, now);
        }
        assert!(bench.reports().is_empty());
        now = bench.engine.wake_at().unwrap().max(now + millis(1));
    }
    assert!((30..60).contains(&tries), "{tries} tries");
    bench.turn(now);
    let (call, _) = bench.call(now + Duration::from_secs(5)).expect("it is tried again");
    bench.answer(call, true, now + Duration::from_secs(5));
    assert!(matches!(bench.reports()[..], [Settlement { state: State::Gone, is_lost: false, .. }]));
}

#[test]
fn a_done_message_that_returns_is_deleted_and_does_not_run_again() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    bench.ends([0], &Outcome::Done, millis(0));
    let (call, _) = bench.call(millis(100)).unwrap();
    bench.answer(call, false, millis(110));
    bench.turn(millis(31_000));
    bench.turn(millis(36_000));
    assert!(bench.reports()[0].is_lost, "nothing is confirmed while its lease holds");
    bench.receive_nothing(millis(39_000));
    bench.receive(&[0], 2, millis(40_000));
    assert!(bench.key(0).is_none(), "it runs again");
    let (call, ids) = bench.call(millis(40_100)).unwrap();
    assert_eq!((call.kind, ids), (SettleCall::Delete, vec!["0".to_owned()]));
    bench.answer(call, true, millis(40_110));
    assert!(bench.engine.batches.is_empty() && bench.engine.machine.held.is_empty());
}

#[test]
fn a_late_extension_does_not_revive_a_lease() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    let leases = bench.extend(millis(10_000));
    // SQS acts on an old receipt handle, too; meanwhile the process stood still.
    bench.extended(millis(29_000), leases, Extension::Granted, millis(31_000));
    assert!(bench.take(|command| matches!(command, Command::Note(Note::LeaseLost))).is_some());
    assert!(bench.take(|command| matches!(command, Command::Cancel(_))).is_some());
}

#[test]
fn a_function_that_starts_a_small_part_of_a_batch_spreads_the_rest() {
    for (finished, spread) in [(2, false), (1, true)] {
        let policy = policy(false, Some(3), VISIBILITY);
        let limits = BatchLimits { until: millis(8_000), settle_until: millis(9_000), ..LIMITS };
        let message = |id: usize| Fake { id: id.to_string(), attempt: 1, group: None };
        let mut shared = Shared::default();
        let mut engine = LambdaEngine::of_batch((0..12).map(message), false, policy, limits, &mut shared, 7);
        let mut commands: Vec<_> = std::iter::from_fn(|| engine.next(millis(0))).collect();
        let Some(Command::Begin { batch, .. }) = commands.first().cloned() else {
            panic!("it does not begin")
        };
        for at in 0..finished {
            let key = MessageKey { batch, at };
            engine.on(Event::Ended(vec![Worked { key, outcome: Outcome::Done, ran: None }]), millis(8_000));
        }
        let timed_out =
            Worked { key: MessageKey { batch, at: finished }, outcome: Outcome::TimedOut, ran: None };
        engine.on(Event::GivenUp { batch, worked: vec![timed_out] }, millis(8_000));
        commands.extend(std::iter::from_fn(|| engine.next(millis(8_020))));
        let calls = commands.iter().filter_map(|command| match command {
            Command::Call(call) => Some(call.messages.iter().map(|(_, after)| after.as_secs())),
            _ => None,
        });
        let mut delays: Vec<_> = calls.flatten().collect();
        delays.sort_unstable();
        // The one that ran out of time waits 2 s.
        let expected =
            if spread { vec![0, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36] } else { [&[0; 9][..], &[2]].concat() };
        assert_eq!(delays, expected, "{finished} of 12");
        let is_noted =
            |command: &Command| matches!(command, Command::Note(Note::Overloaded { unstarted: 10, all: 12 }));
        assert_eq!(commands.iter().any(is_noted), spread);
    }
}

#[test]
fn a_delay_of_zero_is_not_sent_again_without_an_answer() {
    let mut bench = Bench::with(2, false, VISIBILITY);
    bench.ends([0], &failed(Failure::retry_after(Duration::ZERO, "busy")), millis(0));
    bench.ends([1], &failed(Failure::retry_after(Duration::from_secs(4), "busy")), millis(0));
    let (call, _) = bench.call(millis(100)).unwrap();
    bench.answer(call, false, millis(200));
    let (mut again, mut now) = (Vec::new(), millis(200));
    while now < VISIBILITY {
        if let Some((call, ids)) = bench.call(now) {
            assert!(call.until <= millis(100) + Duration::from_secs(4), "{call:?}");
            again.push((now, ids));
            bench.answer(call, false, now);
        }
        now += millis(50);
    }
    assert!(
        !again.is_empty() && again.iter().all(|(at, ids)| *at < millis(3_600) && *ids == ["1"]),
        "{again:?}"
    );
}

#[test]
fn a_delay_that_sqs_did_not_set_is_sent_again() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    bench.ends([0], &failed(Failure::retry_after(Duration::ZERO, "busy")), millis(0));
    let (call, _) = bench.call(millis(100)).unwrap();
    bench.say(call, Some(Confirmation::NotDone), millis(110));
    bench.turn(millis(310));
    assert!(bench.call(millis(410)).is_some());
}

#[test]
fn a_lease_that_ends_soon_does_not_shorten_the_call_of_others() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    bench.receive_nothing(millis(28_000));
    bench.receive(&[1, 2], 1, millis(29_000));
    bench.ends([0, 1, 2], &failed(Failure::reject("no")), millis(29_800));
    let first = bench.call(millis(29_900)).unwrap();
    let second = bench.call(millis(29_900)).unwrap();
    assert_eq!((first.1, first.0.until), (ids(&[0]), millis(30_000)));
    assert_eq!((second.1, second.0.until), (ids(&[1, 2]), millis(34_900)));
}

#[test]
fn a_call_that_sqs_refused_is_not_repeated() {
    for (outcome, kind) in
        [(failed(Failure::from("down")), SettleCall::ChangeVisibility), (Outcome::Done, SettleCall::Delete)]
    {
        let mut bench = Bench::with(1, true, VISIBILITY);
        bench.ends([0], &outcome, millis(0));
        let (call, _) = bench.call(millis(0)).unwrap();
        assert_eq!(call.kind, kind);
        bench.refuse(call, millis(10));
        assert!(matches!(bench.reports()[..], [Settlement { state: State::Left, .. }]));
        assert!(bench.engine.machine.again.is_empty());
    }
}

#[test]
fn a_call_that_was_made_before_its_lease_was_lost_is_reported() {
    let mut bench = Bench::with(1, true, VISIBILITY);
    bench.ends([0], &failed(Failure::from("down")), millis(0));
    let (call, _) = bench.call(millis(0)).unwrap();
    bench.answer(call, false, millis(10));
    assert!(bench.reports().is_empty(), "it is tried again");
    bench.turn(millis(31_000));
    let settled = bench.reports().remove(0);
    assert!(settled.state == State::Left && settled.call.is_some(), "{settled:?}");
}

#[test]
fn nothing_is_tried_again_after_the_end_of_the_worker() {
    let mut bench = Bench::with(1, true, Duration::from_secs(120));
    bench.ends([0], &Outcome::Done, millis(0));
    let (call, _) = bench.call(millis(0)).unwrap();
    bench.engine.on(Event::Stop, millis(10));
    bench.turn(millis(10));
    // The drain ends at 25 s, and settling 3 s later.
    bench.answer(call, false, millis(27_900));
    assert!(matches!(bench.reports()[..], [Settlement { state: State::Left, .. }]));
}

#[test]
fn no_message_is_hidden_for_longer_than_twelve_hours_from_its_receive() {
    let mut bench = Bench::with(1, true, Duration::from_secs(43_000));
    let later = Failure::retry_after(Duration::from_secs(7_200), "down");
    bench.ends([0], &failed(later), Duration::from_secs(40_000));
    let (call, _) = bench.call(Duration::from_secs(40_000)).unwrap();
    assert!(call.messages[0].1 <= Duration::from_secs(3_195), "{call:?}");
}

#[test]
fn a_message_received_while_its_handler_runs_does_not_begin_again() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    let leases = bench.extend(millis(10_000));
    bench.extended(millis(10_000), leases, Extension::Refused, millis(10_100));
    bench.turn(millis(10_100));
    let running = bench.engine.batches.len();
    bench.receive(&[0], 2, millis(10_110));
    assert_eq!(bench.engine.batches.len(), running);
    assert!(bench.take(|command| matches!(command, Command::Note(Note::ReceivedAgain(_)))).is_some());
}

/// Each receive costs a delivery, and SQS dead-letters a message that has none left, also one that never ran.
#[test]
fn messages_received_while_their_group_blocks_a_thread_are_hidden() {
    let mut bench = Bench::with(2, true, VISIBILITY);
    let key = bench.key(0).unwrap();
    let leases = bench.extend(millis(10_000));
    bench.extended(millis(10_000), leases, Extension::Refused, millis(10_100));
    bench.turn(millis(10_100));
    bench.receive(&[0, 1], 2, millis(10_110));
    assert!(bench.take(|command| matches!(command, Command::Extend(_))).is_none(), "its handler may end");
    bench.turn(millis(10_150));
    assert!(bench.take(|command| matches!(command, Command::GiveUp(_))).is_some());
    let worked = vec![Worked { key, outcome: Outcome::Stuck, ran: None }];
    bench.engine.on(Event::GivenUp { batch: key.batch, worked }, millis(10_150));
    bench.turn(millis(10_150));
    bench.receive(&[0, 1], 3, millis(40_000));
    let hidden = bench.take(|command| matches!(command, Command::Extend(_)));
    let Some(Command::Extend(hidden)) = hidden else { panic!("{hidden:?}") };
    assert_eq!(hidden.iter().map(|(_, seconds)| *seconds).collect::<Vec<_>>(), [900, 900]);
}

/// If the answer is lost after SQS has written the letter, another may follow. The message is never deleted.
#[test]
fn a_message_without_a_confirmed_letter_is_delayed_during_the_drain() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    bench.ends([0], &failed(Failure::reject("bad")), millis(50));
    let (letter, _) = bench.call(millis(150)).unwrap();
    assert_eq!(letter.kind, SettleCall::DeadLetter);
    bench.engine.on(Event::Stop, millis(200));
    bench.turn(millis(200));
    bench.answer(letter, false, millis(2_200));
    let (change, _) = bench.call(millis(2_200)).expect("nothing waits for others at the end");
    assert_eq!((change.kind, change.messages[0].1.as_secs()), (SettleCall::ChangeVisibility, 2));
    bench.answer(change, true, millis(2_300));
    let settled = bench.reports().remove(0);
    assert!(matches!(settled.action, NextStep::DeadLetter { .. }) && settled.state == State::Back);
    assert!(!settled.is_over() && settled.has_settle_error());
    assert!(bench.take(|command| matches!(command, Command::Receive(_))).is_some(), "the poll of before");
    let poll = Poll { messages: 10, wait: Duration::from_secs(20), sent: millis(0) };
    bench.engine.on(Event::Received { poll, messages: Vec::new() }, millis(2_400));
    bench.turn(millis(2_400));
    let exit = bench.take(|command| matches!(command, Command::Exit(_)));
    assert!(matches!(exit, Some(Command::Exit(Exit::Settled { canceled: false }))), "{exit:?}");
}

#[test]
fn after_the_signal_only_last_deliveries_begin() {
    let mut bench = Bench::with(2, true, VISIBILITY);
    bench.engine.on(Event::Stop, millis(10));
    bench.turn(millis(10));
    bench.ends([0], &Outcome::Done, millis(20));
    let (call, _) = bench.call(millis(20)).unwrap();
    bench.answer(call, true, millis(30));
    assert!(bench.key(1).is_none());
    let (change, order) = bench.call(millis(30)).unwrap();
    assert_eq!(
        (change.kind, order, change.messages[0].1),
        (SettleCall::ChangeVisibility, ids(&[1]), Duration::ZERO)
    );

    let mut last = Bench::new(true, VISIBILITY);
    last.receive(&[0, 1], 3, millis(0));
    last.engine.on(Event::Stop, millis(10));
    last.turn(millis(10));
    last.ends([0], &Outcome::Done, millis(20));
    let (call, _) = last.call(millis(20)).unwrap();
    last.answer(call, true, millis(30));
    assert!(last.key(1).is_some(), "else SQS would dead-letter it unhandled");
}

#[test]
fn a_second_signal_ends_at_once_and_counts_unfinished_messages() {
    let mut bench = Bench::with(2, false, VISIBILITY);
    bench.engine.on(Event::Stop, millis(10));
    bench.engine.on(Event::Stop, millis(20));
    bench.turn(millis(20));
    let exit = bench.take(|command| matches!(command, Command::Exit(_)));
    assert!(matches!(exit, Some(Command::Exit(Exit::AtOnce(2)))), "{exit:?}");
}

#[test]
fn a_message_whose_handler_still_blocks_is_not_settled() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    bench.engine.on(Event::Stop, millis(0));
    bench.turn(millis(25_000));
    assert!(bench.take(|command| matches!(command, Command::Cancel(_))).is_some());
    let key = bench.key(0).unwrap();
    bench.turn(millis(25_050));
    assert!(bench.take(|command| matches!(command, Command::GiveUp(_))).is_some());
    let worked = vec![Worked { key, outcome: Outcome::Stuck, ran: None }];
    bench.engine.on(Event::GivenUp { batch: key.batch, worked }, millis(25_050));
    assert!(bench.call(millis(25_100)).is_none());
    assert!(matches!(bench.reports()[..], [Settlement { state: State::Left, outcome: Outcome::Stuck, .. }]));
}

#[test]
fn a_discarded_message_is_deleted() {
    let mut bench = Bench::with(1, false, VISIBILITY);
    let discard = failed(Failure::discard("late"));
    assert!(matches!(&discard, Outcome::Failed(summary) if summary.disposition == Disposition::Discard));
    bench.ends([0], &discard, millis(50));
    assert_eq!(bench.call(millis(150)).unwrap().0.kind, SettleCall::Delete);
}

/// Creates a worker whose breaker is open since 0 s, after three of 20 messages. The others still run.
fn paused() -> Bench {
    let mut bench = Bench::with(20, false, millis(900_000));
    bench.ends(0..3, &failed(Failure::outage("503")), millis(0));
    bench
}

#[test]
fn three_outages_pause_receives_for_a_minute_and_then_one_message_tries() {
    let mut bench = paused();
    assert_eq!((bench.paused_until(millis(1)), bench.engine.free()), (Some(millis(60_000)), 0));
    assert_eq!((bench.paused_until(millis(60_000)), bench.engine.free()), (None, 1));
}

#[test]
fn a_trial_without_proof_does_not_cost_a_minute() {
    let mut bench = paused();
    bench.turn(millis(60_000));
    bench.receive(&[30], 1, millis(60_050));
    assert_eq!(bench.paused_until(millis(60_051)), Some(millis(120_050)), "it tries");
    bench.ends([30], &failed(Failure::reject("no such customer")), millis(60_100));
    assert_eq!((bench.paused_until(millis(60_101)), bench.engine.free()), (None, 1), "the next one may");
    assert_eq!(bench.shown(millis(60_101)), (0, false), "a probe that was discarded says nothing");
    bench.receive(&[31], 1, millis(60_200));
    bench.ends([31], &failed(Failure::retry("500")), millis(60_300));
    assert_eq!(
        bench.paused_until(millis(60_301)),
        Some(millis(120_200)),
        "this may be the dependency's fault"
    );
}

#[test]
fn a_success_that_began_before_the_outage_does_not_end_the_pause() {
    let mut bench = Bench::with(20, false, millis(900_000));
    bench.ends(0..3, &failed(Failure::outage("503")), millis(10));
    let key = bench.key(5).expect("it runs");
    let ran = Some(Ran { took: millis(50), ended: millis(50), is_shared: false });
    bench.engine.on(Event::Ended(vec![Worked { key, outcome: Outcome::Done, ran }]), millis(50));
    assert!(bench.engine.is_paused());
    bench.turn(millis(60_010));
    bench.receive(&[30], 1, millis(60_060));
    let key = bench.key(30).expect("it runs");
    let ran = Some(Ran { took: millis(20), ended: millis(20), is_shared: false });
    bench.engine.on(Event::Ended(vec![Worked { key, outcome: Outcome::Done, ran }]), millis(60_080));
    assert!(bench.engine.context.shared.breakers.is_empty());
}

/// Another worker may have emptied the queue, and a rollout waits until this one is ready.
#[test]
fn a_worker_without_messages_is_ready_once_the_next_one_may_try() {
    let mut bench = paused();
    assert_eq!([1, 59_999].map(|now| bench.shown(millis(now))), [(1, true); 2]);
    assert_eq!([60_000, 3_600_000].map(|now| bench.shown(millis(now))), [(0, false); 2]);
    bench.receive(&[30], 1, millis(3_600_010));
    assert_eq!(bench.shown(millis(3_600_020)), (1, true), "it tries");
}

#[test]
fn an_unnamed_outage_does_not_pause_a_worker_with_named_dependencies() {
    let mut bench = Bench::with(20, false, millis(900_000));
    bench.engine.context.policy.names_dependencies = true;
    bench.ends(0..3, &failed(Failure::outage("503")), millis(0));
    assert_eq!((bench.engine.down(), bench.engine.is_paused(), bench.engine.free()), (1, false, 3));
}

/// Creates a worker whose store did not answer three claims.
fn without_its_store() -> Bench {
    let mut bench = Bench::new(false, millis(900_000));
    bench.engine.context.policy.has_store = true;
    bench.receive(&(0..20).collect::<Vec<_>>(), 1, millis(0));
    bench.ends(0..3, &failed(Failure::outage("no route").of_store()), millis(0));
    bench
}

#[test]
fn a_worker_without_its_store_receives_one_message_a_minute() {
    for has_own_dependencies in [false, true] {
        let mut bench = without_its_store();
        bench.engine.context.policy.names_dependencies = has_own_dependencies;
        assert_eq!((bench.paused_until(millis(1)), bench.engine.free()), (Some(millis(60_000)), 0));
        assert_eq!((bench.paused_until(millis(60_000)), bench.engine.free()), (None, 1));
        let Some(note) = bench.take(|command| matches!(command, Command::Note(Note::IsDown { .. }))) else {
            panic!("it is not said");
        };
        assert!(format!("{note:?}").contains("idempotency-store"), "{note:?}");
    }
}

#[test]
fn any_answer_of_the_store_ends_the_pause() {
    let in_progress = failed(Failure::defer(millis(9_000)).of_store());
    for answer in [Outcome::Replayed, failed(Failure::reject("").of_store()), in_progress] {
        let mut bench = without_its_store();
        bench.turn(millis(60_000));
        bench.receive(&[30], 1, millis(60_050));
        assert!(bench.engine.is_paused() && bench.engine.free() == 0, "it tries");
        bench.ends([30], &answer, millis(60_100));
        assert!(!bench.engine.is_paused(), "{answer:?}");
    }
    let mut bench = without_its_store();
    bench.turn(millis(60_000));
    bench.receive(&[30], 1, millis(60_050));
    bench.ends([30], &failed(Failure::malformed("4x")), millis(60_100));
    assert_eq!(
        (bench.paused_until(millis(60_101)), bench.engine.is_down()),
        (None, true),
        "it proves nothing"
    );
    bench.receive(&[31], 1, millis(60_200));
    let key = bench.key(31).expect("it runs");
    let ran = Some(Ran { took: millis(20), ended: millis(30), is_shared: false });
    let outcome = failed(Failure::retry("500"));
    bench.engine.on(Event::Ended(vec![Worked { key, outcome, ran }]), millis(60_240));
    assert!(!bench.engine.is_paused(), "its handler ran");
}

#[test]
fn an_outage_that_a_handler_reports_does_not_count_for_the_store() {
    let mut bench = Bench::new(false, millis(900_000));
    bench.engine.context.policy.has_store = true;
    bench.receive(&(0..20).collect::<Vec<_>>(), 1, millis(0));
    bench.engine.context.policy.names_dependencies = true;
    bench.ends(0..3, &failed(Failure::outage("503").on_dependency("idempotency-store")), millis(0));
    bench.ends(3..6, &failed(Failure::outage("503")), millis(0));
    assert!(!bench.engine.is_paused());
    // A sender chooses the name of its own dependency.
    let forged = Fake { id: "idempotency-store/1".to_owned(), attempt: 1, group: None };
    let named = super::batch::own_dependencies(&forged, &bench.engine.context.policy);
    assert_eq!(named, ["idempotency-store'"]);
}

#[test]
fn an_outage_of_a_dependency_that_the_message_does_not_need_is_noted_once() {
    let mut bench = Bench::new(false, millis(900_000));
    bench.receive(&(0..8).collect::<Vec<_>>(), 1, millis(0));
    let noted = |bench: &mut Bench| {
        bench.take(|command| matches!(command, Command::Note(Note::IsNotNeeded { .. }))).map(|note| {
            let Command::Note(Note::IsNotNeeded { dependency, needed }) = note else { unreachable!() };
            (dependency, needed)
        })
    };
    let outage = |name| failed(Failure::outage("503").on_dependency(name));
    bench.ends(0..1, &outage("db"), millis(0));
    assert_eq!(noted(&mut bench), None, "no function names what messages need");
    bench.engine.context.policy.names_dependencies = true;
    bench.ends(1..2, &failed(Failure::retry("500").on_dependency("db")), millis(0));
    assert_eq!(noted(&mut bench), None, "no outage");
    bench.ends(2..4, &outage("db"), millis(0));
    assert_eq!(noted(&mut bench), Some(("db".to_owned(), Vec::new())));
    assert_eq!(noted(&mut bench), None, "once");
    bench.ends(4..5, &outage("bank"), millis(0));
    assert_eq!(noted(&mut bench).expect("another name").0, "bank");
}

#[test]
fn a_process_has_outlived_suspects_once_all_of_a_batch_ran() {
    let policy = policy(false, None, VISIBILITY);
    let messages = [3, 1, 4].map(|attempt| (Fake { id: attempt.to_string(), attempt, group: None }, None));
    let (mut batch, _) = Batch::new(messages.into_iter(), false, (Time::ZERO, millis(1)), Deletes::ByLambda);
    let outlived = [0, 1].map(|at| {
        batch.messages[at].settled.outcome = failed(Failure::from("503"));
        batch.ran_suspects(&policy)
    });
    assert_eq!(outlived, [false, true], "those with the highest receive count come first");
    let (first, _) = Batch::new(
        [1].map(|attempt| (Fake { id: "a".to_owned(), attempt, group: None }, None)).into_iter(),
        false,
        (Time::ZERO, millis(1)),
        Deletes::ByLambda,
    );
    assert!(!first.ran_suspects(&policy), "it has none");
}

#[test]
fn the_messages_of_one_call_count_as_one_outage() {
    let policy = policy(false, None, VISIBILITY);
    let facts = (0..6).map(|id: usize| Fake { id: id.to_string(), attempt: 1, group: None });
    let mut engine = LambdaEngine::of_batch(facts, false, policy, LIMITS, &mut Shared::default(), 1);
    let batch = *engine.batches.keys().next().expect("it began");
    for call in 0..3 {
        let worked = |(place, is_shared)| {
            let ran = Some(Ran { took: millis(5), ended: millis(10 * call), is_shared });
            let at = 2 * call as usize + place;
            Worked { key: MessageKey { batch, at }, outcome: failed(Failure::outage("503")), ran }
        };
        engine.on(Event::Ended([(0, false), (1, true)].map(worked).into()), millis(10 * call));
        assert_eq!(engine.down(), usize::from(call == 2), "call {call}");
    }
}

#[test]
fn messages_of_each_dependency_that_is_down_are_withdrawn() {
    let policy = policy(false, Some(3), VISIBILITY);
    let ids = ["bank/0", "bank/1", "post/2", "post/3"];
    let facts = ids.into_iter().map(|id| Fake { id: id.to_owned(), attempt: 1, group: None });
    let mut engine = LambdaEngine::of_batch(facts, false, policy, LIMITS, &mut Shared::default(), 1);
    let batch = *engine.batches.keys().next().expect("it began");
    let mut withdrawn = |at, down| {
        // Another batch has found out.
        for _ in 0..3 {
            engine.context.shared.breakers.outage(down, Time::ZERO);
        }
        let worked =
            Worked { key: MessageKey { batch, at }, outcome: failed(Failure::outage("503")), ran: None };
        engine.on(Event::Ended(vec![worked]), millis(5));
        let places =
            |command| if let Command::Withdraw { places, .. } = command { Some(places) } else { None };
        std::iter::from_fn(|| engine.next(millis(5))).filter_map(places).collect::<Vec<_>>()
    };
    assert_eq!(withdrawn(0, "bank"), [[1]]);
    assert_eq!(withdrawn(2, "post"), [vec![1, 3]], "1 is still under way");
}

#[test]
fn large_messages_of_one_key_leave_room_for_those_of_others() {
    const MEGABYTE: usize = 1_024 * 1_024;
    let mut bench = Bench::new(false, VISIBILITY);
    let receiving = Receiving {
        chunk: Some((100, usize::MAX)),
        rate_of_key: Some(Rate::per_second(2).burst(1)),
        ..bench.engine.machine.receiving
    };
    bench.engine.machine = Worker::new(receiving, Secret::FOR_TESTS);
    bench.engine.machine.pollers.under_way = 1;
    let arrival = |number| Arrival {
        lease: LeaseKey(number),
        facts: Fake { id: format!("noisy/{number}"), attempt: 1, group: None },
        body: MEGABYTE,
        bytes: MEGABYTE,
    };
    let poll = Poll { messages: 0, wait: millis(0), sent: millis(0) };
    bench.engine.on(Event::Received { poll, messages: (0..70).map(arrival).collect() }, millis(0));
    while let Some((call, _)) = bench.call(millis(100)) {
        bench.answer(call, true, millis(100));
    }
    assert_eq!(
        (bench.engine.machine.parked.messages, bench.engine.free()),
        (32, 31),
        "64 MiB in all, and one runs"
    );
}

/// Another poll may bring messages that wait for the rate of their key, and then for the place that this one asks for.
#[test]
fn a_receive_for_a_shared_place_is_short_while_others_may_park_messages() {
    let wait_beside = |others: usize| {
        let mut bench = Bench::new(false, VISIBILITY);
        let rate_of_key = Some(Rate::per_second(2).burst(1));
        let receiving = Receiving { rate_of_key, ..bench.engine.machine.receiving };
        bench.engine.machine = Worker::new(receiving, Secret::FOR_TESTS);
        bench.engine.machine.pollers.wanted = 1 + others;
        bench.engine.limit_places(1, millis(0));
        bench.turn(millis(0));
        bench.turn(millis(1_000));
        match bench.take(|command| matches!(command, Command::Receive(_))) {
            Some(Command::Receive(poll)) => poll.wait.as_secs(),
            _ => panic!("it does not receive"),
        }
    };
    assert_eq!([0, 1].map(wait_beside), [20, 1]);
}

#[test]
fn receives_of_a_bulk_worker_use_no_more_places_than_there_are() {
    let mut bench = Bench::new(false, VISIBILITY);
    let receiving = Receiving { chunk: Some((10, usize::MAX)), ..bench.engine.machine.receiving };
    bench.engine.machine = Worker::new(receiving, Secret::FOR_TESTS);
    bench.engine.limit_places(2, millis(0));
    bench.engine.machine.pollers.asked = 37;
    assert_eq!(bench.engine.used_places().asked, 2);
}
