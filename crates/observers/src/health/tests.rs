//! Tests of the health server over real sockets.

use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::clients::SEATS;
use super::*;
use crate::BatchReport;
use crate::vitals::Vitals;

struct Server {
    address: SocketAddr,
    vitals: Arc<Vitals>,
    _serving: JoinSet<()>,
}

async fn server() -> Server {
    let workers = Arc::new(WorkerGroup::default());
    let vitals = workers.add("orders", "orders");
    let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move { answer_all(listener, &workers).await });
    Server { address, vitals, _serving: serving }
}

impl Server {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request and returns the whole answer. The server ends the connection.
    async fn send(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(Duration::from_secs(30), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    async fn ask(&self, method: &str, path: &str) -> String {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: worker\r\n\r\n")).await
    }

    async fn status(&self, path: &str) -> u16 {
        self.ask("GET", path).await[9..12].parse().unwrap()
    }
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test]
async fn a_worker_is_ready_from_the_first_contact_until_it_drains_and_lives_on() {
    let server = server().await;
    assert_eq!((server.status("/livez").await, server.status("/readyz").await), (200, 503));
    server.vitals.is_ready();
    assert_eq!((server.status("/livez").await, server.status("/readyz").await), (200, 200));
    server.vitals.drains();
    assert_eq!((server.status("/livez").await, server.status("/readyz").await), (200, 503));
    let answer = server.ask("GET", "/livez").await;
    assert!(answer.contains("content-type: application/json\r\n"), "{answer}");
    let body: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(
        (&body["alive"], &body["ready"], &body["poll_limit_seconds"]),
        (&true.into(), &false.into(), &90.into())
    );
}

#[tokio::test]
async fn the_metrics_are_those_of_the_worker() {
    let server = server().await;
    server.vitals.loop_turned(3, 1, 1);
    server.vitals.poll_ended(false);
    server.vitals.lease_lost();
    server.vitals.call_ended(Duration::from_millis(7), 1);
    server.vitals.reported(&BatchReport { records: 2, succeeded: 2, ..BatchReport::default() });
    let answer = server.ask("GET", "/metrics?all").await;
    assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    for line in [
        r#"redrive_in_hand{queue="orders"} 3"#,
        r#"redrive_poll_errors_total{queue="orders"} 1"#,
        r#"redrive_leases_lost_total{queue="orders"} 1"#,
        r#"redrive_settle_errors_total{queue="orders"} 1"#,
        r#"redrive_messages_total{outcome="succeeded",queue="orders"} 2"#,
    ] {
        let other_order = r#"redrive_messages_total{queue="orders",outcome="succeeded"} 2"#;
        let found =
            body(&answer).lines().any(|it| it == line || line.contains("messages") && it == other_order);
        assert!(found, "no {line} in {answer}");
    }
    assert!(answer.ends_with("# EOF\n"));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_in_plain_words() {
    let server = server().await;
    let answer = server.ask("GET", "/").await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert_eq!(body(&answer), "not found; known: /livez, /readyz, /metrics\n");
    let answer = server.send("POST /livez HTTP/1.1\r\nHost: w\r\nContent-Length: 5\r\n\r\nhello").await;
    assert!(answer.starts_with("HTTP/1.1 405 ") && answer.contains("allow: GET, HEAD\r\n"), "{answer}");
    assert_eq!(body(&answer), "allowed: GET, HEAD\n");
    assert!(server.send("hello\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    assert!(server.send("GET /livez HTTP/1.0\r\n\r\n").await.starts_with("HTTP/1.0 200 "));
    assert_eq!(server.status("/livez").await, 200);
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let server = server().await;
    let (get, head) = (server.ask("GET", "/metrics").await, server.ask("HEAD", "/metrics").await);
    let length = |answer: &str| {
        answer.lines().find_map(|line| line.strip_prefix("content-length: ")).map(str::to_owned)
    };
    assert_eq!(body(&head), "");
    assert_eq!(length(&head), Some(body(&get).len().to_string()));
}

#[tokio::test]
async fn a_taken_port_is_one_line_that_names_the_setting_and_the_address() {
    let server = server().await;
    let error = serve(server.address, &WorkerGroup::default()).err().unwrap();
    let expected = format!("REDRIVE_HEALTH is {}, which cannot be listened on: ", server.address);
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(!error.to_string().contains('\n'));
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn many_requests_at_once_are_all_answered() {
    let server = Arc::new(server().await);
    let mut clients = JoinSet::new();
    for _ in 0..500 {
        let server = Arc::clone(&server);
        clients.spawn(async move { server.status("/livez").await });
    }
    assert!(clients.join_all().await.into_iter().all(|status| status == 200));
}

/// Requests that never end.
const UNFINISHED: [&[u8]; 4] =
    [b"", b"GET /livez HTT", b"GET /metrics HTTP/1.1\r\nHost: w\r\n", b"GET / HTTP/1.1\r\nX: "];

#[tokio::test]
async fn silent_clients_on_every_seat_and_beyond_delay_no_probe() {
    let server = server().await;
    let mut silent = Vec::new();
    for number in 0..4 * SEATS {
        let mut stream = server.connect().await;
        stream.write_all(UNFINISHED[number % UNFINISHED.len()]).await.unwrap();
        silent.push(stream);
        if number % 32 == 31 {
            let asked = timeout(Duration::from_secs(1), server.status("/livez")).await;
            assert_eq!(asked.expect("a probe waits for a second"), 200, "with {number} silent clients");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_from_one_address_pushes_out_no_probe_from_another() {
    let server = server().await;
    let (address, mut flood) = (server.address, JoinSet::new());
    for _ in 0..8 {
        flood.spawn(async move {
            let mut last = std::collections::VecDeque::new();
            loop {
                let socket = tokio::net::TcpSocket::new_v4().unwrap();
                socket.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into()).unwrap();
                last.extend(socket.connect(address).await);
                last.drain(..last.len().saturating_sub(40));
                sleep(Duration::from_millis(1)).await;
            }
        });
    }
    for _ in 0..20 {
        assert_eq!(server.status("/livez").await, 200);
    }
}

/// A client whose first packet was dropped sends it again after a second. Linux lets 4,096 wait by default, others 128.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_burst_of_connections_leaves_room_for_a_probe() {
    let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let mut burst = Vec::new();
    for number in 0..1_000 {
        let connected = timeout(Duration::from_millis(900), TcpStream::connect(address)).await;
        burst.push(connected.unwrap_or_else(|_| panic!("no room behind {number}")).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_has_two_seconds_for_its_headers_however_it_sends_them() {
    let server = server().await;
    for said in UNFINISHED {
        let mut stream = server.connect().await;
        let began = tokio::time::Instant::now();
        stream.write_all(said).await.unwrap();
        let mut byte = [0];
        // A byte now and then does not extend the time.
        while let Err(_pending) = timeout(Duration::from_millis(100), stream.read(&mut byte)).await {
            if !said.is_empty() && stream.write_all(b"x").await.is_err() {
                break;
            }
        }
        let took = began.elapsed();
        assert!((REQUEST_TIMEOUT..REQUEST_TIMEOUT * 2).contains(&took), "{said:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_for_one_request_whatever_else_is_sent() {
    let server = server().await;
    let one = "GET /livez HTTP/1.1\r\nHost: w\r\nConnection: keep-alive\r\n\r\n";
    let began = tokio::time::Instant::now();
    assert_eq!(server.send(&one.repeat(3)).await.matches("HTTP/1.1 ").count(), 1, "pipelined");
    for unfinished in [
        "POST /livez HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "GET /livez HTTP/1.1\r\nHost: w\r\nContent-Length: 1000000\r\n\r\nx",
        "GET /livez HTTP/1.1\r\nHost: w\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
    ] {
        let answer = server.send(unfinished).await;
        assert!(answer.starts_with("HTTP/1."), "{unfinished}: {answer}");
    }
    assert!(began.elapsed() < REQUEST_TIMEOUT, "no answer waits for the rest of a request");
}

#[tokio::test]
async fn headers_have_a_limit() {
    let server = server().await;
    let with = |headers: String| format!("GET /livez HTTP/1.1\r\n{headers}\r\n");
    for (headers, status) in [
        (format!("X: {}\r\n", "x".repeat(10_000)), "200"),
        (format!("X: {}\r\n", "x".repeat(MAX_REQUEST_BYTES)), "431"),
        ("X: x\r\n".repeat(1_000), "431"),
        (format!("X{}\r\n", "x".repeat(MAX_REQUEST_BYTES)), "431"),
    ] {
        let mut stream = server.connect().await;
        // The rest is not read: writing it may fail.
        let _ = stream.write_all(with(headers).as_bytes()).await;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(std::str::from_utf8(&answer).unwrap(), format!("HTTP/1.1 {status}"));
    }
    assert_eq!(server.status("/livez").await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let server = server().await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: w\r\n\r\n").await.unwrap();
    sleep((REQUEST_TIMEOUT + RESPONSE_TIMEOUT) * 2).await;
    let mut answer = Vec::new();
    timeout(REQUEST_TIMEOUT, stream.read_to_end(&mut answer))
        .await
        .expect("the connection has ended")
        .unwrap();
}

#[tokio::test]
async fn a_client_that_closes_its_half_or_goes_away_leaves_nothing_behind() {
    let server = server().await;
    for _ in 0..3 * SEATS {
        let mut stream = server.connect().await;
        stream.write_all(b"GET /me").await.unwrap();
        drop(stream);
    }
    let mut stream = server.connect().await;
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: w\r\n\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "half a connection is enough: {answer:?}");
    assert_eq!(server.status("/livez").await, 200);
}
