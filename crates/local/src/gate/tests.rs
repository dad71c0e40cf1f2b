use std::net::{Ipv4Addr, SocketAddr};

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const SHORT: Duration = Duration::from_millis(300);

const LIMITS: Limits = Limits { first: SHORT, next: Duration::from_secs(3), part: SHORT };

/// Serves three routes until the set is dropped: one answers immediately, one slowly, and one reads a body.
async fn gate() -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let slow = get(async || {
        sleep(LIMITS.next + SHORT).await;
        "late"
    });
    let read = post(async |body: Body| match axum::body::to_bytes(body, 99).await {
        Ok(body) => format!("read {}", body.len()),
        Err(_) => "cut off".to_owned(),
    });
    let routes = Router::new().route("/", get("soon")).route("/slow", slow).route("/read", read);
    let mut tasks = JoinSet::new();
    tasks.spawn(serve_within(LIMITS, listener, routes, Callers::default()));
    (address, tasks)
}

async fn say(stream: &mut TcpStream, line: &str, rest: &str) {
    stream.write_all(format!("{line} HTTP/1.1\r\nhost: 127.0.0.1\r\n{rest}").as_bytes()).await.unwrap();
}

/// Reads to the end of an answer.
async fn hear(stream: &mut TcpStream, end: &str) {
    let mut heard = String::new();
    while !heard.ends_with(end) {
        let mut bytes = [0; 1024];
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "{heard:?} is closed before {end:?}");
        heard.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
}

/// Returns the time until the server closes a connection without an answer.
async fn closed_after(mut stream: TcpStream) -> Duration {
    let begun = Instant::now();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "");
    begun.elapsed()
}

#[tokio::test]
async fn a_client_without_a_request_is_disconnected() {
    let (address, _gate) = gate().await;
    for beginning in ["", "G", "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let took = closed_after(stream).await;
        assert!(took >= SHORT / 2 && took < LIMITS.next, "{beginning:?}: {took:?}");
    }
}

#[tokio::test]
async fn a_connection_is_kept_for_more_and_closed_when_nothing_more_comes() {
    let (address, _gate) = gate().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    for _ in 0..2 {
        say(&mut stream, "GET /", "\r\n").await;
        hear(&mut stream, "soon").await;
        sleep(SHORT * 2).await;
    }
    stream.write_all(b"GET").await.unwrap();
    let took = closed_after(stream).await;
    assert!(took > LIMITS.next / 2, "{took:?}");
}

#[tokio::test]
async fn an_answer_may_take_its_time() {
    let (address, _gate) = gate().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    say(&mut stream, "GET /slow", "\r\n").await;
    hear(&mut stream, "late").await;
}

#[tokio::test]
async fn a_body_may_come_in_parts_but_must_come() {
    let (address, _gate) = gate().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    say(&mut stream, "POST /read", "content-length: 3\r\n\r\n").await;
    for part in ["a", "b", "c"] {
        sleep(SHORT / 2).await;
        stream.write_all(part.as_bytes()).await.unwrap();
    }
    hear(&mut stream, "read 3").await;
    say(&mut stream, "POST /read", "content-length: 3\r\n\r\na").await;
    hear(&mut stream, "cut off").await;
}
