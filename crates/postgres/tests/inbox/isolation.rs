use redrive::Failure;
use tokio_postgres::IsolationLevel;
use tokio_postgres::error::SqlState;

use crate::once::inbox;
use crate::server::Database;

#[tokio::test]
async fn a_record_that_a_snapshot_does_not_show_is_an_error_that_is_retried() {
    let Some(database) = Database::new().await else { return };
    let (mut one, mut other) = (database.connect().await, database.connect().await);
    for level in [IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        let key = format!("{level:?}");
        let late = other.build_transaction().isolation_level(level).start().await.unwrap();
        late.query_one("SELECT 1", &[]).await.expect("it has its snapshot");
        let transaction = one.transaction().await.unwrap();
        assert!(inbox().first_time(&transaction, &key).await.unwrap());
        transaction.commit().await.unwrap();

        let failure = Failure::from(inbox().first_time(&late, &key).await.unwrap_err());
        assert!(failure.is_retry());
        let error = failure.find::<tokio_postgres::Error>().unwrap();
        assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
        drop(late);

        let again = other.build_transaction().isolation_level(level).start().await.unwrap();
        assert!(!inbox().first_time(&again, &key).await.unwrap());
    }
}

#[tokio::test]
async fn under_read_committed_a_record_counts_during_the_transaction() {
    let Some(database) = Database::new().await else { return };
    let (mut one, mut other) = (database.connect().await, database.connect().await);
    let late = other.transaction().await.unwrap();
    late.query_one("SELECT 1", &[]).await.unwrap();
    let transaction = one.transaction().await.unwrap();
    assert!(inbox().first_time(&transaction, "k").await.unwrap());
    transaction.commit().await.unwrap();
    assert!(!inbox().first_time(&late, "k").await.unwrap());
}
