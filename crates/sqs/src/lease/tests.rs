use proptest::prelude::*;

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A message received at 0 s, hidden for 30 s.
fn one() -> Leases<usize> {
    let mut leases = Leases::new(seconds(30));
    leases.take(0, seconds(0), seconds(0));
    leases
}

#[test]
fn a_lease_is_extended_at_a_third_of_its_length() {
    let mut leases = one();
    assert_eq!((leases.due_at(), leases.until(0)), (Some(seconds(10)), Some(seconds(30))));
    assert_eq!(leases.due(seconds(9)), []);
    assert_eq!(leases.due(seconds(10)), [(0, 30)]);
    assert_eq!((leases.due(seconds(11)), leases.due_at()), (vec![], None));
    leases.extended(0, seconds(10), 30);
    assert_eq!((leases.until(0), leases.due_at()), (Some(seconds(40)), Some(seconds(20))));
}

#[test]
fn one_that_was_not_extended_is_tried_again_until_it_ends() {
    let mut leases = one();
    let mut now = seconds(10);
    while now < seconds(30) {
        assert_eq!(leases.due(now), [(0, 30)]);
        leases.not_extended(0, now);
        now = leases.due_at().unwrap();
    }
    assert_eq!((now, leases.until(0)), (seconds(30), Some(seconds(30))));
    assert_eq!(leases.expired(now), [0]);
    assert_eq!((leases.until(0), leases.due_at(), leases.ends_at()), (None, None, None));
}

#[test]
fn one_call_extends_ten_and_those_that_are_due_soon_with_them() {
    let mut leases = Leases::new(seconds(120));
    (0..12).for_each(|key| leases.take(key, seconds(0), seconds(0)));
    // Due 10 s and 11 s after the first.
    leases.take(12, seconds(10), seconds(10));
    leases.take(13, seconds(11), seconds(11));
    let keys = |due: Vec<(usize, u64)>| due.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(leases.due(seconds(40))), (0..10).collect::<Vec<_>>());
    assert_eq!(keys(leases.due(seconds(40))), [10, 11, 12]);
    assert!(leases.due(seconds(40)).is_empty());
}

#[test]
fn a_settled_message_is_never_extended_again() {
    let mut leases = one();
    assert_eq!(leases.settle(0), Standing::Held);
    assert_eq!((leases.due_at(), leases.due(seconds(20))), (None, vec![]));

    let mut leases = one();
    leases.due(seconds(10));
    assert_eq!(leases.settle(0), Standing::Extending);
    leases.extended(0, seconds(10), 30);
    assert_eq!((leases.due_at(), leases.until(0)), (None, Some(seconds(40))));

    let mut leases = one();
    leases.due(seconds(10));
    leases.settle(0);
    leases.not_extended(0, seconds(12));
    assert_eq!(leases.due_at(), None);
    assert_eq!(leases.expired(seconds(30)), [0]);
    assert_eq!(leases.settle(0), Standing::Lost);
}

#[test]
fn no_lease_lasts_longer_than_twelve_hours_from_its_receive() {
    let mut leases = Leases::new(seconds(7_000));
    leases.take(0, seconds(100), seconds(100));
    let (mut extensions, mut lengths) = (0, Vec::new());
    while let Some(due) = leases.due_at() {
        for (key, length) in leases.due(due) {
            leases.extended(key, due, length);
            lengths.push(length);
        }
        extensions += 1;
    }
    let until = leases.until(0).unwrap();
    assert!(until > seconds(100 + 43_193) && until <= seconds(100 + 43_195), "{until:?}");
    assert!(extensions < 25 && lengths[..15].iter().all(|length| *length == 7_000), "{lengths:?}");
}

#[derive(Debug, Clone, Copy)]
enum Happening {
    Take,
    Turn,
    Extended,
    NotExtended,
    Settle,
    Forget,
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::*;
    prop_oneof![
        3 => Just(Take),
        6 => Just(Turn),
        4 => Just(Extended),
        2 => Just(NotExtended),
        2 => Just(Settle),
        1 => Just(Forget),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    /// Compares the leases with a model of SQS.
    #[test]
    fn a_lease_never_outlasts_what_sqs_has_granted(
        visibility in 1_u64..=43_200,
        happenings in prop::collection::vec((happening(), any::<prop::sample::Index>(), 0.0..0.7_f64), 1..80),
    ) {
        let visibility = seconds(visibility);
        let mut leases = Leases::new(visibility);
        let (mut now, mut keys) = (seconds(0), 0);
        // Receive time of each message, and the time until which SQS hides it at least.
        let mut hidden: BTreeMap<usize, (Duration, Duration)> = BTreeMap::new();
        let mut open: Vec<(usize, Duration, u64)> = Vec::new();
        let mut settled = BTreeSet::new();
        for (happening, which, later) in happenings {
            now += visibility.mul_f64(later);
            for key in leases.expired(now) {
                prop_assert!(hidden[&key].1 <= now, "{key} is given up early");
            }
            let some = (!hidden.is_empty()).then(|| *hidden.keys().nth(which.index(hidden.len())).unwrap());
            match (happening, some) {
                (Happening::Take, _) => {
                    leases.take(keys, now, now);
                    hidden.insert(keys, (now, now + visibility));
                    keys += 1;
                }
                (Happening::Turn, _) => {
                    let due = leases.due(now);
                    prop_assert!(due.len() <= 10);
                    for (key, length) in due {
                        let (received, _) = hidden[&key];
                        prop_assert!(!settled.contains(&key), "{key} is extended, and is being settled");
                        prop_assert!(!open.iter().any(|(it, ..)| *it == key), "{key} is extended twice at once");
                        prop_assert!(now + seconds(length) <= received + seconds(43_200));
                        open.push((key, now, length));
                    }
                }
                (Happening::Extended, _) if !open.is_empty() => {
                    let (key, asked, length) = open.remove(which.index(open.len()));
                    if let Some((_, until)) = hidden.get_mut(&key).filter(|_| leases.until(key).is_some()) {
                        *until = asked + seconds(length);
                    }
                    leases.extended(key, asked, length);
                }
                (Happening::NotExtended, _) if !open.is_empty() => {
                    let (key, ..) = open.remove(which.index(open.len()));
                    leases.not_extended(key, now);
                }
                (Happening::Settle, Some(key)) => {
                    let standing = leases.settle(key);
                    let is_open = open.iter().any(|(it, ..)| *it == key);
                    let expected = match leases.until(key) {
                        None => Standing::Lost,
                        Some(_) if is_open => Standing::Extending,
                        Some(_) => Standing::Held,
                    };
                    prop_assert_eq!(standing, expected);
                    settled.insert(key);
                }
                (Happening::Forget, Some(key)) => {
                    leases.forget(key);
                    prop_assert_eq!(leases.until(key), None);
                }
                _ => {}
            }
            for (key, (_, until)) in &hidden {
                prop_assert!(leases.until(*key).is_none_or(|lease| lease <= *until), "{key}");
            }
            prop_assert_eq!(leases.ends_at(), hidden.keys().filter_map(|key| leases.until(*key)).min());
        }
    }
}
