//! Explores the whole cycle: the production engine in workers' processes and Lambda's sandboxes, against the production rules
//! of queues and of the event source mapping. It visits every state that can be reached within the bounds, shortest paths
//! first, so that it finds the shortest example of a violation.

#![cfg(debug_assertions)]

mod kit;
mod print;
mod search;
mod shell;
mod sqs;
mod steps;
mod take;
mod words;
mod world;

use std::cell::Cell;
use std::time::Duration;

use self::search::{explore, replay};
use crate::guards::{self, Guard};

/// The consumer of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Consumes {
    Worker,
    Sandbox,
}

/// The bounds of an exploration.
#[derive(Debug)]
struct Bounds {
    name: &'static str,
    is_fifo: bool,
    /// The group of each message, if the queue is FIFO.
    groups: &'static [&'static str],
    by_redrive_policy: bool,
    consumers: &'static [Consumes],
    concurrency: usize,
    /// Calls that go wrong.
    losses: u8,
    kills: u8,
    signals: u8,
    /// Handlers that ignore that they are canceled.
    deaf: u8,
    /// Steps of time while a handler runs.
    patience: u8,
    /// True if handlers reject messages.
    rejects: bool,
    /// Outages in a row that have happened before. If there are any, handlers report more.
    outages: u8,
    /// True if messages share a rate of one a second.
    has_rate: bool,
    /// The first delivery at which a message of a sandbox runs alone.
    suspects_from: u32,
    /// True if workers share such a rate.
    shares_rate: bool,
    /// Deliveries of each message.
    deliveries: u32,
    /// The visibility timeout that a worker asks for with each receive.
    visibility: Duration,
    /// Messages that one call of a bulk handler takes.
    chunk: Option<usize>,
    /// Messages that SQS delivers once more although a consumer has them.
    duplicates: u8,
    /// Calls that arrive twice, or after their callers have stopped waiting.
    strays: u8,
    /// Changes of the number of handlers that may run.
    changes_of_places: u8,
}

const ONE_WORKER: Bounds = Bounds {
    name: "one worker, a standard queue",
    is_fifo: false,
    groups: &["", ""],
    by_redrive_policy: true,
    consumers: &[Consumes::Worker],
    concurrency: 12,
    losses: 1,
    kills: 0,
    signals: 0,
    deaf: 0,
    patience: 2,
    rejects: false,
    outages: 0,
    has_rate: false,
    suspects_from: 3,
    shares_rate: false,
    deliveries: 2,
    visibility: Duration::from_secs(3),
    chunk: None,
    duplicates: 0,
    strays: 0,
    changes_of_places: 0,
};

const FIFO: Bounds = Bounds {
    name: "one worker, a FIFO queue, one group",
    is_fifo: true,
    groups: &["a", "a"],
    by_redrive_policy: false,
    ..ONE_WORKER
};

const SANDBOX: &[Consumes] = &[Consumes::Sandbox];
const SANDBOXES: &[Consumes] = &[Consumes::Sandbox, Consumes::Sandbox];
const WORKERS: &[Consumes] = &[Consumes::Worker, Consumes::Worker];
const BOTH: &[Consumes] = &[Consumes::Worker, Consumes::Sandbox];

/// Switches off a guard, also for the kit's consumers, which have the engine that redrive was built with.
fn remove(guard: Option<Guard>) {
    let number = guard.map(|guard| guard as u8);
    guards::remove(number);
    redrive_engine::guards::remove(number);
    REMOVED.set(number.is_some());
}

thread_local! {
    /// True if a guard is switched off in this thread.
    static REMOVED: Cell<bool> = const { Cell::new(false) };
}

/// Explores small bounds, then larger ones: `make explore` visits all states, and CI as many as `REDRIVE_STATES` says.
fn check(small: &'static Bounds, large: &'static Bounds, at_least: usize) {
    let states = explore(small, usize::MAX).unwrap_or_else(|example| panic!("{example}"));
    assert!(states >= at_least, "{}: {states} states", small.name);
    let first = option_env!("REDRIVE_STATES").map(|states| states.parse().expect("it is a number"));
    if let Some(most) = option_env!("REDRIVE_EXPLORE").map(|_| usize::MAX).or(first) {
        explore(large, most).unwrap_or_else(|example| panic!("{example}"));
    }
}

macro_rules! explored {
    ($($name:ident: $at_least:literal states, $bounds:expr, $larger:expr;)*) => {
        $(
            #[test]
            fn $name() {
                static SMALL: Bounds = Bounds { name: stringify!($name), ..$bounds };
                static LARGE: Bounds = Bounds { name: concat!(stringify!($name), " (large)"), ..$larger };
                check(&SMALL, &LARGE, $at_least);
            }
        )*
    };
}

const QUIET: Bounds = Bounds { losses: 0, patience: 1, ..ONE_WORKER };
const SHORT: Bounds = Bounds { patience: 1, ..ONE_WORKER };
/// Longer than a call may take.
const LONG: Duration = Duration::from_secs(7);
const SHORT_FIFO: Bounds = Bounds { patience: 1, ..FIFO };
const REJECTS: Bounds = Bounds { rejects: true, by_redrive_policy: false, ..ONE_WORKER };

explored! {
    a_worker_whose_calls_are_lost: 1_000 states,
        Bounds { groups: &[""], ..REJECTS },
        Bounds { groups: &[""], losses: 3, patience: 4, ..REJECTS };
    a_worker_with_two_messages: 500 states,
        Bounds { losses: 0, ..ONE_WORKER },
        Bounds { losses: 2, ..ONE_WORKER };
    a_worker_with_a_group: 1_000 states,
        SHORT_FIFO,
        Bounds { losses: 2, rejects: true, patience: 3, ..FIFO };
    a_worker_with_two_groups: 1_000 states,
        Bounds { groups: &["a", "b"], losses: 0, ..FIFO },
        Bounds { groups: &["a", "b"], ..FIFO };
    a_worker_that_is_killed: 500 states,
        Bounds { kills: 1, ..QUIET },
        Bounds { kills: 2, patience: 3, ..ONE_WORKER };
    a_worker_that_is_killed_with_a_group: 500 states,
        Bounds { kills: 1, losses: 0, ..SHORT_FIFO },
        Bounds { kills: 2, patience: 3, rejects: true, ..FIFO };
    a_worker_that_is_told_to_end: 1_000 states,
        Bounds { signals: 1, deaf: 1, ..QUIET },
        Bounds { signals: 2, deaf: 1, ..SHORT };
    a_worker_that_is_told_to_end_with_a_group: 1_000 states,
        Bounds { signals: 1, deaf: 1, losses: 0, ..SHORT_FIFO },
        Bounds { signals: 2, deaf: 1, rejects: true, ..FIFO };
    a_worker_that_is_told_to_end_with_a_letter: 1_000 states,
        Bounds { signals: 2, groups: &[""], patience: 0, ..REJECTS },
        Bounds { signals: 2, groups: &[""], losses: 2, ..REJECTS };
    a_sandbox: 1_000 states,
        Bounds { consumers: SANDBOX, deaf: 1, ..SHORT },
        Bounds { consumers: SANDBOX, deaf: 1, losses: 3, patience: 4, ..REJECTS };
    a_sandbox_with_a_group: 1_000 states,
        Bounds { consumers: SANDBOX, deaf: 1, rejects: true, ..SHORT_FIFO },
        Bounds { consumers: SANDBOX, deaf: 2, losses: 3, patience: 4, rejects: true, ..FIFO };
    a_sandbox_with_one_runner: 500 states,
        Bounds { consumers: SANDBOX, concurrency: 1, ..SHORT },
        Bounds { consumers: SANDBOX, concurrency: 1, losses: 2, kills: 1, patience: 4, deaf: 1, ..ONE_WORKER };
    two_sandboxes: 500 states,
        Bounds { consumers: SANDBOXES, kills: 1, ..QUIET },
        Bounds { consumers: SANDBOXES, kills: 1, deaf: 1, ..REJECTS };
    two_sandboxes_and_a_group: 400 states,
        Bounds { consumers: SANDBOXES, kills: 1, losses: 0, ..SHORT_FIFO },
        Bounds { consumers: SANDBOXES, kills: 2, losses: 2, deaf: 1, patience: 3, ..FIFO };
    two_workers: 1_000 states,
        Bounds { consumers: WORKERS, groups: &[""], ..ONE_WORKER },
        Bounds { consumers: WORKERS, ..SHORT };
    two_workers_and_a_group: 1_000 states,
        Bounds { consumers: WORKERS, losses: 0, kills: 1, ..SHORT_FIFO },
        Bounds { consumers: WORKERS, kills: 1, ..FIFO };
    a_worker_with_three_deliveries: 1_000 states,
        Bounds { deliveries: 3, groups: &[""], patience: 1, ..ONE_WORKER },
        Bounds { deliveries: 3, losses: 2, ..REJECTS };
    a_worker_whose_answers_take_longer_than_a_delay: 1_000 states,
        Bounds { visibility: LONG, groups: &[""], signals: 1, ..REJECTS },
        Bounds { visibility: LONG, deliveries: 3, losses: 2, ..ONE_WORKER };
    a_group_whose_answers_take_longer_than_a_delay: 1_000 states,
        Bounds { visibility: LONG, losses: 1, ..SHORT_FIFO },
        Bounds { visibility: LONG, deliveries: 3, signals: 1, ..FIFO };
    a_worker_that_gets_a_message_twice: 1_000 states,
        Bounds { duplicates: 1, deliveries: 3, groups: &[""], ..ONE_WORKER },
        Bounds { duplicates: 2, deliveries: 3, deaf: 1, ..SHORT };
    two_workers_that_get_a_message_twice: 700 states,
        Bounds { consumers: WORKERS, duplicates: 1, deliveries: 3, groups: &[""], ..QUIET },
        Bounds { consumers: WORKERS, duplicates: 1, deliveries: 3, groups: &[""], ..SHORT };
    a_worker_whose_calls_arrive_late_or_twice: 1_000 states,
        Bounds { strays: 1, deliveries: 3, groups: &[""], kills: 1, rejects: true, ..QUIET },
        Bounds { strays: 2, deliveries: 3, groups: &[""], kills: 1, ..REJECTS };
    a_group_whose_calls_arrive_late_or_twice: 1_000 states,
        Bounds { strays: 1, losses: 0, ..SHORT_FIFO },
        Bounds { strays: 2, deliveries: 3, rejects: true, kills: 1, losses: 0, ..SHORT_FIFO };
    a_sandbox_whose_calls_arrive_late_or_twice: 1_000 states,
        Bounds { consumers: SANDBOX, strays: 2, deliveries: 3, losses: 0, groups: &[""], ..REJECTS },
        Bounds { consumers: SANDBOXES, strays: 2, deliveries: 3, losses: 0, kills: 1, ..REJECTS };
    a_bulk_worker: 1_000 states,
        Bounds { chunk: Some(2), concurrency: 2, ..SHORT },
        Bounds { chunk: Some(2), concurrency: 2, duplicates: 1, rejects: true, ..SHORT };
    a_bulk_worker_that_gets_a_message_twice: 1_000 states,
        Bounds { chunk: Some(2), concurrency: 2, duplicates: 1, deliveries: 3, deaf: 1, losses: 0, ..SHORT },
        Bounds { chunk: Some(2), concurrency: 2, duplicates: 2, deliveries: 3, deaf: 1, ..QUIET };
    a_bulk_worker_with_two_groups: 500 states,
        Bounds { chunk: Some(2), concurrency: 2, groups: &["a", "b", "b"], losses: 0, ..SHORT_FIFO },
        Bounds { chunk: Some(2), concurrency: 2, groups: &["a", "a", "b"], deaf: 1, ..SHORT_FIFO };
    a_bulk_worker_and_an_outage: 500 states,
        Bounds { chunk: Some(2), concurrency: 2, outages: 2, ..QUIET },
        Bounds { chunk: Some(2), concurrency: 2, outages: 2, ..SHORT };
    a_worker_and_an_outage: 500 states,
        Bounds { outages: 2, ..QUIET },
        Bounds { outages: 2, kills: 1, rejects: true, ..SHORT };
    a_worker_and_an_outage_with_a_group: 500 states,
        Bounds { outages: 2, losses: 0, ..SHORT_FIFO },
        Bounds { outages: 2, kills: 1, rejects: true, ..SHORT_FIFO };
    a_sandbox_and_an_outage: 500 states,
        Bounds { outages: 2, consumers: SANDBOX, concurrency: 1, groups: &["", "", ""], ..QUIET },
        Bounds { outages: 2, consumers: SANDBOX, concurrency: 1, groups: &["", "", ""], deaf: 1, rejects: true, ..SHORT };
    a_sandbox_and_an_outage_with_two_groups: 500 states,
        Bounds { outages: 2, consumers: SANDBOX, concurrency: 1, groups: &["a", "a", "b"], losses: 0, ..SHORT_FIFO },
        Bounds { outages: 2, consumers: SANDBOX, groups: &["a", "a", "b"], rejects: true, ..SHORT_FIFO };
    a_worker_with_a_rate: 500 states,
        Bounds { has_rate: true, concurrency: 1, groups: &["", "", ""], ..QUIET },
        Bounds { has_rate: true, concurrency: 1, groups: &["", "", ""], signals: 1, kills: 1, ..SHORT };
    a_worker_with_a_rate_and_two_groups: 500 states,
        Bounds { has_rate: true, concurrency: 1, groups: &["a", "a", "b"], losses: 0, signals: 1, ..SHORT_FIFO },
        Bounds { has_rate: true, concurrency: 1, groups: &["a", "a", "b"], signals: 1, kills: 1, ..FIFO };
    a_sandbox_that_isolates: 500 states,
        Bounds { consumers: SANDBOX, groups: &["", "", ""], suspects_from: 2, ..QUIET },
        Bounds { consumers: SANDBOX, groups: &["", "", ""], suspects_from: 2, kills: 1, deaf: 1, rejects: true, ..SHORT };
    two_workers_that_share_a_rate: 5_000 states,
        Bounds { shares_rate: true, consumers: WORKERS, signals: 1, ..QUIET },
        Bounds { shares_rate: true, consumers: WORKERS, losses: 1, signals: 1, ..QUIET };
    a_worker_that_shares_its_places: 1_000 states,
        Bounds { changes_of_places: 2, concurrency: 2, groups: &["", "", ""], ..QUIET },
        Bounds { changes_of_places: 3, concurrency: 2, groups: &["", "", ""], signals: 1, ..SHORT };
    a_worker_that_shares_its_places_with_two_groups: 1_000 states,
        Bounds { changes_of_places: 2, concurrency: 2, groups: &["a", "a", "b"], losses: 0, ..SHORT_FIFO },
        Bounds { changes_of_places: 3, concurrency: 2, groups: &["a", "a", "b"], signals: 1, ..SHORT_FIFO };
    a_bulk_worker_that_shares_its_places: 1_000 states,
        Bounds { changes_of_places: 2, chunk: Some(2), concurrency: 2, losses: 0, ..SHORT },
        Bounds { changes_of_places: 3, chunk: Some(2), concurrency: 2, groups: &["", "", ""], ..SHORT };
    a_worker_and_a_sandbox: 1_000 states,
        Bounds { consumers: BOTH, groups: &[""], ..ONE_WORKER },
        Bounds { consumers: BOTH, groups: &[""], losses: 2, kills: 1, signals: 1, patience: 3, ..REJECTS };
    a_worker_and_a_sandbox_and_a_group: 1_000 states,
        Bounds { consumers: BOTH, losses: 0, kills: 1, ..SHORT_FIFO },
        Bounds { consumers: BOTH, kills: 1, signals: 1, ..SHORT_FIFO };
}

/// Finds the shortest path to a violation without a guard, in any of the bounds. Its steps lead to the same violation again,
/// and also with real consumers in the kit. With the guard they do not.
fn removed(guard: Guard, bounds: &'static [Bounds], is_in_kit: bool) {
    remove(Some(guard));
    let examples = bounds.iter().filter_map(|bounds| explore(bounds, usize::MAX).err());
    let shortest = examples.min_by_key(|example| example.steps.len());
    let shortest = shortest.unwrap_or_else(|| panic!("nothing goes wrong without {guard:?}"));
    let (violation, _) = replay(shortest.bounds, &shortest.steps);
    assert_eq!(violation.as_ref(), Some(&shortest.violation));
    println!("without {guard:?}, {} steps: {shortest}\n", shortest.steps.len());
    let shown = is_in_kit.then_some(shortest.violation);
    assert_eq!(kit::replay(shortest.bounds, &shortest.steps), Ok(shown), "in the kit");
    remove(None);
    assert_eq!(replay(shortest.bounds, &shortest.steps).0, None, "the guard prevents it");
    assert_eq!(kit::replay(shortest.bounds, &shortest.steps), Ok(None), "in the kit too");
}

macro_rules! found {
    (in_kit: $is_in_kit:literal; $($name:ident: $guard:ident, $bounds:expr;)*) => {
        $(
            #[test]
            fn $name() {
                static BOUNDS: [Bounds; 1] = [Bounds { name: stringify!($name), ..$bounds }];
                removed(Guard::$guard, &BOUNDS, $is_in_kit);
            }
        )*
    };
}

found! {
    in_kit: true;
    a_failed_message_is_not_deleted: FailedStays, Bounds { consumers: SANDBOX, ..QUIET };
    a_message_is_not_deleted_before_its_letter_is_confirmed: LetterIsConfirmed, Bounds { rejects: true, ..ONE_WORKER };
    a_message_whose_lease_is_lost_is_not_settled: LostIsLeft, ONE_WORKER;
    a_delay_waits_for_the_answer_to_an_extension: DelayWaits, ONE_WORKER;
    the_next_of_a_group_begins_once_the_one_before_is_deleted: NextAfterDelete, FIFO;
    a_second_receive_is_ignored_while_the_handler_runs: SecondReceiveIsIgnored, Bounds { groups: &[""], deaf: 1, ..ONE_WORKER };
    followers_wait_for_the_letter_before_them: FollowersWait, Bounds { rejects: true, ..FIFO };
    the_letters_of_a_group_are_written_one_by_one: LettersInTurn, Bounds { groups: &["a", "b", "b"], consumers: SANDBOX, concurrency: 1, losses: 0, kills: 1, patience: 3, ..FIFO };
    a_lease_begins_when_its_receive_was_sent: LeaseFromTheStart, Bounds { patience: 3, ..ONE_WORKER };
    a_visibility_timeout_is_set_again_only_while_the_message_is_hidden: RepeatWhileHidden, Bounds { signals: 1, groups: &[""], ..ONE_WORKER };
    a_message_that_is_over_does_not_run_again: FinishedIsKnown, Bounds { groups: &[""], deliveries: 3, ..ONE_WORKER };
    a_handler_is_polled_only_while_its_lease_holds: PollWhileLeased, Bounds { consumers: WORKERS, groups: &[""], ..ONE_WORKER };
    a_message_whose_handler_blocks_is_left_alone: BlockedIsLeft, Bounds { groups: &[""], deaf: 1, consumers: SANDBOXES, ..ONE_WORKER };
}

// A real worker begins messages after it has performed all commands, some of which stop or cancel these messages at once.
found! {
    in_kit: false;
    messages_received_too_late_are_dropped: LateReceiveIsDropped, Bounds { consumers: WORKERS, groups: &[""], patience: 3, ..ONE_WORKER };
    no_message_begins_after_the_stop: NoneAfterTheStop, Bounds { signals: 1, ..QUIET };
}

/// Checks a guard for sandboxes or bulk handlers, which has its own bounds.
fn is_found(guard: Guard, bounds: &'static Bounds, violation: &str) {
    remove(Some(guard));
    let example = explore(bounds, usize::MAX).expect_err("nothing goes wrong without it");
    remove(None);
    assert!(example.violation.ends_with(violation), "{example}");
    assert_eq!(replay(bounds, &example.steps).0, None, "the guard prevents it");
}

#[test]
fn no_message_runs_while_its_dependency_is_down() {
    static BOUNDS: Bounds = Bounds { outages: 2, consumers: SANDBOX, concurrency: 1, ..QUIET };
    is_found(Guard::NoneWhileDown, &BOUNDS, "what it needs is down");
}

#[test]
fn a_bulk_handler_does_not_receive_a_message_twice_at_once() {
    static BOUNDS: Bounds =
        Bounds { chunk: Some(2), concurrency: 2, groups: &[""], duplicates: 1, losses: 0, ..SHORT };
    is_found(Guard::SecondReceiveIsIgnored, &BOUNDS, "in the process that has done it");
}

#[test]
fn only_the_message_that_tries_a_dependency_ends_its_trial() {
    static BOUNDS: Bounds = Bounds {
        outages: 2,
        consumers: SANDBOX,
        concurrency: 2,
        groups: &["", "", ""],
        rejects: true,
        ..QUIET
    };
    is_found(Guard::TrialEndsRest, &BOUNDS, "what it needs is down");
}

#[test]
fn a_message_that_may_end_the_process_runs_alone() {
    static BOUNDS: Bounds = Bounds { suspects_from: 2, consumers: SANDBOX, ..QUIET };
    is_found(Guard::SuspectsRunAlone, &BOUNDS, "begins beside another message");
}

/// These guards save deliveries and calls. The explorer's checks hold without them.
#[test]
fn tail_first_and_none_too_late_are_not_needed_for_safety() {
    static BOUNDS: [Bounds; 2] = [SHORT_FIFO, Bounds { groups: &[""], ..ONE_WORKER }];
    for (guard, bounds) in [Guard::TailFirst, Guard::NoneTooLate].into_iter().zip(&BOUNDS) {
        remove(Some(guard));
        assert!(explore(bounds, usize::MAX).is_ok(), "{guard:?}");
    }
    remove(None);
}
