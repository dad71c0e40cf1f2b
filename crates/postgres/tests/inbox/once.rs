use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::join_all;
use redrive_postgres::{Inbox, InboxError};
use tokio_postgres::{Client, Transaction};

use crate::server::Database;

pub(crate) const EFFECT: &str = "INSERT INTO effects VALUES ('k')";

pub(crate) fn inbox() -> Inbox {
    Inbox::new("payments").unwrap()
}

/// Tries until the key is done, and returns true if the effect was this worker's. It makes the effect before it gives up a transaction.
async fn work(mut client: Client, given_up: &AtomicU32) -> bool {
    loop {
        let transaction = client.transaction().await.unwrap();
        match inbox().first_time(&transaction, "k").await {
            Ok(true) => transaction.execute(EFFECT, &[]).await.unwrap(),
            Ok(false) => return false,
            Err(InboxError::Busy(_)) => continue,
            Err(error) => panic!("{error:?}"),
        };
        let is_left = |left: u32| left.checked_sub(1);
        if given_up.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_left).is_err() {
            transaction.commit().await.unwrap();
            return true;
        }
    }
}

#[tokio::test]
async fn fifty_workers_on_one_key_make_its_effect_once() {
    let Some(database) = Database::new().await else { return };
    let clients = join_all((0..50).map(|_| database.connect())).await;
    let given_up = AtomicU32::new(100);
    let workers = join_all(clients.into_iter().map(|client| work(client, &given_up))).await;
    assert_eq!(workers.into_iter().filter(|made_it| *made_it).count(), 1);
    assert_eq!(database.effects().await, 1);
    assert_eq!(given_up.into_inner(), 0);
}

#[tokio::test]
async fn a_key_is_done_once_for_each_consumer_that_shares_the_table() {
    let Some(database) = Database::new().await else { return };
    let mut client = database.connect().await;
    let first = async |transaction: &Transaction<'_>, consumer: &str, key: &str| {
        Inbox::new(consumer).unwrap().first_time(transaction, key).await.unwrap()
    };
    let transaction = client.transaction().await.unwrap();
    assert!(first(&transaction, "payments", "k").await);
    assert!(!first(&transaction, "payments", "k").await, "also before the commit");
    assert!(first(&transaction, "payments", "K").await);

    // The same key of another consumer is not busy either.
    let mut other = database.connect().await;
    let mails = other.transaction().await.unwrap();
    assert!(first(&mails, "mails", "k").await);
    mails.commit().await.unwrap();
    transaction.commit().await.unwrap();

    let transaction = client.transaction().await.unwrap();
    for (consumer, key) in [("payments", "k"), ("payments", "K"), ("mails", "k")] {
        assert!(!first(&transaction, consumer, key).await, "{consumer} {key}");
    }
    assert!(first(&transaction, "mails", "K").await);
}

#[tokio::test]
async fn the_longest_name_and_key_are_recorded() {
    let Some(database) = Database::new().await else { return };
    // Postgres cannot compress these texts.
    let text = |count: u32| {
        let letter = |at: u32| char::from_u32(0x4e00 + at.wrapping_mul(2_654_435_761) % 20_000).unwrap();
        (0..count).map(letter).collect::<String>()
    };
    let inbox = Inbox::new(text(85)).unwrap();
    let key = text(341) + "k";
    assert_eq!(key.len(), 1024);
    let mut client = database.connect().await;
    for is_first in [true, false] {
        let transaction = client.transaction().await.unwrap();
        assert_eq!(inbox.first_time(&transaction, &key).await.unwrap(), is_first);
        transaction.commit().await.unwrap();
    }
    let transaction = client.transaction().await.unwrap();
    for key in ["", "a\0b", &"k".repeat(1025)] {
        assert!(matches!(inbox.first_time(&transaction, key).await, Err(InboxError::Key(_))));
    }
    transaction.query_one("SELECT 1", &[]).await.expect("the transaction goes on");
}
