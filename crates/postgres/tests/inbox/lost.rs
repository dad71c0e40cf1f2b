use std::path::Path;

use redrive_postgres::InboxError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio_postgres::Client;

use crate::once::{EFFECT, inbox};
use crate::server::{Database, connect};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Commit,
    Answer,
}

/// A connection to the server that breaks at the commit.
async fn break_at_commit(listener: TcpListener, server: &Path, lost: Lost) -> std::io::Result<()> {
    let (mut client, _) = listener.accept().await?;
    let mut server = UnixStream::connect(server).await?;
    let (mut asked, mut answered) = ([0; 8192], [0; 8192]);
    loop {
        tokio::select! {
            length = client.read(&mut asked) => {
                let asked = &asked[..length?];
                let is_commit = asked.windows(6).any(|word| word == b"COMMIT");
                if asked.is_empty() || is_commit && lost == Lost::Commit {
                    return Ok(());
                }
                server.write_all(asked).await?;
                if is_commit {
                    server.read_exact(&mut answered[..1]).await?;
                    return Ok(());
                }
            }
            length = server.read(&mut answered) => match length? {
                0 => return Ok(()),
                length => client.write_all(&answered[..length]).await?,
            }
        }
    }
}

/// Handles the next delivery, and returns true if the message was new. The server may not know yet that the first connection is gone.
async fn deliver_again(mut client: Client) -> bool {
    loop {
        let transaction = client.transaction().await.unwrap();
        match inbox().first_time(&transaction, "k").await {
            Ok(true) => {
                transaction.execute(EFFECT, &[]).await.unwrap();
                transaction.commit().await.unwrap();
                return true;
            }
            Ok(false) => return false,
            Err(InboxError::Busy(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn a_connection_lost_at_the_commit_loses_no_effect_and_repeats_none() {
    for lost in [Lost::Commit, Lost::Answer] {
        let Some(database) = Database::new().await else { return };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(listener.local_addr().unwrap().port());
        config.user("postgres").dbname(database.config().get_dbname().unwrap());
        let socket = database.socket.clone();
        let proxy = tokio::spawn(async move { break_at_commit(listener, &socket, lost).await });

        let mut client = connect(&config).await;
        let transaction = client.transaction().await.unwrap();
        assert!(inbox().first_time(&transaction, "k").await.unwrap());
        transaction.execute(EFFECT, &[]).await.unwrap();
        transaction.commit().await.expect_err("the handler cannot know");
        proxy.await.unwrap().unwrap();

        let is_new = deliver_again(database.connect().await).await;
        assert_eq!(is_new, lost == Lost::Commit, "{lost:?}");
        assert_eq!(database.effects().await, 1, "{lost:?}");
    }
}

#[tokio::test]
async fn a_commit_after_a_failed_statement_succeeds_and_records_nothing() {
    let Some(database) = Database::new().await else { return };
    let mut client = database.connect().await;
    let transaction = client.transaction().await.unwrap();
    assert!(inbox().first_time(&transaction, "k").await.unwrap());
    transaction.execute("SELECT 1 / 0", &[]).await.expect_err("which the handler ignores");
    transaction.commit().await.expect("as the book says");
    let transaction = client.transaction().await.unwrap();
    assert!(inbox().first_time(&transaction, "k").await.unwrap());
}
