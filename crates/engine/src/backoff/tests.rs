use proptest::prelude::*;

use super::*;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn delays<const N: usize>(backoff: &Backoff, attempts: [u32; N]) -> [u64; N] {
    attempts.map(|attempt| backoff.delay(attempt, 0.5).as_secs())
}

#[test]
fn the_default_doubles_from_2_s() {
    let nine = delays(&Backoff::default(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(nine, [2, 4, 8, 16, 32, 64, 128, 256, 512]);
    assert_eq!(nine.iter().sum::<u64>(), 1_022);
    assert_eq!(delays(&Backoff::default(), [0, 10, 14, 15]), [2, 1_024, 16_384, 32_768]);
}

#[test]
fn it_never_collapses_and_never_overflows() {
    assert_eq!(delays(&Backoff::default(), [16, 17, 64, 1_000, u32::MAX]), [43_200; 5]);
}

#[test]
fn the_last_step_repeats() {
    let steps = |seconds: &[u64]| Backoff::steps(seconds.iter().copied().map(secs)).unwrap();
    assert_eq!(delays(&steps(&[1, 5, 15]), [1, 2, 3, 4, u32::MAX]), [1, 5, 15, 15, 15]);
    assert_eq!(delays(&steps(&[2]), [1, 9]), [2, 2]);
    assert_eq!(delays(&Backoff::fixed(secs(2)).unwrap(), [1, 9]), [2, 2]);
    assert_eq!(delays(&steps(&[0]), [1, 2]), [0, 0]);
}

#[test]
fn delays_are_whole_seconds_rounded_up() {
    let backoff = Backoff::exponential(Duration::from_millis(100), secs(30)).unwrap();
    assert_eq!(delays(&backoff, [1, 4, 5, 6, 7, 9, 10, 99]), [1, 1, 2, 4, 7, 26, 30, 30]);
    let slow = Backoff::exponential(secs(1), secs(30)).unwrap().multiplier(1.5).unwrap();
    assert_eq!(delays(&slow, [1, 2, 3, 4]), [1, 2, 3, 4]);
    let tenth = Backoff::exponential(secs(100), secs(900)).unwrap().multiplier(1.1).unwrap();
    assert_eq!(delays(&tenth, [1, 2, 3]), [100, 110, 121]);
}

#[test]
fn a_backoff_that_sqs_does_not_allow_is_refused() {
    let refused = |result: Result<Backoff, InvalidBackoff>| result.unwrap_err().to_string();
    assert_eq!(refused(Backoff::steps([])), "there are no steps; at least one is needed");
    assert!(refused(Backoff::fixed(secs(43_201))).contains("43200"));
    assert!(refused(Backoff::exponential(secs(9), secs(3))).contains("is 9s; it must be"));
    assert!(refused(Backoff::exponential(secs(0), secs(3))).contains("above 0 s"));
    assert_eq!(delays(&Backoff::exponential(secs(3), secs(3)).unwrap(), [1, 2]), [3, 3]);
    assert!(refused(Backoff::exponential(secs(1), secs(43_201))).contains("43200"));
    for factor in [0.5, f64::NAN, f64::INFINITY] {
        assert!(refused(Backoff::default().multiplier(factor)).contains("at least 1"));
    }
    assert!(refused(Backoff::fixed(secs(2)).unwrap().multiplier(2.0)).contains("exponential"));
}

#[test]
fn jitter_reaches_both_ends_of_its_bounds() {
    let ends = |jitter| {
        let backoff = Backoff::fixed(secs(100)).unwrap().jitter(jitter);
        (backoff.delay(1, 0.0).as_secs(), backoff.delay(1, 1.0).as_secs())
    };
    assert_eq!(ends(Jitter::None), (100, 100));
    assert_eq!(ends(Jitter::Full), (1, 100));
    assert_eq!(ends(Jitter::Equal), (50, 100));
    assert_eq!(ends(Jitter::Symmetric(secs(30))), (70, 130));
    assert_eq!(ends(Jitter::Symmetric(secs(200))), (1, 300));
    let symmetric = Backoff::fixed(secs(100)).unwrap().jitter(Jitter::Symmetric(secs(30)));
    assert_eq!([0.25, 0.5, 0.75].map(|random| symmetric.delay(1, random).as_secs()), [85, 100, 115]);
}

proptest! {
    #[test]
    fn a_jittered_delay_is_never_below_1_s_and_never_above_12_h(
        attempt in any::<u32>(), random in any::<f64>(), by in any::<u64>(),
    ) {
        for jitter in [Jitter::Full, Jitter::Equal, Jitter::Symmetric(secs(by))] {
            let delay = Backoff::default().jitter(jitter).delay(attempt, random);
            prop_assert!((secs(1)..=LONGEST_VISIBILITY).contains(&delay));
        }
    }

    #[test]
    fn a_later_attempt_never_waits_less(attempt in 1_u32..100_000) {
        let backoff = Backoff::default();
        prop_assert!(backoff.delay(attempt, 0.0) <= backoff.delay(attempt + 1, 0.0));
    }

    /// Whatever the consumer's own backoff is, the delays are those of the backoff that was written.
    #[test]
    fn a_backoff_is_read_from_its_own_json(
        nanoseconds in prop::collection::vec(1_u64..43_200_000_000_000, 1..6),
        schedule in 0..3,
        hundredths in 100_u32..1_000,
        jitter in prop::sample::select(vec![
            Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Symmetric(Duration::from_millis(7_001)),
        ]),
    ) {
        let times: Vec<_> = nanoseconds.iter().copied().map(Duration::from_nanos).collect();
        let (least, most) = (*times.iter().min().unwrap(), *times.iter().max().unwrap());
        let growing = |maximum| Backoff::growing(least, maximum).unwrap();
        let factor = f64::from(hundredths) / 100.0;
        let written = match schedule {
            0 => Backoff::steps(times).unwrap(),
            1 => growing(Some(most)).multiplier(factor).unwrap(),
            _ => growing(None).multiplier(factor).unwrap(),
        };
        let written = written.jitter(jitter);
        let json = serde_json::to_string(&written).unwrap();
        let bases = [
            Backoff::default(),
            Backoff::steps([secs(1), secs(5)]).unwrap().jitter(Jitter::Full),
            Backoff::exponential(secs(3), secs(9)).unwrap().multiplier(5.0).unwrap(),
        ];
        for base in &bases {
            let read = parse_backoff(&json, base).unwrap();
            for (attempt, random) in (1..40).zip([0.0, 0.3, 1.0].into_iter().cycle()) {
                prop_assert_eq!(read.delay(attempt, random), written.delay(attempt, random), "{}", json);
            }
            if schedule < 2 {
                prop_assert_eq!(&read, &written);
            }
        }
    }
}
