use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use redrive::{Consumer, Failure, Metrics};
use redrive_local::{Config, Speed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::support::loopback;
use crate::support::shop::{Open, shop};

const PATIENCE: Duration = Duration::from_secs(60);

async fn ask(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: worker\r\n\r\n").as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// Waits until the answer has these words.
async fn until_says(address: SocketAddr, path: &str, words: &str) {
    let mut last = None;
    let said = async {
        while !last.as_ref().is_some_and(|answer: &String| answer.contains(words)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
            last = ask(address, path).await;
        }
    };
    let said = timeout(PATIENCE, said).await.is_ok();
    assert!(said, "{path} never said {words}: {last:?}");
}

async fn queue() -> Open {
    Open::start(Config { functions: vec![], mappings: vec![], speed: Speed::Times(1.0), ..shop(10) }).await
}

/// Blocks its thread, as code without `await` does.
async fn block(milliseconds: u64) -> Result<(), Failure> {
    std::thread::sleep(Duration::from_millis(milliseconds));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_answers_its_probes_while_handlers_block_threads() {
    let aws = queue().await;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = port.local_addr().unwrap();
    let worker = Consumer::new(block)
        .sqs(loopback::sqs(&aws.local.endpoint_url()))
        .metrics(Metrics::Off)
        .workers(tokio::runtime::Handle::current())
        .drain(Duration::from_secs(4))
        .health(address);
    let url = aws.local.queue_url("orders");

    let taken = worker.work_until(&url, std::future::pending()).await.unwrap_err();
    let expected = format!("REDRIVE_HEALTH is {address}, which cannot be listened on: ");
    assert!(taken.to_string().starts_with(&expected), "{taken}");
    drop(port);

    let (stop, stopped) = oneshot::channel::<()>();
    let working = tokio::spawn({
        let url = url.clone();
        async move { worker.work_until(url, async { drop(stopped.await) }).await }
    });
    until_says(address, "/readyz", "HTTP/1.1 200 ").await;
    aws.send(["1", "2500", "2500"]);
    until_says(address, "/metrics", "redrive_messages_total{queue=\"orders\",outcome=\"succeeded\"} 1\n")
        .await;
    until_says(address, "/metrics", "redrive_in_hand{queue=\"orders\"} 2\n").await;
    let answer = timeout(Duration::from_secs(1), ask(address, "/livez")).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stop.send(()).unwrap();
    until_says(address, "/readyz", "HTTP/1.1 503 ").await;
    let answer = ask(address, "/livez").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "it drains, and lives: {answer}");
    timeout(PATIENCE, working).await.unwrap().unwrap().unwrap();
    assert!(ask(address, "/livez").await.is_none(), "nobody listens any more");
    aws.close().await;
}
