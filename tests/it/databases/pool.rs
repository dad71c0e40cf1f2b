use deadpool_sqlite::rusqlite::Connection;
use deadpool_sqlite::{Config, Pool, Runtime};
use redrive::{Consumer, Failure, Handler, Message};
use redrive_local::configure;
use redrive_local::kit::TestAws;
use serde_json::json;

struct Orders {
    pool: Pool,
}

impl Orders {
    async fn query(&self, sql: &'static str) -> Result<i64, Failure> {
        let query = move |database: &mut Connection| database.query_row(sql, [], |row| row.get(0));
        let answer = self.pool.get().await?.interact(query).await;
        Ok(answer.map_err(|error| error.to_string())??)
    }
}

impl Handler<Message<String>> for Orders {
    type Error = Failure;

    async fn call(&self, order: Message<String>) -> Result<(), Failure> {
        self.query("INSERT INTO attempts VALUES (1) RETURNING 1").await?;
        if order.attempt < 5 { Err("the bank is down".into()) } else { Ok(()) }
    }
}

#[tokio::test]
async fn each_attempt_is_stored_in_the_database() {
    let pool = Config::new("file:/attempts?vfs=memdb").create_pool(Runtime::Tokio1).unwrap();
    let create = |database: &mut Connection| database.execute_batch("CREATE TABLE attempts (one INTEGER)");
    pool.get().await.unwrap().interact(create).await.unwrap().unwrap();

    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let consumer = configure!(Consumer::new(Orders { pool: pool.clone() }), queue);
    let order = queue.send(json!("tea"));
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    assert_eq!(order.done().attempts, 5);
    assert!(order.done().after.as_secs() >= 30);
    assert_eq!(Orders { pool }.query("SELECT count(*) FROM attempts").await.unwrap(), 5);
}
