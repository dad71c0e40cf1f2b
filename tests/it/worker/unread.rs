//! A worker whose standard output is a pipe that nobody reads.

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::open;
use super::proxy::{Fate, Proxy};
use crate::support::function::{PATIENCE, command, environment, example};

#[tokio::test]
async fn a_worker_keeps_its_lease_and_ends_although_nobody_reads_its_log() {
    let aws = open(2).await;
    let proxy = Proxy::before(&aws.local.endpoint_url(), |_, _| Fate::Pass).await;
    let url = aws.local.queue_url("orders");
    let mut variables = environment(&[
        ("AWS_ENDPOINT_URL", &proxy.url),
        ("REDRIVE_QUEUE_URL", &url),
        ("REDRIVE_LOG", "trace"),
        ("REDRIVE_DRAIN", "1"),
    ]);
    variables.retain(|name, _| !name.starts_with("AWS_LAMBDA_"));
    aws.send(["a sleep:600000"]);
    let mut worker = command(&example("worker_ways"), &variables).spawn().unwrap();
    proxy.until_called("ChangeMessageVisibilityBatch", 10).await;
    let process = worker.id().expect("it runs").to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    timeout(PATIENCE, worker.wait()).await.expect("it ends").unwrap();
    let mut written = Vec::new();
    worker.stdout.take().unwrap().read_to_end(&mut written).await.unwrap();
    // A pipe holds 64 KiB, of which some are unused.
    assert!(written.len() > 32_768, "it was not full: {}", String::from_utf8_lossy(&written));
    aws.close().await;
}
