//! Bulk handlers: outcomes, chunks, groups and halves. `threads` tests the real `run`.

mod chunks;
mod groups;
mod halves;
mod threads;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Bulk, Consumer, Failure, Handler, Message, MessageReport, OnFailure, Text};
use tokio::time::sleep;

use crate::support::Aws;

/// The bodies of each call.
type Calls = Arc<Mutex<Vec<Vec<String>>>>;

/// Bodies are words. Some say what becomes of their message, others how the whole call ends, the rest nothing.
async fn obey(bulk: Orders) -> Result<(), Failure> {
    let mut whole = Vec::new();
    for item in bulk {
        for word in item.body.0.clone().split(' ') {
            match word {
                "all-fail" | "all-reject" | "all-defer" | "all-discard" | "all-later" | "all-panic"
                | "all-hang" => whole.push(word.to_owned()),
                _ => {}
            }
        }
        match item.body.0.split(' ').next_back().unwrap_or_default() {
            "done" => item.done(),
            "fail" => item.fail("down"),
            "reject" => item.fail(Failure::reject("refused")),
            "discard" => item.fail(Failure::discard("late")),
            "defer" => item.fail(Failure::defer(Duration::from_secs(7))),
            _ => {}
        }
    }
    match whole.first().map_or("", String::as_str) {
        "all-fail" => Err("all down")?,
        "all-reject" => Err(Failure::reject("all refused")),
        "all-defer" => Err(Failure::defer(Duration::from_secs(9))),
        "all-discard" => Err(Failure::discard("all late")),
        "all-later" => Err(Failure::retry_after(Duration::from_secs(11), "all busy")),
        "all-panic" => panic!("boom"),
        "all-hang" => std::future::pending().await,
        _ => {
            sleep(Duration::from_millis(3)).await;
            Ok(())
        }
    }
}

type Orders = Bulk<Message<Text>>;

/// A consumer that notes its calls.
fn noted(aws: &Aws, queue: &str) -> (Consumer<impl Handler<Orders>, Orders>, Calls) {
    let calls = Calls::default();
    let noted = Arc::clone(&calls);
    let handler = move |bulk: Orders| {
        noted.lock().unwrap().push(bulk.iter().map(|item| item.body.0.clone()).collect());
        obey(bulk)
    };
    (aws.consumer(queue, handler), calls)
}

fn taken(calls: &Calls) -> Vec<Vec<String>> {
    std::mem::take(&mut *calls.lock().unwrap())
}

/// What became of each message: `ok`, `letter REASON`, or for how long it is hidden.
async fn ends(queue: &str, bodies: &[&str]) -> Vec<String> {
    let aws = if queue == "orders" { Aws::standard() } else { Aws::fifo() };
    let message = |body: &&str| redrive_local::NewMessage::from(*body);
    let ids: Vec<_> = match queue {
        "orders" => bodies.iter().map(|body| aws.send(queue, message(body))).collect(),
        _ => bodies.iter().map(|body| aws.send(queue, message(body).group(&body[..1]))).collect(),
    };
    let (consumer, _) = noted(&aws, queue);
    let handled = aws.handle(&consumer.time_limit(Duration::from_secs(2)), queue, 10).await;
    let (delays, notes) = (handled.delays(), handled.notes());
    let end = |id: &String| match (delays.get(id.as_str()), notes.iter().find(|note| note.message_id == *id))
    {
        (Some(delay), _) => format!("{delay} s"),
        (None, Some(note)) => format!("letter {}", note.reason),
        (None, None) if handled.failed.contains(id) => "left".to_owned(),
        (None, None) => "ok".to_owned(),
    };
    ids.iter().map(end).collect()
}

#[tokio::test(start_paused = true)]
async fn each_message_of_a_bulk_gets_its_own_outcome() {
    let rows: [(&[&str], &[&str]); 11] = [
        (&["a", "b", "c"], &["ok", "ok", "ok"]),
        (&["fail", "a", "reject", "done"], &["2 s", "ok", "letter rejected", "ok"]),
        (&["discard", "defer", "a"], &["ok", "7 s", "ok"]),
        (&["all-fail", "a", "done"], &["2 s", "2 s", "ok"]),
        (&["all-fail", "a", "defer"], &["2 s", "2 s", "7 s"]),
        (&["all-reject", "a", "fail"], &["letter rejected", "letter rejected", "2 s"]),
        (&["all-defer", "a"], &["9 s", "9 s"]),
        (&["all-discard", "a"], &["ok", "ok"]),
        (&["all-later", "done", "a"], &["11 s", "ok", "11 s"]),
        // Nobody knows which message is to blame, so none is dead-lettered; a message that was alone is.
        (&["all-panic", "a", "done"], &["2 s", "2 s", "ok"]),
        (&["all-hang", "done", "reject"], &["2 s", "ok", "letter rejected"]),
    ];
    for (bodies, expected) in rows {
        assert_eq!(ends("orders", bodies).await, expected, "{bodies:?}");
    }
    assert_eq!(ends("orders", &["all-panic"]).await, ["letter panic"]);
    assert_eq!(ends("orders", &["all-panic", "done"]).await, ["letter panic", "ok"], "one is left open");
}

#[tokio::test(start_paused = true)]
async fn items_count_as_messages_and_a_call_as_one_duration() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["a", "fail", "reject", "discard", "defer", "b"]);
    let (consumer, calls) = noted(&aws, "orders");
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let consumer = consumer.observe(move |message: &MessageReport| {
        tell.lock().unwrap().push((message.id.clone(), message.handler.is_some()));
    });
    let handled = aws.handle(&consumer, "orders", 10).await;
    let report = &handled.report;
    assert_eq!(taken(&calls).len(), 1);
    assert_eq!((report.records, report.succeeded, report.worker_errors), (6, 2, 2));
    assert_eq!((report.deferred, report.discarded, report.not_started), (1, 1, 0));
    assert_eq!(report.worker_durations, [Duration::from_millis(3)]);
    assert_eq!(*told.lock().unwrap(), ids.into_iter().map(|id| (id, true)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_of_a_call_the_next_panic_is_not_blamed_on_its_message() {
    let aws = Aws::standard();
    let (consumer, _) = noted(&aws, "orders");
    aws.send_all("orders", ["all-panic", "a"]);
    aws.handle(&consumer, "orders", 10).await;
    let alone = Aws::standard();
    alone.send_all("orders", ["all-panic"]);
    let handled = alone.handle(&consumer, "orders", 10).await;
    assert_eq!((handled.report.worker_errors, handled.report.dead_lettered), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn undecodable_messages_never_reach_the_handler() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["1", "{oops", "3"]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let handler = move |bulk: Bulk<u64>| {
        sees.lock().unwrap().extend(bulk.iter().map(|number| **number));
        async { Err::<(), _>("down") }
    };
    let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
    assert_eq!(*seen.lock().unwrap(), [1, 3]);
    assert_eq!(handled.notes().len(), 1);
    assert_eq!((handled.notes()[0].reason.as_str(), &handled.notes()[0].message_id), ("malformed", &ids[1]));
    assert_eq!(handled.failed, [ids[0].clone(), ids[2].clone()]);

    let aws = Aws::standard();
    aws.send_all("orders", ["{oops", "{again"]);
    let handler = |_: Bulk<u64>| async { panic!("it is called with nothing") as Result<(), Failure> };
    let consumer = aws.consumer("orders", handler).on_malformed(OnFailure::Retry);
    assert_eq!(aws.handle(&consumer, "orders", 10).await.report.retried, 2);
}

#[tokio::test(start_paused = true)]
async fn a_ruling_counts_until_the_function_returns() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["1", "2", "3"]);
    let handler = |bulk: Bulk<u64>| async {
        let mut items = bulk.into_iter();
        let (first, second) = (items.next(), items.next());
        let early = tokio::spawn(async move { first.unwrap().fail("in time") });
        early.await.unwrap();
        tokio::spawn(async move {
            sleep(Duration::from_millis(1)).await;
            second.unwrap().fail("too late");
        });
        Ok::<_, Failure>(())
    };
    let handled = aws.handle(&aws.consumer("orders", handler), "orders", 10).await;
    assert_eq!(handled.failed, ids[..1]);
}

#[tokio::test(start_paused = true)]
async fn a_ruling_on_a_call_that_was_canceled_changes_nothing() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["1", "2"]);
    let handler = |bulk: Bulk<u64>| async {
        let mut items = bulk.into_iter();
        items.next().unwrap().done();
        let late = items.next().unwrap();
        tokio::spawn(async move {
            sleep(Duration::from_secs(3)).await;
            late.done();
        });
        std::future::pending::<Result<(), Failure>>().await
    };
    let consumer = aws.consumer("orders", handler).time_limit(Duration::from_secs(2));
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!((handled.failed, handled.report.succeeded), (ids[1..].to_vec(), 1));
}

#[tokio::test(start_paused = true)]
async fn each_message_waits_by_its_own_attempt_and_its_own_error() {
    let aws = Aws::standard();
    aws.send_all("orders", ["fail", "reject", "all-fail", "a"]);
    let (consumer, _) = noted(&aws, "orders");
    let later = |failure| Failure::retry_after(Duration::from_secs(40), failure);
    let consumer = consumer
        .classify(move |failure| if failure.to_string() == "down" { later(failure) } else { failure })
        .backoff_by(|attempt, _| Duration::from_secs(u64::from(attempt) * 100));
    for (attempt, waits) in [(1, [40, 100, 100]), (2, [40, 200, 200])] {
        let handled = aws.handle(&consumer, "orders", 10).await;
        let delays: Vec<_> =
            handled.delivered.iter().filter_map(|id| handled.delays().get(id.as_str()).copied()).collect();
        assert_eq!(delays, waits, "attempt {attempt}");
        tokio::time::advance(Duration::from_secs(1_000)).await;
    }
}

/// An error that panics when its text is asked for.
#[derive(Debug)]
struct Landmine;

impl std::fmt::Display for Landmine {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("boom")
    }
}

impl std::error::Error for Landmine {}

#[tokio::test(start_paused = true)]
async fn a_result_whose_error_panics_in_a_task_is_a_failure() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["a", "b"]);
    let consumer = aws.consumer("orders", async |orders: Orders| {
        let ruled = orders.into_iter().map(|order| tokio::spawn(async { order.fail(Landmine) }));
        futures_util::future::join_all(ruled).await;
        Ok::<_, Failure>(())
    });
    let handled = aws.handle(&consumer.on_panic(OnFailure::Retry), "orders", 10).await;
    assert_eq!((handled.report.worker_errors, handled.failed), (2, ids));
}
