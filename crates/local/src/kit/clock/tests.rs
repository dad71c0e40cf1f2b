use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use crate::kit::TestAws;

const HOUR: Duration = Duration::from_secs(3_600);

/// A database on its own thread, as that of sqlx for SQLite. It answers after 20 ms of real time.
struct Database(Mutex<mpsc::Sender<oneshot::Sender<()>>>);

impl Database {
    fn open() -> Self {
        let (queries, received) = mpsc::channel::<oneshot::Sender<()>>();
        std::thread::spawn(move || {
            for answer in received {
                std::thread::sleep(Duration::from_millis(20));
                let _ = answer.send(());
            }
        });
        Self(Mutex::new(queries))
    }

    /// Waits for an answer as a pool does, for 30 s at most.
    async fn query(&self) -> Result<(), &'static str> {
        let (answer, answered) = oneshot::channel();
        self.0.lock().unwrap().send(answer).unwrap();
        timeout(Duration::from_secs(30), answered)
            .await
            .map_err(|_| "the pool timed out")?
            .map_err(|_| "gone")
    }
}

#[tokio::test]
async fn a_function_waits_for_a_database_and_retries_take_no_time() {
    let (aws, database, began) = (TestAws::new(), Database::open(), std::time::Instant::now());
    let queue = aws.queue("orders").visibility_timeout(HOUR).dead_letter_queue("dead", 3).create();
    let order = queue.send("tea");
    let function = async |_: Value, _: Instant| {
        database.query().await?;
        Err::<Value, _>("refused")
    };
    let invocations = queue.invokes(function).until_idle().await;
    let errors: Vec<_> = invocations.iter().map(|it| format!("{:?}", it.outcome)).collect();
    assert_eq!(errors, [r#"Error("refused")"#; 3]);
    assert!(order.dead_letter().after >= 3 * HOUR && began.elapsed() < HOUR);
    // The clock runs again.
    let now = Instant::now();
    std::thread::sleep(Duration::from_millis(2));
    assert!(now.elapsed() > Duration::ZERO);
}

#[tokio::test]
async fn a_worker_waits_for_a_database_and_its_polls_take_no_time() {
    let (aws, database, began) = (TestAws::new(), Database::open(), std::time::Instant::now());
    let queue = aws.queue("orders").create();
    let order = queue.send("tea");
    let worker = async |url: String, mut stop| {
        let sqs = aws.sqs();
        let mut attempts = 0;
        loop {
            let poll = sqs.receive_message().queue_url(&url).wait_time_seconds(20);
            let received = tokio::select! {
                () = &mut stop => return Ok::<(), String>(()),
                received = poll.send() => received.map_err(|error| error.to_string())?,
            };
            for message in received.messages() {
                database.query().await?;
                attempts += 1;
                let handle = message.receipt_handle.clone();
                if attempts < 3 {
                    let delay = sqs.change_message_visibility().queue_url(&url).set_receipt_handle(handle);
                    delay.visibility_timeout(3_600).send().await.map_err(|error| error.to_string())?;
                } else {
                    let delete = sqs.delete_message().queue_url(&url).set_receipt_handle(handle);
                    delete.send().await.map_err(|error| error.to_string())?;
                }
            }
        }
    };
    queue.worked_by(worker).until_idle().await;
    assert!(order.done().after >= 2 * HOUR && began.elapsed() < HOUR);
}

#[tokio::test]
async fn an_idle_mapping_does_not_hurry_the_function_of_another() {
    let (aws, database) = (TestAws::new(), Database::open());
    let (idle, busy) = (aws.queue("idle").create(), aws.queue("busy").create());
    let order = busy.send("tea");
    let function = async |_: Value, _: Instant| {
        database.query().await?;
        Ok::<_, &str>(json!({}))
    };
    let (mut idle, mut busy) = (idle.invokes(function), busy.invokes(function));
    tokio::join!(idle.run_for(HOUR), busy.until_idle());
    assert_eq!(order.done().attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_the_test_pauses_stays_paused() {
    let queue = TestAws::new().queue("orders").create();
    queue.send("tea");
    let function = async |_: Value, _: Instant| {
        sleep(Duration::from_secs(20)).await;
        Ok::<_, &str>(json!({}))
    };
    let began = Instant::now();
    queue.invokes(function).until_idle().await;
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(began.elapsed(), Duration::from_secs(20));
}
