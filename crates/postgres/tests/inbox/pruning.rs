use std::time::Duration;

use tokio_postgres::Client;

use crate::once::inbox;
use crate::server::Database;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Creates this number of records with this age, and counts the rows that each statement deletes.
async fn records(client: &Client, consumer: &str, count: u32, age: &str) {
    let insert = format!(
        "INSERT INTO redrive_inbox SELECT '{consumer}', gen_random_uuid(), now() - interval '{age}'
         FROM generate_series(1, {count})"
    );
    client.batch_execute(&insert).await.unwrap();
}

#[tokio::test]
async fn old_records_of_the_consumer_are_deleted_a_thousand_at_a_time() {
    let Some(database) = Database::new().await else { return };
    let client = database.connect().await;
    let count_steps = "
        CREATE TABLE steps (deleted bigint);
        CREATE FUNCTION step() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO steps SELECT count(*) FROM gone; RETURN NULL; END';
        CREATE TRIGGER step AFTER DELETE ON redrive_inbox REFERENCING OLD TABLE AS gone
            FOR EACH STATEMENT EXECUTE FUNCTION step()";
    client.batch_execute(count_steps).await.unwrap();
    records(&client, "payments", 2500, "31 days").await;
    records(&client, "payments", 20, "29 days").await;
    records(&client, "mails", 30, "31 days").await;

    assert_eq!(inbox().prune(&client, 30 * DAY).await.unwrap(), 2500);
    let steps = client.query_one("SELECT array_agg(deleted) FROM steps", &[]).await.unwrap();
    assert_eq!(steps.get::<_, Vec<i64>>(0), [1000, 1000, 500]);
    assert_eq!(database.count("SELECT count(*) FROM redrive_inbox").await, 50);
    assert_eq!(inbox().prune(&client, 30 * DAY).await.unwrap(), 0);
    assert_eq!(inbox().prune(&client, Duration::ZERO).await.unwrap(), 20);
    inbox().prune(&client, Duration::MAX).await.expect_err("no time is that long ago");
}

#[tokio::test]
async fn old_records_are_found_by_the_index() {
    let Some(database) = Database::new().await else { return };
    let client = database.connect().await;
    records(&client, "payments", 20_000, "1 day").await;
    client.batch_execute("ANALYZE redrive_inbox").await.unwrap();
    let prune = include_str!("../../src/prune.sql").replace("$1", "'payments'").replace("$2", "2592000");
    let plan = client.query(&format!("EXPLAIN {prune}"), &[]).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|line| line.get(0)).collect();
    let plan = plan.join("\n");
    assert!(plan.contains("Index Scan using redrive_inbox_by_age") && plan.contains("Tid Scan"), "{plan}");
    assert!(!plan.contains("Sort") && !plan.contains("Seq Scan"), "{plan}");
}
