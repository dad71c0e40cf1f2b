use std::time::{Duration, Instant};

use redrive_local::{Config, Event, EventKind, Local, Speed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::support::http::{call, host, raw};
use crate::support::{message, shop};

const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";
const JSON: &str = "content-type: application/x-amz-json-1.0\r\nx-amz-target: AmazonSQS.";

/// Returns the headers that browsers send for a page of another site, or of a name that an attacker points here.
fn foreign(host: &str) -> Vec<(String, String)> {
    let page = host.replace("127.0.0.1", "evil.example");
    let headers = |headers: &str| (String::new(), headers.to_owned());
    vec![
        headers(&format!("host: {page}\r\n")),
        headers(&format!("host: {page}\r\norigin: http://{page}\r\nsec-fetch-site: same-origin\r\n")),
        headers(&format!("host: {}\r\n", host.replace("127.0.0.1", "0.0.0.0"))),
        headers(&format!("host: {host}\r\norigin: http://evil.example\r\n")),
        headers(&format!("host: {host}\r\norigin: null\r\n")),
        headers(&format!("host: {host}\r\norigin: http://127.0.0.1:1\r\n")),
        headers(&format!("host: {host}\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n")),
        headers(&format!("host: {host}\r\nsec-fetch-site: same-site\r\n")),
        headers(""),
        (format!("http://{page}"), format!("host: {host}\r\n")),
    ]
}

fn request(method: &str, target: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {target} HTTP/1.1\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

#[track_caller]
fn assert_refused(answer: &str, request: &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 403"), "{request}\n\n{answer}");
    assert!(head.contains("content-type: text/plain"), "{head}");
    assert!(body.ends_with('\n') && body.lines().count() == 1, "{body:?}");
    assert!(!head.contains("access-control-"), "{head}");
}

#[tokio::test]
async fn no_other_site_reaches_the_endpoint() {
    let local = Local::start(shop(Speed::Times(1.0))).await.unwrap();
    let (host, url) = (host(&local), local.queue_url("orders-dead"));
    let send = format!("{{\"QueueUrl\":\"{url}\",\"MessageBody\":\"ok\"}}");
    let calls = [
        ("GET", "/123456789012/orders-dead?Action=DeleteQueue&Version=2012-11-05", String::new(), ""),
        ("POST", "/", FORM.to_owned(), "Action=CreateQueue&Version=2012-11-05&QueueName=evil"),
        ("POST", "/", "content-type: text/plain\r\n".into(), "Action=CreateQueue&QueueName=evil"),
        ("POST", "/", format!("{JSON}SendMessage\r\n"), &send),
        ("GET", "/2015-03-31/event-source-mappings", String::new(), ""),
        ("POST", "/_redrive/skip", String::new(), "3600"),
        ("OPTIONS", "/", String::new(), ""),
    ];
    for (method, path, headers, body) in &calls {
        for (site, foreign) in foreign(&host) {
            let request = request(method, &format!("{site}{path}"), &format!("{foreign}{headers}"), body);
            assert_refused(&raw(&host, &request).await, &request);
        }
    }
    let opened = format!("host: {host}\r\nsec-fetch-site: none\r\nsec-fetch-mode: navigate\r\n");
    let request_of_a_link = request("GET", calls[0].1, &opened, "");
    assert_refused(&raw(&host, &request_of_a_link).await, &request_of_a_link);
    let listed = call(&local, "/", "AmazonSQS.ListQueues", "{}").await;
    assert!(listed.contains("orders-dead") && !listed.contains("evil"), "{listed}");
    let counts = format!("{{\"QueueUrl\":\"{url}\",\"AttributeNames\":[\"ApproximateNumberOfMessages\"]}}");
    let counts = call(&local, "/", "AmazonSQS.GetQueueAttributes", &counts).await;
    assert!(counts.contains("\"ApproximateNumberOfMessages\":\"0\""), "{counts}");

    for own in ["", "origin: http://HOST\r\nsec-fetch-site: same-origin\r\n", "sec-fetch-site: none\r\n"] {
        let own = format!("host: {host}\r\n{}", own.replace("HOST", &host));
        let sent = raw(&host, &request("POST", "/", &format!("{own}{JSON}SendMessage\r\n"), &send)).await;
        assert!(sent.starts_with("HTTP/1.1 200"), "{sent}");
    }
    let localhost = host.replace("127.0.0.1", "localhost");
    let own = format!("host: {localhost}\r\n");
    let deleted = raw(&host, &request("GET", calls[0].1, &own, "")).await;
    assert!(deleted.starts_with("HTTP/1.1 200"), "{deleted}");

    let totals = local.stop().await;
    assert!(totals.simulated < Duration::from_secs(3_600), "{totals:?}");
    let calls =
        ["DeleteQueue", "GetQueueAttributes", "ListQueues", "SendMessage"].map(|call| format!("sqs.{call}"));
    assert_eq!(totals.aws_calls, calls.into_iter().zip([1, 1, 1, 3]).collect());
}

/// A page may ask by the name that clients use. Browsers do not mark that, except by the origin of a POST.
#[tokio::test]
async fn clients_on_other_machines_call_by_an_allowed_name_and_pages_do_not() {
    let listen = ([0, 0, 0, 0], 0).into();
    let config = Config { listen, hosts: vec!["redrive".to_owned()], ..shop(Speed::Times(1.0)) };
    let local = Local::start(config).await.unwrap();
    let address = host(&local);
    assert!(address.starts_with("127.0.0.1:"), "for functions and for people on this machine: {address}");
    let named = address.replace("127.0.0.1", "redrive");
    let ask = async |method: &str, target: &str, headers: &str, body: &str| {
        let request = request(method, target, headers, body);
        (raw(&address, &request).await, request)
    };
    let unsigned = format!("host: {named}\r\n");
    let own =
        format!("{unsigned}authorization: AWS4-HMAC-SHA256 Credential=a/20261130/x/sqs/aws4_request\r\n");
    let (made, _) = ask("POST", "/", &format!("{own}{JSON}CreateQueue\r\n"), "{\"QueueName\":\"new\"}").await;
    assert!(made.contains(&format!("\"http://{named}/123456789012/new\"")), "the client can use it: {made}");
    let deletes = "/123456789012/new?Action=DeleteQueue&Version=2012-11-05";
    for (method, headers) in [
        ("GET", unsigned.clone()),
        ("POST", unsigned.clone()),
        ("POST", format!("{unsigned}authorization: Basic YTpi\r\n")),
        ("POST", format!("{own}origin: http://evil.example\r\n")),
        ("POST", format!("{own}origin: null\r\n")),
        ("POST", format!("host: {}\r\n", address.replace("127.0.0.1", "evil.example"))),
        ("POST", format!("host: {}\r\n", address.replace("127.0.0.1", "0.0.0.0"))),
        ("GET", format!("host: {address}\r\nsec-fetch-site: cross-site\r\n")),
    ] {
        let (refused, request) = ask(method, deletes, &headers, "").await;
        assert_refused(&refused, &request);
    }
    let (listed, _) = ask("POST", "/", &format!("{own}{JSON}ListQueues\r\n"), "{}").await;
    assert!(listed.contains("/123456789012/new"), "{listed}");
    let (mappings, _) = ask("GET", "/2015-03-31/event-source-mappings", &own, "").await;
    assert!(mappings.contains("EventSourceMappings"), "{mappings}");
    for path in ["/health", "/_localstack/health"] {
        let (health, _) = ask("GET", path, &unsigned, "").await;
        assert!(health.starts_with("HTTP/1.1 200") && health.contains("\"sqs\":\"running\""), "{health}");
        let (refused, request) =
            ask("GET", path, &format!("{unsigned}origin: http://evil.example\r\n"), "").await;
        assert_refused(&refused, &request);
    }
    let (refused, request) = ask("POST", "/_redrive/skip", &unsigned, "5").await;
    assert_refused(&refused, &request);
    local.stop().await;
}

/// Sends a message, and returns the function's output until it is done.
async fn handled(local: &Local, events: &mut UnboundedReceiver<Event>, body: &str) -> Vec<String> {
    let sent = local.send("orders", message(body)).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = events.recv().await {
        match event.kind {
            EventKind::Output { line, .. } => lines.push(line),
            EventKind::Done { message_id, .. } if message_id == sent => return lines,
            _ => (),
        }
    }
    panic!("it ends before {body} is done");
}

#[tokio::test]
async fn nobody_but_the_function_takes_or_answers_its_invocations() {
    let mut local = Local::start(shop(Speed::Times(1.0))).await.unwrap();
    let mut events = local.take_events();
    let lines = handled(&local, &mut events, "where").await;
    let told = lines.iter().find_map(|line| line.strip_prefix("runtime api ")).unwrap();
    let (host, secret) = told.split_once('/').unwrap();
    assert!(secret.len() >= 32 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{secret}");
    let own = format!("host: {host}\r\n");
    let routes = [("GET", "next"), ("POST", "1/response"), ("POST", "1/error")];
    for (method, route) in routes {
        let path = format!("/2018-06-01/runtime/invocation/{route}");
        for elsewhere in [path.clone(), format!("/{}{path}", "0".repeat(secret.len())), format!("/{path}")] {
            let answer = raw(host, &request(method, &elsewhere, &own, "")).await;
            assert!(answer.starts_with("HTTP/1.1 404"), "{elsewhere}: {answer}");
        }
        for (site, foreign) in foreign(host) {
            let request = request(method, &format!("{site}/{secret}{path}"), &foreign, "");
            assert_refused(&raw(host, &request).await, &request);
        }
    }
    let lines = handled(&local, &mut events, "ok").await;
    assert!(lines.iter().any(|line| line.starts_with("time left ")), "it reaches the function: {lines:?}");
    local.stop().await;
}

/// Longer than a client may take for its first request.
const LONGER: Duration = Duration::from_secs(20);

#[tokio::test]
async fn clients_that_never_say_what_they_want_are_shown_out_and_hold_up_nobody() {
    let local = Local::start(shop(Speed::Times(1.0))).await.unwrap();
    let mut silent = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(host(&local)).await.unwrap();
        let beginning =
            ["", "P", "POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: "][number % 4];
        stream.write_all(beginning.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    let begun = Instant::now();
    let listed = call(&local, "/", "AmazonSQS.ListQueues", "{}").await;
    assert!(listed.starts_with("HTTP/1.1 200"), "{listed}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let all_closed = async {
        for mut stream in silent {
            let mut rest = Vec::new();
            // The server may close or reset the connection.
            let _ = stream.read_to_end(&mut rest).await;
            assert_eq!(String::from_utf8_lossy(&rest), "");
        }
    };
    tokio::time::timeout(LONGER, all_closed).await.expect("each is closed");
    local.stop().await;
}
