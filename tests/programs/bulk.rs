//! A bulk handler that follows the instructions in its messages, for tests/it/bulk/threads.rs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the environment")]

use std::time::Duration;

use redrive::{Bodies, Body, BoxError, Bulk, Chunks, Consumer, Failure, FromMessage, Record, Text};

/// A body whose decoder may panic.
struct Word(String);

impl FromMessage for Word {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let Text(body) = Text::from_message(record)?;
        assert_ne!(body, "decoder panics");
        Ok(Self(body))
    }
}

/// Panics for some messages, as a client of a store may.
struct Store;

impl Bodies for Store {
    async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
        assert_ne!(record.body(), "store panics");
        Ok(None)
    }
}

async fn obey(bulk: Bulk<Word>) -> Result<(), Failure> {
    let mut words = Vec::new();
    for item in bulk {
        words.push(item.0.clone());
        match item.0.as_str() {
            "done" | "done, then fail" => item.done(),
            "fail" => item.fail("down"),
            "reject" => item.fail(Failure::reject("refused")),
            _ => {}
        }
    }
    for word in &words {
        match word.as_str() {
            "timer" => tokio::time::sleep(Duration::from_millis(20)).await,
            "block" => loop {
                std::thread::park();
            },
            "panic" => panic!("boom"),
            "done, then fail" => return Err("not committed".into()),
            "hang" => std::future::pending().await,
            _ => {}
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    match std::env::var("CHUNK_SIZE") {
        Ok(size) => Consumer::new(obey).chunks(Chunks::of(size.parse().unwrap())).run().await,
        Err(_) => Consumer::new(obey).bodies(Store).run().await,
    }
}
