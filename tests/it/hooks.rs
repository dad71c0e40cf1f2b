//! Hooks around handlers, and observers of messages.

mod times;

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use redrive::hook::{Delivery, Hook, Next};
use redrive::{Bodies, Body, Failure, MessageOutcome, MessageReport, Record, Text};

use crate::support::Aws;

type Log = Arc<Mutex<Vec<String>>>;

/// Says when it begins, ends, is dropped, is told of a message, and is flushed.
struct Witness {
    name: &'static str,
    log: Log,
}

struct Dropped<'a>(&'a Witness);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.says("leaves");
    }
}

impl Witness {
    fn says(&self, what: &str) {
        self.log.lock().unwrap().push(format!("{} {what}", self.name));
    }
}

impl Hook for Witness {
    async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        self.says(&format!("enters {} of {}", delivery.records()[0].body(), delivery.queue()));
        let _leaves = Dropped(self);
        next.await
    }

    fn settled(&self, message: &MessageReport) {
        self.says(&format!("sees {:?}", message.outcome));
    }

    async fn flush(&self, _: Instant) {
        self.says("flushes");
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_nest_in_the_order_in_which_they_were_added_and_flush_last() {
    let aws = Aws::standard();
    aws.send_all("orders", ["a"]);
    let log = Log::default();
    let witness = |name| Witness { name, log: Arc::clone(&log) };
    let said = Arc::clone(&log);
    let consumer = aws.consumer("orders", move |_: Text| {
        said.lock().unwrap().push("the handler runs".to_owned());
        async { Ok::<_, Failure>(()) }
    });
    let handled = aws.handle(&consumer.hook(witness("outer")).hook(witness("inner")), "orders", 10).await;
    assert_eq!(handled.report.succeeded, 1);
    assert_eq!(
        *log.lock().unwrap(),
        [
            "outer enters a of orders",
            "inner enters a of orders",
            "the handler runs",
            "inner leaves",
            "outer leaves",
            "outer sees Succeeded",
            "outer flushes",
            "inner sees Succeeded",
            "inner flushes",
        ]
    );
}

/// Does as the body says, in the handler's place.
struct Instead;

impl Hook for Instead {
    async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        match delivery.records()[0].body() {
            "reject" => Err(Failure::reject("not ours")),
            "panic" => panic!("a hook's bug"),
            "forgive" => {
                let _ = next.await;
                Ok(())
            }
            _ => next.await,
        }
    }

    async fn flush(&self, _: Instant) {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_hooks_result_counts_and_its_panics_and_delays_stay_its_own() {
    let aws = Aws::standard();
    aws.send_all("orders", ["reject", "panic", "forgive", "slow", "fine"]);
    let consumer = aws.consumer("orders", |text: Text| async move {
        match text.0.as_str() {
            "forgive" => Err(Failure::from("an error")),
            "slow" => std::future::pending().await,
            _ => Ok(()),
        }
    });
    let consumer = consumer.hook(Instead).time_limit(Duration::from_secs(1));
    let handled = aws.handle_within(Duration::from_secs(10), &consumer, "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered, handled.report.retried), (2, 2, 1));
    let mut reasons: Vec<_> = handled.notes().into_iter().map(|note| note.reason).collect();
    reasons.sort();
    assert_eq!(reasons, ["panic", "rejected"]);
    // The answer waits 2 s for a flush that does not end.
    assert!(handled.took.as_secs() == 3, "{:?}", handled.took);
    // And not beyond the last 100 ms.
    aws.send("orders", "fine");
    let handled = aws.handle_within(Duration::from_secs(1), &consumer, "orders", 10).await;
    assert_eq!(handled.took, Duration::from_millis(900));
}

/// Panics when it is told, or hangs when it is to flush.
struct Broken(&'static str);

impl Hook for Broken {
    fn settled(&self, _: &MessageReport) {
        assert_ne!(self.0, "settled", "a hook's bug");
    }

    async fn flush(&self, _: Instant) {
        match self.0 {
            "flush" => panic!("a hook's bug"),
            "hangs" => std::future::pending().await,
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_or_hangs_does_not_block_the_flush_of_others() {
    let aws = Aws::standard();
    aws.send_all("orders", ["a"]);
    let log = Log::default();
    let consumer = aws.consumer("orders", |_: Text| async { Ok::<_, Failure>(()) });
    let consumer = consumer.hook(Broken("settled")).hook(Broken("flush")).hook(Broken("hangs"));
    let consumer = consumer.hook(Witness { name: "other", log: Arc::clone(&log) });
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(handled.report.succeeded, 1);
    assert_eq!(log.lock().unwrap()[2..], ["other sees Succeeded", "other flushes"]);
}

/// Says what it does before it returns its future.
struct Eager(&'static str, Log);

impl Hook for Eager {
    fn around<'a>(
        &'a self,
        _: &'a Delivery<'a>,
        next: Next<'a>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'a {
        self.1.lock().unwrap().push(self.0.to_owned());
        next
    }
}

#[tokio::test(start_paused = true)]
async fn an_inner_hook_starts_only_when_the_outer_one_awaits_it() {
    let aws = Aws::standard();
    aws.send("orders", "reject");
    aws.send("orders", "a");
    let log = Log::default();
    let consumer = aws.consumer("orders", |_: Text| async { Ok::<_, Failure>(()) });
    let consumer = consumer.hook(Eager("outer", Arc::clone(&log))).hook(Instead);
    let consumer = consumer.hook(Eager("inner", Arc::clone(&log)));
    aws.handle(&consumer, "orders", 10).await;
    // The hook between them answers in the place of the inner one.
    assert_eq!(*log.lock().unwrap(), ["outer", "outer", "inner"]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_gets_the_result_of_each_message() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["ok", "fail", "reject", "defer", "discard", "{"]);
    let seen: Arc<Mutex<Vec<MessageReport>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let consumer = aws.consumer("orders", |text: Text| async move {
        tokio::time::sleep(Duration::from_millis(30)).await;
        match text.0.as_str() {
            "ok" => Ok(()),
            "reject" => Err(Failure::reject("no").with_reason("not-ours")),
            "defer" => Err(Failure::defer(Duration::from_secs(9))),
            "discard" => Err(Failure::discard("late")),
            _ => Err(Failure::from(std::fmt::Error)),
        }
    });
    let consumer =
        consumer.observe(move |message: &MessageReport| noted.lock().unwrap().push(message.clone()));
    aws.handle(&consumer, "orders", 10).await;
    let seen = seen.lock().unwrap();
    let of = |at: usize| seen.iter().find(|message| message.id == ids[at]).unwrap();
    let outcomes: Vec<_> = (0..6).map(|at| of(at).outcome).collect();
    use MessageOutcome::{DeadLettered, Deferred, Discarded, Retried, Succeeded};
    assert_eq!(outcomes, [Succeeded, Retried, DeadLettered, Deferred, Discarded, Retried]);
    assert_eq!(of(0).reason, None);
    assert_eq!((of(1).reason.as_deref(), of(1).exception.as_str()), (Some("error"), "core::fmt::Error"));
    assert_eq!((of(2).reason.as_deref(), of(2).error.as_str()), (Some("not-ours"), "no"));
    assert_eq!((of(1).back_after, of(2).back_after), (Some(Duration::from_secs(2)), None));
    assert!(of(1).confirmed && of(2).confirmed && of(2).settling.is_some() && of(0).settling.is_none());
    assert!(seen.iter().all(|message| message.handler.unwrap().took == Duration::from_millis(30)));
}

/// `=text` stands for a body elsewhere.
struct Elsewhere;

impl Bodies for Elsewhere {
    async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
        match record.body() {
            "gone" => Err("no such key".into()),
            "forbidden" => Err(Failure::reject("not from there")),
            "hangs" => std::future::pending().await,
            body => Ok(body.strip_prefix('=').map(Body::from)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_fetched_body_is_decoded_and_a_letter_keeps_the_sent_one() {
    let aws = Aws::standard();
    aws.send_all("orders", ["=7", "8", "=9", "=x", "gone", "forbidden", "hangs"]);
    let taken: Arc<Mutex<Vec<u64>>> = Arc::default();
    let took = Arc::clone(&taken);
    let consumer = aws.consumer("orders", move |number: u64| {
        took.lock().unwrap().push(number);
        async move { if number == 9 { Err(Failure::reject("not nine")) } else { Ok(()) } }
    });
    let consumer = consumer.bodies(Elsewhere).time_limit(Duration::from_secs(1));
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(*taken.lock().unwrap(), [7, 8, 9]);
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered, handled.report.retried), (2, 3, 2));
    let mut letters: Vec<_> =
        aws.event("orders-dead", 10).records.into_iter().filter_map(|record| record.body).collect();
    letters.sort();
    assert_eq!(letters, ["=9", "=x", "forbidden"]);
}
