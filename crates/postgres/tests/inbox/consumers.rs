use std::sync::{Arc, Mutex};
use std::time::Duration;

use deadpool_postgres::Pool;
use redrive::{Consumer, Failure, Handler, Message, MessageOutcome, MessageReport, OnFailure};
use redrive_local::kit::{Queue, TestAws};
use redrive_postgres::Inbox;

use crate::once::{EFFECT, inbox};
use crate::server::Database;

/// Fails in every way at first, in the middle of its transaction and after it.
struct Payments {
    pool: Pool,
    inbox: Inbox,
}

impl Payments {
    /// Makes the effect of a message, unless it is committed already.
    async fn pay(&self, payment: &Message<String>) -> Result<(), Failure> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        if !self.inbox.first_time_of(&transaction, payment.key(), payment).await? {
            return Ok(());
        }
        transaction.execute(EFFECT, &[]).await?;
        match payment.attempt {
            1 => panic!("in the transaction"),
            2 => std::future::pending().await,
            3 => return Err(Failure::from("in the transaction")),
            _ => transaction.commit().await?,
        }
        Err(Failure::from("after the commit"))
    }
}

impl Handler<Message<String>> for Payments {
    type Error = Failure;

    async fn call(&self, payment: Message<String>) -> Result<(), Failure> {
        self.pay(&payment).await
    }
}

type Reports = Arc<Mutex<Vec<(MessageOutcome, String)>>>;

fn consumer(aws: &TestAws, database: &Database) -> (Queue, Consumer<Payments, Message<String>>, Reports) {
    let queue = aws.queue("payments").dead_letter_queue("payments-dead", 10).create();
    let reports = Reports::default();
    let reported = Arc::clone(&reports);
    let consumer = Consumer::new(Payments { pool: database.pool_of_one(), inbox: inbox() })
        .sqs(aws.sqs())
        .dead_letter_queue_url(queue.dead_letter_queue().url())
        .max_receive_count(10)
        .on_panic(OnFailure::Retry)
        .time_limit(Duration::from_secs(5))
        .observe(move |report: &MessageReport| {
            reported.lock().unwrap().push((report.outcome, report.error.clone()));
        });
    (queue, consumer, reports)
}

#[tokio::test]
async fn a_message_whose_handler_panics_hangs_and_fails_has_its_effect_once() {
    let Some(database) = Database::new().await else { return };
    let aws = TestAws::new();
    let (queue, consumer, reports) = consumer(&aws, &database);
    let payment = queue.send("\"tea\"");
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    let reports = std::mem::take(&mut *reports.lock().unwrap());
    let ends: Vec<_> = reports.iter().map(|(outcome, error)| (*outcome, error.as_str())).collect();
    let (retried, done) = (MessageOutcome::Retried, MessageOutcome::Succeeded);
    let [panicked, timed_out, failed, after_commit, repeated] = ends[..] else { panic!("{ends:?}") };
    assert!(panicked.0 == retried && panicked.1.contains("in the transaction"), "{panicked:?}");
    assert_eq!(timed_out.0, retried);
    assert_eq!(failed, (retried, "in the transaction"));
    assert_eq!(after_commit, (retried, "after the commit"));
    assert_eq!(repeated, (done, ""));
    assert_eq!(payment.done().attempts, 5);
    assert_eq!(database.effects().await, 1);
}

#[tokio::test]
async fn a_message_whose_key_is_busy_is_deferred_for_half_a_minute() {
    let Some(database) = Database::new().await else { return };
    let aws = TestAws::new();
    let (queue, consumer, reports) = consumer(&aws, &database);
    let payment = queue.send("\"tea\"");
    let mut elsewhere = database.connect().await;
    let transaction = elsewhere.transaction().await.unwrap();
    assert!(inbox().first_time(&transaction, payment.id()).await.unwrap());
    transaction.execute(EFFECT, &[]).await.unwrap();

    let mut mapping = queue.invokes(|event, deadline| consumer.handle(event, deadline));
    mapping.once().await;
    transaction.commit().await.unwrap();
    mapping.until_idle().await;

    let reports = std::mem::take(&mut *reports.lock().unwrap());
    let outcomes = reports.iter().map(|(outcome, _)| *outcome).collect::<Vec<_>>();
    assert_eq!(outcomes, [MessageOutcome::Deferred, MessageOutcome::Succeeded]);
    let [first, second] = payment.received()[..] else { panic!("{:?}", payment.received()) };
    assert!(second - first >= Duration::from_secs(30), "{first:?}, {second:?}");
    assert_eq!(database.effects().await, 1);
}
