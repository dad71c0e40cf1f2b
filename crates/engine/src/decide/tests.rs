mod asked;

use proptest::prelude::*;

use super::*;
use crate::Jitter;
use crate::testing::{self, Failure, failed};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn retry_in(seconds: u64) -> NextStep {
    NextStep::Retry { after: secs(seconds) }
}

const fn release_in(seconds: u64) -> NextStep {
    NextStep::Release { after: secs(seconds) }
}

fn letter(reason: &'static str, or_retry: u64) -> NextStep {
    NextStep::DeadLetter { reason: reason.into(), or_retry: secs(or_retry) }
}

/// A standard queue with ten deliveries, a visibility timeout of 180 s and a dead-letter queue.
fn policy() -> Policy<'static> {
    testing::policy(false, Some(10), secs(180))
}

fn decided(outcome: &Outcome, attempt: u32, policy: &Policy<'_>) -> NextStep {
    decide(
        &Case { outcome, attempt, overrides: &MessageOverrides::default(), age: Duration::ZERO, random: 0.5 },
        policy,
    )
}

fn lane(outcomes: &[(Outcome, u32)], policy: &Policy<'_>, something_finished: bool) -> Vec<NextStep> {
    let unstarted = if something_finished { Unstarted::AtOnce } else { Unstarted::Backoff };
    let asked = MessageOverrides::default();
    let cases: Vec<_> = outcomes
        .iter()
        .map(|(outcome, attempt)| Case {
            outcome,
            attempt: *attempt,
            overrides: &asked,
            age: Duration::ZERO,
            random: 0.5,
        })
        .collect();
    decide_lane(&cases, policy, unstarted)
}

/// Returns how long a message waits after each of its deliveries while a dependency is down, from its first receive on.
fn rests(policy: &Policy<'_>, random: f64) -> Vec<u64> {
    let (mut age, mut rests) = (Duration::ZERO, Vec::new());
    let (outcome, asked) = (failed(Failure::outage("503")), MessageOverrides::default());
    for attempt in 1..policy.max_receive_count.unwrap() {
        let held =
            decide(&Case { outcome: &Outcome::BreakerOpen, attempt, overrides: &asked, age, random }, policy);
        let NextStep::Retry { after } =
            decide(&Case { outcome: &outcome, attempt, overrides: &asked, age, random }, policy)
        else {
            panic!("attempt {attempt} is not retried")
        };
        assert_eq!(held, NextStep::Release { after }, "a message that is held waits as long");
        rests.push(after.as_secs());
        age += after;
    }
    rests
}

#[test]
fn rests_double_from_a_minute_to_an_hour_and_last_for_the_horizon() {
    assert_eq!(rests(&policy(), 0.0), [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
    assert_eq!(
        rests(&policy(), 1.0),
        [64, 128, 255, 510, 1_020, 2_040, 3_825, 3_825, 3_825],
        "or a sixteenth more"
    );
    let five = Policy { max_receive_count: Some(5), ..policy() };
    assert_eq!(rests(&five, 0.0), [960, 1_920, 3_840, 7_680], "with fewer deliveries, longer");
    let two = Policy { max_receive_count: Some(2), ..policy() };
    assert_eq!(rests(&two, 0.0), [14_400]);
    let none = Policy { has_dead_letter_queue: false, max_receive_count: None, ..policy() };
    assert_eq!(decided(&failed(Failure::outage("503")), 3, &none), retry_in(248));
}

#[test]
fn after_the_last_delivery_an_outage_is_the_reason() {
    let (outcome, ours) =
        (failed(Failure::outage("503")), Policy { last_delivery: LastDelivery::DeadLetter, ..policy() });
    assert_eq!(decided(&outcome, 10, &policy()), NextStep::ByRedrivePolicy);
    assert!(
        matches!(decided(&outcome, 10, &ours), NextStep::DeadLetter { reason, .. } if reason == "outage")
    );
    let coded = failed(Failure::outage("503").with_reason("bank"));
    assert!(matches!(decided(&coded, 10, &ours), NextStep::DeadLetter { reason, .. } if reason == "bank"));
}

proptest! {
    #[test]
    fn the_last_delivery_comes_after_the_horizon(deliveries in 2_u32..40, minutes in 1_u64..2_000, random in 0.0..1.0) {
        let horizon = secs(60 * minutes);
        let policy = Policy { max_receive_count: Some(deliveries), outage_horizon: horizon, ..policy() };
        let rests = rests(&policy, random);
        let (all, is_longest) = (rests.iter().sum(), rests.contains(&policy.longest.as_secs()));
        prop_assert!(horizon <= secs(all) || is_longest, "{rests:?}");
        prop_assert!(rests.iter().all(|rest| *rest >= 60));
    }
}

#[test]
fn every_row_of_the_table() {
    let (standard, none) = (policy(), Policy { has_dead_letter_queue: false, ..policy() });
    let table: [(Outcome, NextStep, NextStep); 10] = [
        (Outcome::Done, NextStep::Ack, NextStep::Ack),
        (failed("down"), retry_in(8), retry_in(8)),
        (failed(Failure::retry_after(secs(77), "busy")), retry_in(77), retry_in(77)),
        (failed(Failure::reject("refused")), letter("rejected", 8), retry_in(8)),
        (failed(Failure::reject("refused").with_reason("card")), letter("card", 8), retry_in(8)),
        (failed(Failure::defer(secs(60))), retry_in(60), retry_in(60)),
        (failed(Failure::discard("late")), NextStep::Ack, NextStep::Ack),
        (Outcome::panicked("boom"), letter("panic", 8), retry_in(8)),
        (failed(Failure::malformed("eof")), letter("malformed", 8), retry_in(8)),
        (Outcome::TimedOut, retry_in(8), retry_in(8)),
    ];
    for (outcome, with_queue, without) in table {
        assert_eq!(decided(&outcome, 3, &standard), with_queue, "{outcome:?}");
        assert_eq!(decided(&outcome, 3, &none), without, "{outcome:?} without a dead-letter queue");
    }
}

#[test]
fn panics_and_malformed_bodies_are_retried_if_configured() {
    let retrying = Policy { on_panic: OnFailure::Retry, on_malformed: OnFailure::Retry, ..policy() };
    assert_eq!(decided(&Outcome::panicked("boom"), 2, &retrying), retry_in(4));
    assert_eq!(decided(&failed(Failure::malformed("eof")), 2, &retrying), retry_in(4));
}

#[test]
fn delivery_10_of_10_is_visible_at_once_and_delivery_10_of_20_is_not() {
    assert_eq!(decided(&failed("down"), 9, &policy()), retry_in(512));
    assert_eq!(decided(&failed("down"), 10, &policy()), NextStep::ByRedrivePolicy);
    assert_eq!(NextStep::ByRedrivePolicy.back_after(), Some(secs(0)));
    let twenty = Policy { max_receive_count: Some(20), ..policy() };
    assert_eq!(decided(&failed("down"), 10, &twenty), retry_in(1_024));
}

#[test]
fn jitter_does_not_change_the_0_of_a_last_delivery() {
    let jittered = Backoff::default().jitter(Jitter::Equal);
    for random in [0.0, 0.3, 1.0] {
        let case = Case {
            outcome: &failed("down"),
            attempt: 10,
            overrides: &MessageOverrides::default(),
            age: Duration::ZERO,
            random,
        };
        assert_eq!(decide(&case, &Policy { backoff: &jittered, ..policy() }), NextStep::ByRedrivePolicy);
    }
}

#[test]
fn the_redrive_policy_moves_any_failure_of_the_last_delivery() {
    for outcome in
        [failed(Failure::retry_after(secs(77), "busy")), failed(Failure::defer(secs(5))), Outcome::TimedOut]
    {
        assert_eq!(decided(&outcome, 10, &policy()), NextStep::ByRedrivePolicy);
    }
    let ours = Policy { last_delivery: LastDelivery::DeadLetter, ..policy() };
    assert_eq!(decided(&failed("down"), 10, &ours), letter("exhausted", 1_024));
    assert_eq!(
        decided(&failed(Failure::from("down").with_reason("gateway")), 10, &ours),
        letter("gateway", 1_024)
    );
    let nowhere = Policy { has_dead_letter_queue: false, ..ours };
    assert_eq!(decided(&failed("down"), 10, &nowhere), NextStep::ByRedrivePolicy);
}

#[test]
fn beyond_the_last_delivery_it_is_a_letter_or_backoff_but_never_0() {
    assert_eq!(decided(&failed("down"), 11, &policy()), letter("exhausted", 2_048));
    let nowhere = Policy { has_dead_letter_queue: false, ..policy() };
    assert_eq!(decided(&failed("down"), 11, &nowhere), retry_in(2_048));
    let hot = Backoff::fixed(secs(0)).unwrap();
    let hot = Policy { backoff: &hot, ..nowhere };
    assert_eq!(decided(&failed("down"), 11, &hot), retry_in(1));
    assert_eq!(decided(&failed(Failure::retry_after(secs(0), "now")), 11, &hot), retry_in(1));
    assert_eq!(decided(&failed("down"), 3, &hot), retry_in(0));
    assert_eq!(decided(&failed("down"), 3, &Policy { max_receive_count: None, ..hot }), retry_in(1));
}

#[test]
fn no_delay_is_longer_than_sqs_accepts() {
    let unlimited = Policy { max_receive_count: None, ..policy() };
    for attempt in [16, 17, 64, 1_000, u32::MAX] {
        assert_eq!(decided(&failed("down"), attempt, &unlimited), retry_in(43_020));
    }
    assert_eq!(decided(&failed(Failure::defer(Duration::MAX)), 1, &policy()), retry_in(43_020));
    assert_eq!(decided(&failed(Failure::defer(Duration::from_millis(1))), 1, &policy()), retry_in(1));
    let jittered = Backoff::default().jitter(Jitter::Symmetric(secs(9_000)));
    let case = Case {
        outcome: &failed("down"),
        attempt: 99,
        overrides: &MessageOverrides::default(),
        age: Duration::ZERO,
        random: 1.0,
    };
    assert_eq!(decide(&case, &Policy { backoff: &jittered, ..unlimited }), retry_in(43_020));
}

#[test]
fn unstarted_messages_return_at_once_only_if_others_finished() {
    let waiting = || [(Outcome::NotStarted, 3)];
    assert_eq!(lane(&waiting(), &policy(), true), [release_in(0)]);
    assert_eq!(lane(&waiting(), &policy(), false), [release_in(8)]);
    assert_eq!(lane(&[(Outcome::NotStarted, 11)], &policy(), true), [release_in(2_048)]);
    let hot = Backoff::fixed(secs(0)).unwrap();
    let endless = Policy { backoff: &hot, max_receive_count: None, ..policy() };
    assert_eq!(lane(&waiting(), &endless, false), [release_in(1)], "nobody knows how often it would come");
}

#[test]
fn an_unstarted_message_on_its_last_delivery_is_dead_lettered() {
    let last = || [(Outcome::NotStarted, 10)];
    assert_eq!(lane(&last(), &policy(), true), [letter("not-started", 1_024)]);
    let nowhere = Policy { has_dead_letter_queue: false, ..policy() };
    assert_eq!(
        lane(&last(), &nowhere, true),
        [NextStep::ByRedrivePolicy],
        "it is moved, and not without a word"
    );
    let endless = Policy { max_receive_count: None, ..nowhere };
    assert_eq!(lane(&last(), &endless, true), [release_in(1)]);
}

#[test]
fn a_group_that_never_started_is_released_whole_at_one_value() {
    let group = [(Outcome::NotStarted, 1), (Outcome::NotStarted, 4), (Outcome::NotStarted, 2)];
    assert_eq!(lane(&group, &policy(), false), [release_in(2), release_in(2), release_in(2)]);
}

#[test]
fn the_messages_behind_a_failed_head_wait_2_s_longer() {
    let group =
        || [(Outcome::Done, 1), (failed("down"), 3), (Outcome::NotStarted, 1), (Outcome::NotStarted, 5)];
    assert_eq!(lane(&group(), &policy(), true), [NextStep::Ack, retry_in(8), release_in(10), release_in(10)]);
    let rejected = [(failed(Failure::reject("no")), 1), (Outcome::NotStarted, 1)];
    assert_eq!(lane(&rejected, &policy(), false), [letter("rejected", 2), release_in(4)]);
    let nowhere = Policy { has_dead_letter_queue: false, ..policy() };
    let exhausted = [(failed("down"), 10), (Outcome::NotStarted, 1)];
    assert_eq!(lane(&exhausted, &nowhere, false), [NextStep::ByRedrivePolicy, release_in(2)]);
    let patient = [(failed(Failure::retry_after(secs(43_020), "down")), 1), (Outcome::NotStarted, 1)];
    assert_eq!(lane(&patient, &policy(), false), [retry_in(43_020), release_in(43_020)]);
}

#[test]
fn a_stuck_lane_keeps_its_visibility_unless_the_process_ends() {
    let group = [(Outcome::Stuck, 1), (Outcome::NotStarted, 1)];
    assert_eq!(lane(&group, &policy(), true), [NextStep::Leave, NextStep::Leave]);
    let ends = Policy { ends: true, ..policy() };
    assert_eq!(lane(&group, &ends, true), [retry_in(2), release_in(4)]);
}

#[test]
fn a_panic_after_others_is_retried_until_its_last_delivery() {
    let again = || Outcome::Panicked { text: "poisoned".to_owned(), again: true, is_early: false };
    assert_eq!(decided(&again(), 3, &policy()), retry_in(8));
    assert_eq!(decided(&again(), 10, &policy()), NextStep::ByRedrivePolicy);
    let ours = Policy { last_delivery: LastDelivery::DeadLetter, ..policy() };
    assert_eq!(decided(&again(), 10, &ours), letter("exhausted", 1_024));
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    (0_usize..11, 0_u64..100_000).prop_map(|(kind, seconds)| match kind {
        0 => Outcome::Done,
        1 => failed("down"),
        2 => failed(Failure::retry_after(secs(seconds), "busy")),
        3 => failed(Failure::reject("refused")),
        4 => failed(Failure::defer(secs(seconds))),
        5 => failed(Failure::discard("late")),
        6 => failed(Failure::malformed("eof")),
        7 => Outcome::panicked("boom"),
        8 => Outcome::TimedOut,
        9 => Outcome::Stuck,
        _ => Outcome::NotStarted,
    })
}

prop_compose! {
    fn any_policy()(
        max_receive_count in prop::option::of(1_u32..30),
        longest in 7_200_u64..43_200,
        fifo in any::<bool>(),
        on_panic in any::<bool>(),
        has_dead_letter_queue in any::<bool>(),
    ) -> Policy<'static> {
        Policy {
            max_receive_count,
            longest: secs(longest),
            last_delivery: if fifo { LastDelivery::DeadLetter } else { LastDelivery::RedrivePolicy },
            on_panic: if on_panic { OnFailure::DeadLetter } else { OnFailure::Retry },
            has_dead_letter_queue,
            ..policy()
        }
    }
}

proptest! {
    #[test]
    fn only_success_and_discard_are_acknowledged_and_letters_need_a_queue(
        outcomes in prop::collection::vec((any_outcome(), 1_u32..40), 1..8), policy in any_policy(), finished in any::<bool>(),
    ) {
        let actions = lane(&outcomes, &policy, finished);
        prop_assert_eq!(actions.len(), outcomes.len());
        for ((outcome, attempt), action) in outcomes.iter().zip(&actions) {
            prop_assert_eq!(*action == NextStep::Ack, outcome.lets_the_lane_go_on());
            if let NextStep::DeadLetter { .. } = action {
                prop_assert!(policy.has_dead_letter_queue);
            }
            if *action == NextStep::ByRedrivePolicy {
                prop_assert_eq!(policy.max_receive_count, Some(*attempt));
            }
            if let Some(after) = action.back_after() {
                prop_assert!(after <= policy.longest);
                prop_assert_eq!(after.subsec_nanos(), 0);
                let beyond = policy.max_receive_count.is_some_and(|max| *attempt > max);
                prop_assert!(!beyond || after > Duration::ZERO, "a drift must not become a hot loop");
            }
        }
    }
}
