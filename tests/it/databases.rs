//! Handlers that wait for a real database on another thread, as with sqlx and SQLite, while the kit skips the time between attempts.

/// A handler with a pool of connections, as docs/testing.md links to it.
mod pool;

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use deadpool_sqlite::rusqlite::Connection;
use redrive::{Consumer, Failure, Handler, Message};
use redrive_local::kit::TestAws;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// A connection with its own thread. Each query waits for it for 30 s at most, as a pool does.
#[derive(Clone)]
struct Sqlite(Arc<Sender<(String, oneshot::Sender<i64>)>>);

impl Sqlite {
    fn open(folder: &std::path::Path) -> Self {
        let (queries, received) = channel::<(String, oneshot::Sender<i64>)>();
        let file = folder.join("orders.db");
        std::thread::spawn(move || {
            let database = Connection::open(file).unwrap();
            database.execute_batch("CREATE TABLE attempts (message TEXT)").unwrap();
            for (sql, answer) in received {
                let _ = answer.send(database.query_row(&sql, [], |row| row.get(0)).unwrap());
            }
        });
        Self(Arc::new(queries))
    }

    async fn query(&self, sql: String) -> Result<i64, Failure> {
        let (answer, answered) = oneshot::channel();
        self.0.send((sql, answer)).map_err(|_| "the database is closed")?;
        Ok(timeout(Duration::from_secs(30), answered).await??)
    }
}

impl Handler<Message<String>> for Sqlite {
    type Error = Failure;

    async fn call(&self, order: Message<String>) -> Result<(), Failure> {
        self.query(format!("INSERT INTO attempts VALUES ('{}') RETURNING 1", order.body)).await?;
        if order.attempt < 3 { Err("again".into()) } else { Ok(()) }
    }
}

/// Runs both kinds of consumer, and returns the attempts that the database saw.
async fn attempts(polls: bool) -> i64 {
    let folder = std::env::temp_dir().join(format!("redrive-databases-{}-{polls}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let database = Sqlite::open(&folder);
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 5).create();
    let consumer = Consumer::new(database.clone()).sqs(aws.sqs());
    let orders: Vec<_> = (0..20).map(|number| queue.send(json!(number.to_string()))).collect();
    if polls {
        queue.worked_by(|url, stop| consumer.work_until(url, stop)).until_idle().await;
    } else {
        queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    }
    orders.iter().for_each(|order| assert_eq!(order.done().attempts, 3));
    let stored = database.query("SELECT count(*) FROM attempts".to_owned()).await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    stored
}

#[tokio::test]
async fn a_function_with_a_database_never_meets_a_time_limit() {
    assert_eq!(attempts(false).await, 60);
}

#[tokio::test]
async fn a_worker_with_a_database_never_meets_a_time_limit() {
    assert_eq!(attempts(true).await, 60);
}
