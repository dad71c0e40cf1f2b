//! What a message asks for is its sender's word.

use super::*;

const ALL: [Overrides; 4] = [
    Overrides::Off,
    Overrides::Less,
    Overrides::UpTo(Duration::from_secs(60)),
    Overrides::UpTo(Duration::from_secs(43_200)),
];

fn with_backoff(backoff: Backoff) -> Asked {
    Asked { max_attempts: None, backoff: Some(backoff) }
}

/// How long a message waits that failed like this.
fn wait(outcome: &Outcome, attempt: u32, random: f64, asked: &Asked, policy: &Policy<'_>) -> u64 {
    match decide(&Case { outcome, attempt, asked, age: Duration::ZERO, random }, policy) {
        Action::Retry { after } => after.as_secs(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_may_ask_for_fewer_attempts_but_not_for_more() {
    let asked = |attempts, attempt, policy: &Policy<'_>| {
        let asked = Asked { max_attempts: Some(attempts), backoff: None };
        decide(
            &Case { outcome: &failed("down"), attempt, asked: &asked, age: Duration::ZERO, random: 0.5 },
            policy,
        )
    };
    assert_eq!(asked(1, 1, &policy()), letter("exhausted", 2));
    assert_eq!(asked(3, 2, &policy()), retry_in(4));
    assert_eq!(asked(3, 3, &policy()), letter("exhausted", 8));
    let five = Policy { max_receive_count: Some(5), ..policy() };
    assert_eq!(asked(7, 4, &five), retry_in(16));
    assert_eq!(asked(7, 5, &five), Action::ByRedrivePolicy);
    assert_eq!(asked(5, 5, &five), Action::ByRedrivePolicy);
}

/// A message that asks for this delay, after an attempt for which the consumer's own is 16 s, under all four settings.
fn waits(asked: u64) -> [u64; 4] {
    let asked = with_backoff(Backoff::fixed(secs(asked)).unwrap());
    ALL.map(|overrides| wait(&failed("down"), 4, 0.5, &asked, &Policy { overrides, ..policy() }))
}

#[test]
fn a_message_may_ask_for_a_shorter_delay_and_for_a_longer_one_as_far_as_the_consumer_says() {
    assert_eq!(waits(9), [16, 9, 9, 9]);
    assert_eq!(waits(16), [16; 4]);
    assert_eq!(waits(30), [16, 16, 30, 30]);
    assert_eq!(waits(43_200), [16, 16, 60, 43_020]);
}

#[test]
fn the_users_own_schedule_goes_before_the_backoff_and_is_what_a_message_asks_less_of() {
    let outcome = Outcome::Failed(Failure::from("busy").reduce(Some(secs(103))));
    assert_eq!(decided(&outcome, 3, &policy()), retry_in(103));
    let asking = |seconds| with_backoff(Backoff::fixed(secs(seconds)).unwrap());
    assert_eq!([9, 104].map(|seconds| wait(&outcome, 3, 0.5, &asking(seconds), &policy())), [9, 103]);
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
    fn no_message_waits_longer_than_the_consumer_allows(
        own in any_backoff(),
        asks in any_backoff(),
        attempt in 1..10_u32,
        random in 0.0..=1.0,
        most in 1..43_201_u64,
        by_failure in prop::option::of(0..43_200_u64),
    ) {
        let outcome = Outcome::Failed(Failure::from("down").reduce(by_failure.map(secs)));
        let policy = Policy { backoff: &own, ..policy() };
        let alone = wait(&outcome, attempt, random, &Asked::default(), &policy);
        let asked = with_backoff(asks);
        let with = |overrides| wait(&outcome, attempt, random, &asked, &Policy { overrides, ..policy });
        prop_assert_eq!(with(Overrides::Off), alone);
        prop_assert!(with(Overrides::Less) <= alone);
        let up_to = with(Overrides::UpTo(secs(most)));
        prop_assert!(up_to <= alone.max(most), "{up_to}");
        prop_assert!(with(Overrides::Less) <= up_to);
    }
}
