//! Tests the overrides that the sender of a message requests.

use super::*;

const ALL: [Overrides; 4] = [
    Overrides::Off,
    Overrides::Less,
    Overrides::UpTo(Duration::from_secs(60)),
    Overrides::UpTo(Duration::from_secs(43_200)),
];

fn with_backoff(backoff: Backoff) -> MessageOverrides {
    MessageOverrides { max_attempts: None, backoff: Some(backoff) }
}

/// Returns how long a message waits after such a failure.
fn wait(
    outcome: &Outcome,
    attempt: u32,
    random: f64,
    overrides: &MessageOverrides,
    policy: &Policy<'_>,
) -> u64 {
    match decide(&Case { outcome, attempt, overrides, age: Duration::ZERO, random }, policy) {
        NextStep::Retry { after } => after.as_secs(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_may_request_fewer_attempts_but_not_more() {
    let asked = |attempts, attempt, policy: &Policy<'_>| {
        let asked = MessageOverrides { max_attempts: Some(attempts), backoff: None };
        decide(
            &Case { outcome: &failed("down"), attempt, overrides: &asked, age: Duration::ZERO, random: 0.5 },
            policy,
        )
    };
    assert_eq!(asked(1, 1, &policy()), letter("exhausted", 2));
    assert_eq!(asked(3, 2, &policy()), retry_in(4));
    assert_eq!(asked(3, 3, &policy()), letter("exhausted", 8));
    let five = Policy { max_receive_count: Some(5), ..policy() };
    assert_eq!(asked(7, 4, &five), retry_in(16));
    assert_eq!(asked(7, 5, &five), NextStep::ByRedrivePolicy);
    assert_eq!(asked(5, 5, &five), NextStep::ByRedrivePolicy);
}

#[test]
fn a_message_that_did_not_run_has_used_up_none_of_its_attempts() {
    let asked = MessageOverrides { max_attempts: Some(1), backoff: None };
    let head = failed("down");
    let case = |outcome| Case { outcome, attempt: 1, overrides: &asked, age: Duration::ZERO, random: 0.5 };
    let none = MessageOverrides::default();
    let behind = [Case { overrides: &none, ..case(&head) }, case(&Outcome::NotStarted)];
    let actions = decide_lane(&behind, &policy(), Unstarted::Backoff);
    assert_eq!(actions, [retry_in(2), NextStep::Release { after: secs(4) }], "behind a failed head");
    for (unstarted, after) in
        [(Unstarted::AtOnce, 0), (Unstarted::Backoff, 2), (Unstarted::After(secs(7)), 7)]
    {
        let actions = decide_lane(&[case(&Outcome::NotStarted)], &policy(), unstarted);
        assert_eq!(actions, [NextStep::Release { after: secs(after) }], "{unstarted:?}");
    }
    let interrupted = decide_lane(&[case(&Outcome::Interrupted)], &policy(), Unstarted::Backoff);
    assert_eq!(interrupted, [NextStep::Release { after: secs(0) }]);
}

/// Returns the delays of a message that requests this one, under all four settings. The consumer's own is 16 s.
fn waits(asked: u64, is_fifo: bool) -> [u64; 4] {
    let asked = with_backoff(Backoff::fixed(secs(asked)).unwrap());
    ALL.map(|overrides| wait(&failed("down"), 4, 0.5, &asked, &Policy { overrides, is_fifo, ..policy() }))
}

#[test]
fn a_message_may_ask_for_a_longer_delay_and_not_for_a_shorter_one() {
    assert_eq!(waits(0, false), [16, 16, 0, 0]);
    assert_eq!(waits(9, false), [16, 16, 9, 9]);
    assert_eq!(waits(16, false), [16; 4]);
    assert_eq!(waits(30, false), [16, 30, 30, 30]);
    assert_eq!(waits(43_200, false), [16, 43_020, 60, 43_020]);
}

#[test]
fn a_message_may_delay_its_group_only_if_the_consumer_allows_it() {
    assert_eq!(waits(0, true), [16, 16, 0, 0]);
    assert_eq!(waits(30, true), [16, 16, 30, 30]);
}

#[test]
fn a_message_may_request_a_longer_delay_than_the_users_schedule() {
    let outcome = Outcome::Failed(Failure::from("busy").reduce(Some(secs(103))));
    assert_eq!(decided(&outcome, 3, &policy()), retry_in(103));
    let asking = |seconds| with_backoff(Backoff::fixed(secs(seconds)).unwrap());
    assert_eq!([9, 104].map(|seconds| wait(&outcome, 3, 0.5, &asking(seconds), &policy())), [103, 104]);
    let endless = Outcome::Failed(Failure::from("busy").reduce(Some(Duration::MAX)));
    assert_eq!(decided(&endless, 3, &policy()), retry_in(43_020));
}

prop_compose! {
    fn any_backoff()(
        initial in 1..43_201_u64,
        steps in prop::collection::vec(0..43_201_u64, 1..5),
        exponential in any::<bool>(),
        jitter in 0..4_usize,
        by in 0..43_200_u64,
    ) -> Backoff {
        let backoff = match exponential {
            true => Backoff::growing(secs(initial), None),
            false => Backoff::steps(steps.into_iter().map(secs)),
        };
        let jitter = [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Symmetric(secs(by))][jitter];
        backoff.unwrap().jitter(jitter)
    }
}

proptest! {
    #[test]
    fn no_message_waits_for_a_time_that_the_consumer_does_not_allow(
        own in any_backoff(),
        asks in any_backoff(),
        attempt in 1..10_u32,
        random in 0.0..=1.0,
        most in 1..43_201_u64,
        by_failure in prop::option::of(0..43_200_u64),
    ) {
        let outcome = Outcome::Failed(Failure::from("down").reduce(by_failure.map(secs)));
        let policy = Policy { backoff: &own, ..policy() };
        let alone = wait(&outcome, attempt, random, &MessageOverrides::default(), &policy);
        let asked = with_backoff(asks);
        let with = |overrides| wait(&outcome, attempt, random, &asked, &Policy { overrides, ..policy });
        prop_assert_eq!(with(Overrides::Off), alone);
        prop_assert!(with(Overrides::Less) >= alone);
        let in_group = Policy { is_fifo: true, ..policy.clone() };
        prop_assert_eq!(wait(&outcome, attempt, random, &asked, &in_group), alone);
        let up_to = with(Overrides::UpTo(secs(most)));
        prop_assert!(up_to <= alone.max(most), "{up_to}");
    }
}
