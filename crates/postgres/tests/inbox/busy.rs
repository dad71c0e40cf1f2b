use std::time::{Duration, Instant};

use redrive::{Failure, Record};
use redrive_postgres::InboxError;
use tokio::time::timeout;

use crate::once::inbox;
use crate::server::Database;

#[tokio::test]
async fn a_key_of_an_open_transaction_is_busy_and_nobody_waits_for_it() {
    let Some(database) = Database::new().await else { return };
    let (mut one, mut other) = (database.connect().await, database.connect().await);
    // A worker that waited would wait for this task, and fail by `statement_timeout`.
    for ends_in_commit in [false, true] {
        let holder = one.transaction().await.unwrap();
        assert!(inbox().first_time(&holder, "k").await.unwrap());
        let transaction = other.transaction().await.unwrap();
        let busy = inbox().first_time(&transaction, "k").await.unwrap_err();
        assert!(matches!(busy, InboxError::Busy(_)), "{busy:?}");
        assert!(Failure::from(busy).is_deferral());
        assert!(inbox().first_time(&transaction, "another").await.unwrap(), "the transaction goes on");
        drop(transaction);

        if ends_in_commit {
            holder.commit().await.unwrap();
        } else {
            holder.rollback().await.unwrap();
        }
        let transaction = other.transaction().await.unwrap();
        assert_eq!(inbox().first_time(&transaction, "k").await.unwrap(), !ends_in_commit);
        transaction.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn the_last_delivery_waits_for_the_other_transaction() {
    let Some(database) = Database::new().await else { return };
    let (mut one, mut other) = (database.connect().await, database.connect().await);
    let message = |attempt, seconds| {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        Record::builder().attempt(attempt).max_attempts(3).deadline(deadline).message(7_u64)
    };
    for ends_in_commit in [false, true] {
        let holder = one.transaction().await.unwrap();
        assert!(inbox().first_time(&holder, "k").await.unwrap());
        let transaction = other.transaction().await.unwrap();
        for (attempt, seconds) in [(2, 60), (3, 2)] {
            let busy = inbox().first_time_of(&transaction, "k", &message(attempt, seconds)).await;
            assert!(matches!(busy, Err(InboxError::Busy(_))), "{busy:?}");
        }
        let (inbox, last) = (inbox(), message(3, 60));
        let mut answer = Box::pin(inbox.first_time_of(&transaction, "k", &last));
        assert!(timeout(Duration::from_millis(300), &mut answer).await.is_err(), "it waits");
        if ends_in_commit {
            holder.commit().await.unwrap();
        } else {
            holder.rollback().await.unwrap();
        }
        assert_eq!(answer.as_mut().await.unwrap(), !ends_in_commit);
        drop(answer);
        transaction.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn a_key_that_is_done_is_not_busy() {
    let Some(database) = Database::new().await else { return };
    let (mut one, mut other) = (database.connect().await, database.connect().await);
    let transaction = one.transaction().await.unwrap();
    assert!(inbox().first_time(&transaction, "k").await.unwrap());
    transaction.commit().await.unwrap();

    let transactions = [one.transaction().await.unwrap(), other.transaction().await.unwrap()];
    for transaction in &transactions {
        assert!(!inbox().first_time(transaction, "k").await.unwrap());
    }
}
