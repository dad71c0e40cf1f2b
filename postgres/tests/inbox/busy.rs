use redrive::Failure;
use redrive_postgres::InboxError;

use crate::once::inbox;
use crate::server::Database;

#[tokio::test]
async fn a_key_of_a_transaction_that_has_not_ended_is_busy_and_nobody_waits_for_it() {
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
