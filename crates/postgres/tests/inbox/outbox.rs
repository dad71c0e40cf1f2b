//! Messages in the transactions of their effects, and relays that send them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::future::join_all;
use redrive::{Consumer, Failure, Message};
use redrive_local::kit::{Fault, TestAws};
use redrive_postgres::{Outbox, OutboxError, Relay};
use redrive_send::NewMessage;
use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::example::function::example;
use crate::server::Database;

async fn database() -> Option<Database> {
    let database = Database::empty().await?;
    Outbox::migrate(&database.connect().await).await.unwrap();
    Some(database)
}

async fn write(client: &mut Client, url: &str, messages: impl IntoIterator<Item = NewMessage>) {
    let transaction = client.transaction().await.unwrap();
    for message in messages {
        Outbox::write(&transaction, url, message).await.unwrap();
    }
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn only_committed_messages_are_sent_and_each_once() {
    let Some(database) = database().await else { return };
    let (aws, mut client) = (TestAws::new(), database.connect().await);
    let queue = aws.queue("orders").create();
    write(&mut client, &queue.url(), (0..150).map(|number| NewMessage::text(number.to_string()))).await;
    let transaction = client.transaction().await.unwrap();
    Outbox::write(&transaction, &queue.url(), &"rolled back").await.unwrap();
    transaction.rollback().await.unwrap();

    let relay = Relay::new(aws.sqs());
    let rounds =
        [relay.round(&mut client).await, relay.round(&mut client).await, relay.round(&mut client).await];
    assert_eq!(rounds.map(Result::unwrap), [100, 50, 0]);
    assert_eq!(queue.messages().len(), 150);
    assert_eq!(database.count("SELECT count(*) FROM redrive_outbox").await, 0);
}

#[tokio::test]
async fn a_message_that_sqs_would_refuse_is_refused_in_the_transaction() {
    let Some(database) = database().await else { return };
    let mut client = database.connect().await;
    let transaction = client.transaction().await.unwrap();
    let url = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo";
    let error = Outbox::write(&transaction, url, NewMessage::text("no group")).await.unwrap_err();
    assert!(matches!(error, OutboxError::Message(_)));
    let expected = "the message was not sent: group_id is missing: a FIFO queue requires one";
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), expected);
    // The transaction is still usable.
    Outbox::write(&transaction, url, NewMessage::text("grouped").group("g")).await.unwrap();
    transaction.commit().await.unwrap();
}

/// The relay died before its commit, so the next one sends the message again.
#[tokio::test]
async fn both_copies_of_a_message_have_one_key() {
    let Some(database) = database().await else { return };
    let (aws, mut client) = (TestAws::new(), database.connect().await);
    for (name, copies) in [("orders", 2), ("orders.fifo", 1)] {
        let queue = aws.queue(name).create();
        write(&mut client, &queue.url(), [NewMessage::json("A-1").unwrap().group("g")]).await;
        client.batch_execute("CREATE TABLE copy AS SELECT * FROM redrive_outbox").await.unwrap();
        let relay = Relay::new(aws.sqs());
        assert_eq!(relay.round(&mut client).await.unwrap(), 1);
        let again = "INSERT INTO redrive_outbox OVERRIDING SYSTEM VALUE SELECT * FROM copy; DROP TABLE copy";
        client.batch_execute(again).await.unwrap();
        assert_eq!(relay.round(&mut client).await.unwrap(), 1);
        let keys: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&keys);
        let consumer = Consumer::new(move |order: Message<String>| {
            noted.lock().unwrap().push(order.key().to_owned());
            async { Ok::<_, Failure>(()) }
        });
        let consumer = consumer.sqs(aws.sqs());
        queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
        let keys = keys.lock().unwrap().clone();
        assert_eq!(keys.len(), copies);
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 1, "{keys:?}");
    }
}

/// Makes messages due that failed, unless a relay has them.
const AT_ONCE: &str = "UPDATE redrive_outbox SET due_at = now() WHERE id IN (
    SELECT id FROM redrive_outbox WHERE random() < 0.5 ORDER BY id FOR UPDATE SKIP LOCKED)";

#[tokio::test]
async fn relays_keep_the_order_of_groups_also_over_failures() {
    let Some(database) = database().await else { return };
    let (aws, mut client) = (TestAws::new(), database.connect().await);
    let queue = aws.queue("orders.fifo").create();
    let groups = ["a", "b", "c"];
    let messages =
        (100..250).map(|number: usize| NewMessage::text(number.to_string()).group(groups[number % 3]));
    write(&mut client, &queue.url(), messages).await;
    // The queue's owner has taken away a right, and gives it back.
    aws.faults(|_, number| (3..5).contains(&number).then_some(Fault::Denied));
    let relay = |_| {
        let (aws, database) = (aws.clone(), database.clone());
        async move {
            let mut client = database.connect().await;
            while database.count("SELECT count(*) FROM redrive_outbox").await > 0 {
                Relay::new(aws.sqs()).round(&mut client).await.unwrap();
                client.batch_execute(AT_ONCE).await.unwrap();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), join_all((0..3).map(relay))).await.unwrap();
    let seen: Mutex<BTreeMap<String, Vec<String>>> = Mutex::default();
    let function = async |event: Value, _| {
        for record in event["Records"].as_array().unwrap() {
            let group = record["attributes"]["MessageGroupId"].as_str().unwrap().to_owned();
            seen.lock().unwrap().entry(group).or_default().push(record["body"].as_str().unwrap().to_owned());
        }
        Ok::<_, String>(json!({ "batchItemFailures": [] }))
    };
    queue.invokes(function).until_idle().await;
    let seen = seen.into_inner().unwrap();
    assert!(
        seen.len() == 3 && seen.values().all(|bodies| bodies.len() == 50 && bodies.is_sorted()),
        "{seen:?}"
    );
}

/// More than a relay takes at a time, with a queue that does not exist, one that does not answer, and a row that nobody can read.
#[tokio::test]
async fn messages_that_cannot_be_sent_delay_no_others() {
    let Some(database) = database().await else { return };
    let (aws, mut client) = (TestAws::new(), database.connect().await);
    let [good, fifo] = ["orders", "orders.fifo"].map(|name| aws.queue(name).create());
    let numbered = |count: usize| (0..count).map(|number| NewMessage::text(number.to_string()));
    let missing = "https://sqs.eu-central-1.amazonaws.com/123456789012/missing";
    write(&mut client, missing, numbered(250)).await;
    write(&mut client, &format!("{missing}.fifo"), numbered(50).map(|message| message.group("a"))).await;
    write(&mut client, &fifo.url(), numbered(50).map(|message| message.group("long"))).await;
    for group in 0..30 {
        write(&mut client, &fifo.url(), [NewMessage::text("of many").group(format!("group-{group}"))]).await;
    }
    write(
        &mut client,
        &fifo.url(),
        ["1", "unreadable", "3"].map(|body| NewMessage::text(body).group("torn")),
    )
    .await;
    client
        .batch_execute("UPDATE redrive_outbox SET message = '{' WHERE message LIKE '%unreadable%'")
        .await
        .unwrap();
    write(&mut client, &good.url(), numbered(1)).await;
    let waits = "SELECT count(*) FROM redrive_outbox WHERE queue_url NOT LIKE '%missing%'";
    let relay = Relay::new(aws.sqs()).every(Duration::from_millis(10));
    let sent = async {
        while database.count(waits).await > 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), relay.run_until(&mut client, sent)).await.unwrap().unwrap();
    assert_eq!((good.messages().len(), fifo.messages().len()), (1, 50 + 30 + 1));
    let told =
        "SELECT count(*) FROM redrive_outbox WHERE failures > 0 AND error IS NOT NULL AND due_at > now()";
    assert!(database.count(told).await > 100, "each of the standard queue");
}

#[tokio::test]
async fn messages_take_turns_by_the_time_at_which_they_are_due() {
    let Some(database) = database().await else { return };
    let (aws, mut client) = (TestAws::new(), database.connect().await);
    let queue = aws.queue("orders").create();
    let missing = "https://sqs.eu-central-1.amazonaws.com/123456789012/missing";
    write(&mut client, missing, (0..150).map(|number| NewMessage::text(number.to_string()))).await;
    write(&mut client, &queue.url(), [NewMessage::text("good")]).await;
    // Those that failed are due again, for less time than the other waits.
    let again =
        "UPDATE redrive_outbox SET due_at = now() - interval '1 second' WHERE queue_url LIKE '%missing';
        UPDATE redrive_outbox SET due_at = now() - interval '9 seconds' WHERE queue_url NOT LIKE '%missing'";
    client.batch_execute(again).await.unwrap();
    assert_eq!(Relay::new(aws.sqs()).round(&mut client).await.unwrap(), 1);
}

#[tokio::test]
async fn a_round_takes_ten_messages_of_a_group_and_postpones_at_most_one() {
    let Some(database) = database().await else { return };
    let (aws, mut client) = (TestAws::new(), database.connect().await);
    let queue = aws.queue("orders.fifo").create();
    let missing = "https://sqs.eu-central-1.amazonaws.com/123456789012/missing.fifo";
    for url in [missing, &queue.url()] {
        let messages = (0..25).map(|number| NewMessage::text(number.to_string()).group("g"));
        write(&mut client, url, messages).await;
    }
    // The second one fails too, for its own reason.
    client.batch_execute("UPDATE redrive_outbox SET message = '{' WHERE id = 2").await.unwrap();
    assert_eq!(Relay::new(aws.sqs()).round(&mut client).await.unwrap(), 10);
    assert_eq!(database.count("SELECT count(*) FROM redrive_outbox WHERE failures > 0").await, 1);
    assert_eq!(database.count("SELECT id FROM redrive_outbox WHERE failures > 0").await, 1);
}

/// Under a stricter default, relays would refuse each other's commits, after they have sent.
#[tokio::test]
async fn relays_send_nothing_twice_whatever_the_default_isolation_is() {
    let Some(database) = database().await else { return };
    let (aws, mut client) = (TestAws::new(), database.connect().await);
    let queue = aws.queue("orders").create();
    write(&mut client, &queue.url(), (0..300).map(|number| NewMessage::text(number.to_string()))).await;
    let relay = |_| {
        let (aws, database) = (aws.clone(), database.clone());
        async move {
            let mut client = database.connect().await;
            client.batch_execute("SET default_transaction_isolation = serializable").await.unwrap();
            while Relay::new(aws.sqs()).round(&mut client).await.unwrap() > 0 {}
        }
    };
    join_all((0..3).map(relay)).await;
    assert_eq!(queue.messages().len(), 300);
}

/// Bodies by the number of times that they were sent.
type Sent = Arc<Mutex<BTreeMap<String, usize>>>;

async fn send_message_batch(State(sent): State<Sent>, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    let Some(entries) = request["Entries"].as_array() else { return StatusCode::BAD_REQUEST.into_response() };
    let mut sent = sent.lock().unwrap();
    let accept = |entry: &Value| {
        *sent.entry(entry["MessageBody"].as_str().unwrap().to_owned()).or_default() += 1;
        json!({ "Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "" })
    };
    let answer =
        json!({ "Successful": entries.iter().map(accept).collect::<Vec<_>>(), "Failed": [] }).to_string();
    ([("content-type", "application/x-amz-json-1.0")], answer).into_response()
}

/// Ends when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// REDRIVE_KILLS=1000 kills more of them.
#[tokio::test]
async fn no_message_is_lost_while_writers_and_relays_are_killed() {
    let Some(database) = database().await else { return };
    let kills: usize = std::env::var("REDRIVE_KILLS").map_or(30, |text| text.parse().unwrap());
    let sent = Sent::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/", post(send_message_batch)).with_state(Arc::clone(&sent));
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let example = example("outbox");
    let start = |part: &str| {
        let mut command = Command::new(&example);
        command.arg(part).env_clear().stdout(Stdio::null());
        command.envs([
            ("DATABASE_URL", database.url()),
            ("QUEUE_URL", format!("{endpoint}/123456789012/orders")),
            ("AWS_ENDPOINT_URL", endpoint.clone()),
            ("AWS_REGION", "eu-west-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ]);
        Process(command.spawn().unwrap())
    };
    let mut parts = [start("write"), start("relay")];
    for kill in 0..kills {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(20..150))).await;
        parts[kill % 2] = start(["write", "relay"][kill % 2]);
    }
    drop(parts);
    let (mut client, _relay) = (database.connect().await, start("relay"));
    let ended = async {
        while database.count("SELECT count(*) FROM redrive_outbox").await > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let rows = transaction.query("SELECT id FROM orders", &[]).await.unwrap();
    let orders: BTreeSet<String> = rows.iter().map(|row| row.get::<_, i64>(0).to_string()).collect();
    let sent = sent.lock().unwrap();
    assert!(!orders.is_empty());
    assert_eq!(
        sent.keys().cloned().collect::<BTreeSet<_>>(),
        orders,
        "all that was committed, and nothing else"
    );
    println!("{} orders, {} twice", orders.len(), sent.values().filter(|&&times| times > 1).count());
    server.abort();
}
