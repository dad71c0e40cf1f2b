use proptest::prelude::*;

use super::*;

const DAY: u64 = 86_400;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A standard queue as in the template, whose function knows the count, its dead-letter queue and this backoff.
fn terms(max: Option<u32>, backoff: &str) -> Terms {
    terms_told(max, max, backoff)
}

fn terms_told(max: Option<u32>, told: Option<u32>, backoff: &str) -> Terms {
    of_queue("orders", max, told, backoff)
}

fn of_queue(queue: &str, max: Option<u32>, told: Option<u32>, backoff: &str) -> Terms {
    let retries = Retries::from_variables(queue, |name| match name {
        "REDRIVE_MAX_RECEIVE_COUNT" => told.map(|count| count.to_string()),
        "REDRIVE_DEAD_LETTER_QUEUE_URL" => max.map(|_| "https://sqs.test/123456789012/dead".to_owned()),
        "REDRIVE_VISIBILITY_TIMEOUT" => Some("480".to_owned()),
        "REDRIVE_BACKOFF" => Some(backoff.to_owned()),
        _ => None,
    });
    Terms {
        rule: Rule::Redrive(retries.unwrap()),
        max_receive_count: max,
        is_fifo: queue.ends_with(".fifo"),
        retention: secs(7 * DAY),
        dead_letter_retention: Some(secs(14 * DAY)),
        attempt_duration: Duration::ZERO,
    }
}

const fn moved(at: u64) -> End {
    End::DeadLetter { at: secs(at), by: LastDelivery::RedrivePolicy, letter_expires: Some(secs(14 * DAY)) }
}

const fn written(at: u64) -> End {
    End::DeadLetter { at: secs(at), by: LastDelivery::DeadLetter, letter_expires: Some(secs(at + 14 * DAY)) }
}

const fn expired(days: u64) -> End {
    End::Expired { at: secs(days * DAY) }
}

fn delays(course: &Course) -> Vec<Option<u64>> {
    course.attempts.iter().map(|attempt| attempt.delay.map(|delay| delay.as_secs())).collect()
}

#[test]
fn without_redrive_each_failure_waits_for_the_visibility_timeout() {
    let rule = |timeout| Rule::VisibilityTimeout { timeout: secs(timeout), since: String::new() };
    let plain = |timeout, max| Terms { rule: rule(timeout), ..terms(max, "{}") };
    let course = Course::of(&plain(120, Some(4)), 0.5);
    assert_eq!((delays(&course), course.end), ([120; 4].map(Some).to_vec(), moved(480)));
    let slow = Course::of(&Terms { attempt_duration: secs(50), ..plain(120, Some(4)) }, 0.5);
    assert_eq!(
        (delays(&slow), slow.end),
        ([70; 4].map(Some).to_vec(), moved(480)),
        "counted from the receive"
    );
    assert_eq!(Course::of(&plain(0, None), 0.5).end, expired(7));
}

#[test]
fn ten_deliveries_double_from_2_s_and_take_1022_s() {
    let course = Course::of(&terms(Some(10), "{}"), 0.5);
    assert_eq!(delays(&course), [2, 4, 8, 16, 32, 64, 128, 256, 512, 0].map(Some));
    let at: Vec<_> = course.attempts.iter().map(|attempt| attempt.at.as_secs()).collect();
    assert_eq!(at, [0, 2, 6, 14, 30, 62, 126, 254, 510, 1_022]);
    assert_eq!((course.count, course.end), (10, moved(1_022)));
}

#[test]
fn the_end_follows_from_deliveries_backoff_and_retention() {
    let sum = |count: u32| (1..count).map(|attempt| 2_u64.pow(attempt)).sum::<u64>();
    for (max, backoff, count, end) in [
        (Some(1), "{}", 1, moved(0)),
        (Some(5), "{}", 5, moved(30)),
        (Some(16), "{}", 16, moved(sum(16))),
        (Some(20), "{}", 20, moved(sum(16) + 4 * 42_720)),
        (Some(40), "{}", 28, expired(7)),
        (None, "{}", 28, expired(7)),
        (Some(4), r#"{"kind":"steps","delay":[1,5,15]}"#, 4, moved(21)),
        (Some(6), r#"{"kind":"steps","delay":[1,5,15]}"#, 6, moved(51)),
        (Some(10), r#"{"kind":"fixed","delay":60}"#, 10, moved(540)),
        (Some(10), r#"{"delay":5,"max":900}"#, 10, moved(5 + 10 + 20 + 40 + 80 + 160 + 320 + 640 + 900)),
        (None, r#"{"kind":"fixed","delay":3600}"#, 7 * 24, expired(7)),
        (Some(3), r#"{"kind":"fixed","delay":0}"#, 3, moved(0)),
    ] {
        let course = Course::of(&terms(max, backoff), 0.5);
        assert_eq!((course.count, course.end), (count, end), "{max:?} {backoff}");
    }
}

#[test]
fn jitter_moves_the_end_both_ways() {
    for (jitter, ends) in [
        (r#""none""#, [120, 120, 120]),
        (r#""full""#, [2, 60, 120]),
        (r#""equal""#, [60, 90, 120]),
        ("10", [100, 120, 140]),
        ("100", [2, 120, 320]),
    ] {
        let terms = terms(Some(3), &format!(r#"{{"kind":"fixed","delay":60,"jitter":{jitter}}}"#));
        assert_eq!([0.0, 0.5, 1.0].map(|random| Course::of(&terms, random).end), ends.map(moved), "{jitter}");
    }
}

#[test]
fn an_attempt_takes_its_time_before_each_delay() {
    let slow = Terms { attempt_duration: secs(30), ..terms(Some(3), "{}") };
    assert_eq!(Course::of(&slow, 0.5).end, moved(30 + 2 + 30 + 4 + 30));
}

#[test]
fn on_a_fifo_queue_redrive_writes_the_letter_and_its_retention_begins_then() {
    let fifo = of_queue("orders.fifo", Some(10), Some(10), "{}");
    let course = Course::of(&fifo, 0.5);
    assert_eq!((course.count, course.end), (10, written(1_022)));
    assert_eq!(course.attempts[9].delay, None);
    let moved_anew = Terms { max_receive_count: Some(5), ..fifo };
    let end = Course::of(&moved_anew, 0.5).end;
    let expected = End::DeadLetter {
        at: secs(62),
        by: LastDelivery::RedrivePolicy,
        letter_expires: Some(secs(62 + 14 * DAY)),
    };
    assert_eq!(end, expected, "SQS counts anew too when it moves a letter between FIFO queues");
}

#[test]
fn a_function_that_is_told_another_count_than_the_queues_is_followed_too() {
    // It writes the letter early only past what it was told, and gives the message up at exactly that.
    let early = Course::of(&terms_told(Some(10), Some(3), "{}"), 0.5);
    assert_eq!((delays(&early), early.end), (vec![Some(2), Some(4), Some(0), None], written(6)));
    // It knows nothing of the last delivery: the message is moved when its delay is over.
    let late = Course::of(&terms_told(Some(3), Some(10), "{}"), 0.5);
    assert_eq!((late.count, late.end), (3, moved(2 + 4 + 8)));
    let untold = Course::of(&terms_told(Some(3), None, "{}"), 0.5);
    assert_eq!((untold.count, untold.end), (3, moved(2 + 4 + 8)));
}

#[test]
fn without_an_end_in_sight_a_retry_a_second_is_counted_until_the_message_expires() {
    let hot = terms(None, r#"{"kind":"fixed","delay":0}"#);
    let course = Course::of(&hot, 0.5);
    assert_eq!((course.count, course.attempts.len(), course.end), (604_800, KEPT, expired(7)));
}

proptest! {
    #[test]
    fn every_course_ends_within_its_retention_and_its_deliveries(
        max in prop::option::of(1_u32..40), told in prop::option::of(1_u32..40),
        delay in 0_u32..50_000, retention in 60_u64..200_000, random in 0.0..=1.0, fifo: bool,
    ) {
        let delay = delay.min(42_720);
        let queue = if fifo { "orders.fifo" } else { "orders" };
        let terms = of_queue(queue, max, told, &format!(r#"{{"kind":"fixed","delay":{delay},"jitter":3}}"#));
        let terms = Terms { retention: secs(retention), ..terms };
        let course = Course::of(&terms, random);
        prop_assert!(course.end.at() <= terms.retention);
        prop_assert!(max.is_none_or(|max| course.count <= max as usize));
        prop_assert!(course.attempts.windows(2).all(|pair| pair[0].at <= pair[1].at));
    }
}
