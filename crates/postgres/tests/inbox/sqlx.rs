use std::time::Duration;

use redrive_postgres::InboxError;
use redrive_postgres::sqlx::Inbox;
use sqlx::PgPool;

use crate::server::Database;

#[tokio::test]
async fn transactions_of_sqlx_record_keys_in_the_same_table() {
    let Some(database) = Database::empty().await else { return };
    let pool = PgPool::connect(&database.url()).await.unwrap();
    for migrated in [Inbox::migrate(&pool).await, Inbox::migrate(&pool).await] {
        migrated.unwrap();
    }
    let inbox = Inbox::new("payments").unwrap();
    for commits in [false, true] {
        let mut transaction = pool.begin().await.unwrap();
        assert!(inbox.first_time(&mut transaction, "k").await.unwrap());
        let mut other = pool.begin().await.unwrap();
        let busy = inbox.first_time(&mut other, "k").await.unwrap_err();
        assert!(matches!(busy, InboxError::Busy(_)), "{busy:?}");
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
    }
    let mut transaction = pool.begin().await.unwrap();
    assert!(!inbox.first_time(&mut transaction, "k").await.unwrap());
    let mut client = database.connect().await;
    let transaction = client.transaction().await.unwrap();
    assert!(!crate::once::inbox().first_time(&transaction, "k").await.unwrap());
    transaction.rollback().await.unwrap();

    assert_eq!(inbox.prune(&pool, Duration::from_secs(60)).await.unwrap(), 0);
    assert_eq!(inbox.prune(&pool, Duration::ZERO).await.unwrap(), 1);
    assert!(matches!(Inbox::new("a\0b"), Err(InboxError::Name(_))));
}

#[tokio::test]
async fn errors_of_sqlx_are_found_in_the_failure() {
    let Some(database) = Database::empty().await else { return };
    let pool = PgPool::connect(&database.url()).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    let inbox = Inbox::new("payments").unwrap();
    let failure = redrive::Failure::from(inbox.first_time(&mut transaction, "k").await.unwrap_err());
    assert!(failure.is_retry());
    let error = failure.find::<sqlx::Error>().unwrap().as_database_error().unwrap();
    assert_eq!(error.code().as_deref(), Some("42P01"));
    assert!(matches!(inbox.first_time(&mut transaction, "").await, Err(InboxError::Key(_))));
}
