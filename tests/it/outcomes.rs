use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{BatchReport, Consumer, Failure, Message, OnFailure, Text, Verdict};
use redrive_local::NewMessage;

use crate::support::Aws;

/// Does what the body says.
async fn obey(message: Message<Text>) -> Result<(), Failure> {
    match message.body.0.as_str() {
        "ok" => Ok(()),
        "fail" => Err("down")?,
        "reject" => Err(Failure::reject("refused")),
        "panic" => panic!("boom"),
        "panic with a string" => panic!("boom {}", message.attempt),
        "panic with anything" => std::panic::panic_any(7),
        other => panic!("nobody told what to do with {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_takes_down_its_own_message_whatever_it_carries() {
    for (body, error) in [
        ("panic", "boom"),
        ("panic with a string", "boom 1"),
        ("panic with anything", "a panic without a message"),
    ] {
        let aws = Aws::standard();
        aws.send_all("orders", ["ok", body, "ok"]);
        let handled = aws.handle(&aws.consumer("orders", obey), "orders", 10).await;
        assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (2, 1));
        assert_eq!(
            (handled.notes()[0].error.as_str(), handled.notes()[0].exception.as_str()),
            (error, "panic")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn one_body_that_is_not_json_among_ten_is_one_letter_and_nine_successes() {
    let aws = Aws::standard();
    let ids =
        aws.send_all("orders", (0..10).map(|n| if n == 4 { "{oops".to_owned() } else { n.to_string() }));
    let consumer = aws.consumer("orders", |_: u64| async { Ok::<_, Failure>(()) });
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (9, 1));
    assert_eq!(handled.failed, [""; 0]);
    assert_eq!(handled.notes()[0].reason, "malformed");
    assert_eq!(handled.notes()[0].message_id, ids[4]);
}

#[tokio::test(start_paused = true)]
async fn panics_and_malformed_bodies_are_retried_where_that_was_asked_for() {
    let aws = Aws::standard();
    aws.send_all("orders", ["{oops", "1"]);
    let consumer = aws.consumer("orders", |_: u64| async { panic!("boom") as Result<(), Failure> });
    let consumer = consumer.on_panic(OnFailure::Retry).on_malformed(OnFailure::Retry);
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(handled.delays().values().collect::<Vec<_>>(), [&2, &2]);
    assert_eq!((handled.report.worker_errors, handled.report.retried), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn without_a_dead_letter_queue_nothing_is_dropped() {
    let aws = Aws::standard();
    aws.send_all("orders", ["reject", "panic"]);
    let consumer = Consumer::new(obey).sqs(aws.sqs()).max_receive_count(10);
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(handled.failed.len(), 2);
    assert_eq!(handled.delays().values().collect::<Vec<_>>(), [&2, &2]);
}

#[tokio::test(start_paused = true)]
async fn without_clients_failures_are_reported_and_that_is_all() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["ok", "fail", "reject", "panic"]);
    let consumer = Consumer::new(obey).dead_letter_queue_url("https://sqs.eu-central-1.amazonaws.com/1/dead");
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(handled.failed, ids[1..]);
    assert_eq!(handled.report.settle_errors, 0);
    assert!(aws.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn classify_rules_by_type_and_the_backoff_may_be_a_closure() {
    let aws = Aws::standard();
    aws.send_all("orders", ["1", "2"]);
    let handler = |n: u64| async move {
        if n == 1 { Err(Failure::from(std::fmt::Error)) } else { Err(Failure::from("busy")) }
    };
    let consumer = aws
        .consumer("orders", handler)
        .classify(|failure| match failure.find::<std::fmt::Error>() {
            Some(_) => Failure::reject(failure),
            None => failure,
        })
        .backoff_by(|attempt, failure| {
            Duration::from_secs(u64::from(attempt) + failure.to_string().len() as u64)
        });
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(handled.notes()[0].exception, "core::fmt::Error");
    assert_eq!(handled.delays().into_values().collect::<Vec<_>>(), [5]);
}

#[tokio::test(start_paused = true)]
async fn classify_does_not_see_what_was_ruled_on_purpose() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..5);
    let handler = |n: u64| async move {
        Err::<(), _>(match n {
            0 => Failure::retry_after(Duration::from_secs(77), "busy"),
            1 => Verdict::discard("late").into(),
            2 => Failure::defer(Duration::from_secs(60)),
            3 => Failure::retry("down"),
            _ => Failure::from("down").with_reason("gateway"),
        })
    };
    let consumer = aws.consumer("orders", handler).classify(Failure::reject);
    let handled = aws.handle(&consumer, "orders", 10).await;
    let BatchReport { retried, deferred, discarded, dead_lettered, .. } = handled.report;
    assert_eq!((retried, deferred, discarded, dead_lettered), (2, 1, 1, 1));
    assert_eq!(handled.notes()[0].reason, "gateway");
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_call_a_body_malformed() {
    let aws = Aws::standard();
    aws.send_all("orders", ["4x"]);
    let handler =
        |Text(body): Text| async move { body.parse::<u32>().map(|_| ()).map_err(Failure::malformed) };
    let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
    let note = handled.notes().remove(0);
    assert_eq!(
        (note.reason.as_str(), note.exception.as_str()),
        ("malformed", "core::num::error::ParseIntError")
    );
}

#[tokio::test(start_paused = true)]
async fn classify_sees_what_is_in_an_error_of_anyhow() {
    let aws = Aws::standard();
    aws.send_all("orders", ["1", "2"]);
    let handler = |n: u64| async move {
        let missing = anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::NotFound));
        Err::<(), _>(if n == 1 { missing } else { missing.context("reading the price list") })
    };
    let consumer = aws.consumer("orders", handler).classify(|failure| {
        match failure.find::<std::io::Error>().map(std::io::Error::kind) {
            Some(std::io::ErrorKind::NotFound) => Failure::reject(failure).with_reason("bad-file"),
            _ => failure,
        }
    });
    let handled = aws.handle(&consumer, "orders", 10).await;
    let notes: Vec<_> = handled.notes().into_iter().map(|note| (note.reason, note.exception)).collect();
    assert_eq!(notes, vec![("bad-file".to_owned(), "std::io::error::Error".to_owned()); 2]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_the_last_only_where_an_error_is_not_followed_by_another() {
    // What the consumer knows, and whether the first delivery of a message that asks for one attempt is its last.
    for (has_dead_letter_queue, max_receive_count, is_last) in
        [(false, None, false), (true, None, true), (false, Some(1), true), (false, Some(10), false)]
    {
        let aws = Aws::standard();
        aws.send("orders", NewMessage::from("x").attribute("redrive.max-attempts", "1"));
        let told = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&told);
        let mut consumer = Consumer::new(move |message: Message<Text>| {
            *noted.lock().unwrap() = Some(message.is_last_attempt());
            async { Err::<(), _>("down") }
        })
        .sqs(aws.sqs());
        if has_dead_letter_queue {
            consumer = consumer.dead_letter_queue_url(aws.open("orders-dead").url());
        }
        if let Some(max) = max_receive_count {
            consumer = consumer.max_receive_count(max);
        }
        let handled = aws.handle(&consumer, "orders", 10).await;
        assert_eq!(*told.lock().unwrap(), Some(is_last));
        let comes_back_later = handled.delays().into_values().any(|seconds| seconds > 0);
        assert_eq!(comes_back_later, !is_last, "{:?}", handled.report);
    }
}
