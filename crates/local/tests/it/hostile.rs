use flate2::{Compress, Compression, FlushCompress};
use redrive_local::{Config, Local, Speed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::http::call;
use crate::support::shop;

const CBOR: &str = "/service/GraniteServiceVersion20100801/operation/PutMetricData";
const FORM: &str = "content-type: application/x-www-form-urlencoded";

async fn start() -> Local {
    let mut local =
        Local::start(Config { functions: vec![], mappings: vec![], ..shop(Speed::Max) }).await.unwrap();
    drop(local.take_events());
    local
}

async fn connect(local: &Local) -> TcpStream {
    TcpStream::connect(local.endpoint_url().replace("http://", "")).await.unwrap()
}

/// Sends as much of a request as the server accepts, and returns the response.
pub(crate) async fn send(local: &Local, method: &str, path: &str, headers: &str, body: &[u8]) -> String {
    let (mut response, mut stream) = connect(local).await.into_split();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}\r\ncontent-length: {}\r\n\r\n",
        local.endpoint_url().replace("http://", ""),
        body.len(),
    );
    let request = [head.as_bytes(), body].concat();
    let writing = async move {
        let _ = stream.write_all(&request).await;
        stream
    };
    let reading = async move {
        let mut answer = Vec::new();
        // A reset after the answer counts as the end of the connection.
        let _ = response.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    let (_stream, answer) = tokio::join!(writing, reading);
    answer
}

async fn assert_well(local: &Local) {
    let response = call(local, "/", "AmazonSQS.ListQueues", "{}").await;
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("orders-dead"), "{response}");
}

/// Compresses this many megabytes of zeros to less than a thousandth of their size.
fn zeros(megabytes: usize) -> Vec<u8> {
    let plain = vec![0; 1 << 20];
    let mut first = Vec::with_capacity(1 << 20);
    let mut compress = Compress::new(Compression::best(), false);
    // After a full flush nothing refers to earlier data, so a piece can be repeated.
    compress.compress_vec(&plain, &mut first, FlushCompress::Full).unwrap();
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    [&header[..], &first.repeat(megabytes)].concat()
}

#[tokio::test]
async fn a_body_of_100_mb_is_refused() {
    let local = start().await;
    let body = vec![b'a'; 100 << 20];
    for (path, headers) in
        [("/", "x-amz-target: AmazonSQS.SendMessage"), (CBOR, "content-type: application/cbor"), ("/", FORM)]
    {
        let response = send(&local, "POST", path, headers, &body).await;
        assert!(response.starts_with("HTTP/1.1 413") || response.is_empty(), "{headers}: {response}");
    }
    assert_well(&local).await;
    local.stop().await;
}

#[tokio::test]
async fn a_bomb_of_900_mb_is_refused() {
    let bomb = zeros(900);
    assert!(bomb.len() < 1 << 20, "{} bytes", bomb.len());
    let local = start().await;
    for (path, headers) in [
        ("/", "x-amz-target: GraniteServiceVersion20100801.PutMetricData"),
        (CBOR, "content-type: application/cbor"),
        ("/", FORM),
    ] {
        let headers = format!("content-encoding: gzip\r\n{headers}");
        let response = send(&local, "POST", path, &headers, &bomb).await;
        assert!(response.starts_with("HTTP/1.1 413"), "{headers}: {response}");
    }
    assert_well(&local).await;
    local.stop().await;
}

#[tokio::test]
async fn endless_nesting_is_refused() {
    let local = start().await;
    for depth in [1_000, 100_000, 900_000] {
        for nested in ["[".repeat(depth), r#"{"a":"#.repeat(depth / 5)] {
            let body = format!(r#"{{"QueueUrl":"orders","MessageBody":{nested}"#);
            for target in [
                "AmazonSQS.SendMessage",
                "GraniteServiceVersion20100801.PutMetricData",
                "Logs_20140328.FilterLogEvents",
            ] {
                let response = call(&local, "/", target, &body).await;
                assert!(response.starts_with("HTTP/1.1 400"), "{target}: {response}");
            }
        }
        // Arrays, maps, tags, and arrays of open length.
        for nested in [&b"\x81"[..], b"\xa1\x61a", b"\xc1", b"\x9f"] {
            let body = nested.repeat(depth / nested.len());
            let response = send(&local, "POST", CBOR, "content-type: application/cbor", &body).await;
            assert!(response.starts_with("HTTP/1.1 400"), "{nested:?}: {response}");
        }
        let form = format!("Action=PutMetricData&Version=2010-08-01&{}=1", "a.".repeat(depth / 2));
        let response = send(&local, "POST", "/", FORM, form.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    }
    assert_well(&local).await;
    local.stop().await;
}

#[tokio::test]
async fn ten_thousand_connections_leave_it_well() {
    let local = start().await;
    for _ in 0..50 {
        // As many connections as a process can have files by default. Both ends are in this process.
        let mut connections = Vec::new();
        for _ in 0..200 {
            let mut connection = connect(&local).await;
            connection.set_zero_linger().unwrap();
            connection.write_all(b"POST / HTTP/1.1\r\n").await.unwrap();
            connections.push(connection);
        }
        assert_well(&local).await;
    }
    local.stop().await;
}
