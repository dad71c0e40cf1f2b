use futures_util::future::join_all;
use redrive_postgres::{Inbox, InboxError, SCHEMA};

use crate::once::inbox;
use crate::server::Database;

#[tokio::test]
async fn ten_processes_may_create_the_table_at_once() {
    let Some(database) = Database::empty().await else { return };
    let clients = join_all((0..10).map(|_| database.connect())).await;
    for _ in 0..5 {
        for created in join_all(clients.iter().map(Inbox::migrate)).await {
            created.unwrap();
        }
        assert_eq!(database.count("SELECT count(*) FROM redrive_inbox").await, 0);
        clients[0].batch_execute("DROP TABLE redrive_inbox").await.unwrap();
    }
}

#[tokio::test]
async fn a_table_that_exists_is_left_alone_without_rights_and_locks() {
    let Some(database) = Database::empty().await else { return };
    let owner = database.connect().await;
    owner.batch_execute(SCHEMA).await.unwrap();
    owner.batch_execute(SCHEMA).await.expect("it changes nothing");
    owner
        .batch_execute("CREATE ROLE handler; GRANT SELECT, INSERT ON redrive_inbox TO handler")
        .await
        .unwrap();

    let mut handler = database.connect().await;
    handler.batch_execute("SET ROLE handler").await.unwrap();
    let transaction = handler.transaction().await.unwrap();
    assert!(inbox().first_time(&transaction, "k").await.unwrap());
    Inbox::migrate(&owner).await.expect("it waits for no handler");
    transaction.commit().await.unwrap();
    Inbox::migrate(&handler).await.unwrap();
    assert_eq!(database.count("SELECT count(*) FROM redrive_inbox").await, 1);
}

#[tokio::test]
async fn without_the_table_the_error_says_so() {
    let Some(database) = Database::empty().await else { return };
    let mut client = database.connect().await;
    let transaction = client.transaction().await.unwrap();
    let error = inbox().first_time(&transaction, "k").await.unwrap_err();
    assert!(matches!(error, InboxError::Database(_)));
    let failure = redrive::Failure::from(error).to_string();
    assert!(failure.contains("relation \"redrive_inbox\" does not exist"), "{failure}");
}
