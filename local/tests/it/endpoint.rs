use redrive_local::{Local, Speed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{message, shop};

/// Makes a request and returns the whole response as text.
async fn call(local: &Local, path: &str, target: &str, body: &str) -> String {
    let host = local.endpoint_url().replace("http://", "");
    let mut stream = TcpStream::connect(&host).await.unwrap();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx-amz-target: {target}\r\n\
         content-type: application/x-amz-json-1.0\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

async fn receive(local: &Local, queue: &str, wait: u32) -> String {
    let body = format!("{{\"QueueUrl\":\"{}\",\"WaitTimeSeconds\":{wait}}}", local.queue_url(queue));
    call(local, "/", "AmazonSQS.ReceiveMessage", &body).await
}

#[tokio::test]
async fn a_long_poll_ends_when_a_message_comes() {
    let local = Local::start(shop(Speed::Times(1.0))).await.unwrap();
    let begun = std::time::Instant::now();
    let (response, _) = tokio::join!(receive(&local, "orders-dead", 20), async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        local.send("orders-dead", message("tea")).unwrap()
    });
    assert!(response.contains("\"Body\":\"tea\""), "{response}");
    assert!(begun.elapsed().as_secs() < 10);
    let totals = local.stop().await;
    assert_eq!(totals.aws_calls, [("sqs.ReceiveMessage".to_owned(), 1)].into());
}

#[tokio::test]
async fn an_empty_long_poll_takes_its_simulated_time() {
    for speed in [Speed::Max, Speed::Times(100.0)] {
        let local = Local::start(shop(speed)).await.unwrap();
        let response = receive(&local, "orders-dead", 20).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        let totals = local.stop().await;
        assert!((20..30).contains(&totals.simulated.as_secs()), "{:?}", totals.simulated);
        assert!(totals.wall.as_secs() < 5, "{:?}", totals.wall);
    }
}

#[tokio::test]
async fn another_service_is_refused_by_name() {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    let response = call(&local, "/", "DynamoDB_20120810.PutItem", "{}").await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(response.contains("which DynamoDB_20120810.PutItem is not"), "{response}");
    local.stop().await;
}
