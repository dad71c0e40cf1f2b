//! `redrive work --http`: posts to an app that runs its messages as JavaScript.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::MessageAttributeValue;
use tempfile::TempDir;

use super::{command, counts, exit_code, folder, linked, note, read};
use crate::support::Aws;
use crate::support::running::{Running, free_port, root, signal, until, until_or, wait_for};

/// A queue, an app on a port, and a worker between them.
pub(crate) struct Sidecar {
    pub(crate) aws: Aws,
    pub(super) folder: TempDir,
    port: u16,
    protocol: &'static str,
    queue: &'static str,
}

impl Sidecar {
    pub(crate) fn new(protocol: &'static str) -> Self {
        let aws = Aws::with_orders(false);
        Self { aws, folder: folder(), port: free_port(), protocol, queue: "orders" }
    }

    fn fifo() -> Self {
        Self { aws: Aws::with_orders(true), queue: "orders.fifo", ..Self::new("http") }
    }

    /// Starts the app.
    pub(crate) fn app(&self) -> Running {
        let mut node = Command::new("node");
        node.arg(root().join("crates/cli/tests/it/work/app.js"))
            .args([&self.port.to_string(), self.protocol]);
        self.listening(&mut node)
    }

    /// Starts an app, and waits until it listens.
    fn listening(&self, app: &mut Command) -> Running {
        app.env("PORT", self.port.to_string()).current_dir(&self.folder).stdin(Stdio::null());
        let app = Running(app.spawn().expect("it runs"));
        wait_for(self.port);
        app
    }

    pub(crate) fn work(&self, flags: &str) -> Running {
        self.start(&mut self.command(flags))
    }

    fn command(&self, flags: &str) -> Command {
        let flags = format!("--http http://127.0.0.1:{}/ {flags}", self.port);
        command(&self.aws, self.queue, &flags, self.folder.path())
    }

    pub(super) fn start(&self, command: &mut Command) -> Running {
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| {
            let path = self.folder.path().join(name);
            File::options().create(true).append(true).open(path).expect("the folder is ours")
        });
        Running(command.stdout(stdout).stderr(stderr).spawn().expect("the command runs"))
    }

    /// Waits until a worker has said this so often, on standard output or standard error.
    pub(crate) fn until_said(&self, stream: &str, part: &str, times: usize) {
        let said = || read(&self.folder, stream);
        let instead = || format!("{part:?} on {stream}: {}\nthe app: {:?}", said(), self.log());
        until_or(instead, || said().matches(part).count() >= times);
    }

    pub(super) fn log(&self) -> Vec<String> {
        read(&self.folder, "log").lines().filter(|line| *line != "connected").map(str::to_owned).collect()
    }

    fn connections(&self) -> usize {
        read(&self.folder, "log").lines().filter(|line| *line == "connected").count()
    }

    /// Waits until the app has logged so many lines.
    pub(crate) fn until_logged(&self, lines: usize) {
        until(&format!("{lines} lines"), || self.log().len() >= lines);
    }

    fn until_empty(&self) {
        until("all is done", || counts(&self.aws, self.queue) == ("0".to_owned(), "0".to_owned()));
    }

    /// Waits until so many messages wait for a retry or are handled.
    fn until_in_flight(&self, messages: &str) {
        until("they wait", || counts(&self.aws, self.queue) == ("0".to_owned(), messages.to_owned()));
    }

    fn stop(&self, worker: Running) {
        signal("-TERM", &worker.0);
        self.aws.send("orders", "answer(200)");
        assert_eq!(exit_code(worker), Some(0));
    }
}

/// The status with which a server answers, once it listens.
fn status(port: u16, path: &str) -> u16 {
    wait_for(port);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("it is HTTP")
}

#[test]
fn the_status_says_what_happens_to_the_message() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let worker = it.work("");
    it.aws.send("orders", "log('done'); answer(204)");
    it.until_logged(1);
    it.until_empty();
    it.aws.send("orders", "answer(422, 'no such order\\n')");
    assert_eq!(note(&it.aws), ("http-422".to_owned(), "HTTP 422: no such order".to_owned(), 1));
    for failure in [
        "answer(429, 'slow down', { 'retry-after': '2' })",
        "answer(302, '', { location: `http://127.0.0.1:${port}/?elsewhere` })",
        "answer(500, 'out of tea')",
        "request.socket.destroy()",
    ] {
        it.aws.send("orders", &format!("log(request.url); if (attempt === '1') {failure}; else answer(200)"));
    }
    it.until_logged(9);
    it.until_empty();
    assert!(it.log().iter().all(|line| ["done", "/"].contains(&line.as_str())), "{:?}", it.log());
    for part in ["HTTP 429: slow down", "\"reason\":\"http-302\"", "HTTP 500: out of tea"] {
        it.until_said("stdout", part, 1);
    }
    it.until_said("stdout", "\"reason\":\"broken-response\"", 1);
    it.stop(worker);
}

/// Such as an app whose password has changed, or a proxy whose app is away.
#[test]
fn messages_that_are_all_refused_wait_and_become_no_letters() {
    let cases = [
        ("answer(401)", 8, 2, "", "met an outage"),
        ("answer(301)", 8, 2, "", "met an outage"),
        ("answer(404)", 8, 2, "--batch 1", "met an outage"),
        ("answer(401)", 60, 2, "", "a dependency is down"),
        ("answer(401)", 60, 0, "--batch 10", "a dependency is down"),
        ("answer(502)", 8, 0, "", "a dependency is down"),
        ("answer(504, '', { 'retry-after': '1' })", 8, 0, "", "a dependency is down"),
        (r"request.socket.end('SSH-2.0-x\r\n')", 8, 0, "", "met an outage"),
    ];
    let check = |(answer, messages, retried, flags, said): (&str, u32, usize, &str, &str)| {
        let it = Sidecar::new("http");
        let _app = it.app();
        for _ in 0..messages {
            it.aws.send("orders", answer);
        }
        let worker = it.work(flags);
        it.until_said("stdout", said, if said == "met an outage" { 6 } else { 1 });
        signal("-TERM", &worker.0);
        assert_eq!(exit_code(worker), Some(0));
        let log = read(&it.folder, "stdout");
        let retries = log.matches("message failed, to be retried").count();
        assert!(retries <= retried, "{answer} {flags}: {log}");
    };
    // They wait most of the time.
    thread::scope(|scope| cases.into_iter().for_each(|case| drop(scope.spawn(move || check(case)))));
}

/// Nobody knows yet that only some messages are refused.
#[test]
fn messages_that_are_refused_hold_up_no_others() {
    let it = Sidecar::new("http");
    let _app = it.app();
    for _ in 0..15 {
        it.aws.send("orders", "answer(404, 'no such order')");
    }
    for _ in 0..40 {
        it.aws.send("orders", "log('done'); answer(200)");
    }
    let worker = it.work("");
    it.until_logged(40);
    assert!(!read(&it.folder, "stdout").contains("a dependency is down"));
    it.stop(worker);
}

#[test]
fn a_group_that_is_refused_waits_as_a_whole() {
    let it = Sidecar::fifo();
    let _app = it.app();
    for number in 0..20 {
        let send = it.aws.sqs.send_message().queue_url(it.aws.queue_url("orders.fifo"));
        let send = send.message_group_id("a").message_deduplication_id(number.to_string());
        let body = format!(
            "const is_ready = existsSync('ready'); if (is_ready) log({number}); answer(is_ready ? 200 : 401)"
        );
        it.aws.wait(send.message_body(body).send()).expect("it is sent");
    }
    let worker = it.work("");
    it.until_said("stdout", "met an outage, to be retried", 1);
    let letters = || it.aws.attribute("orders-dead.fifo", "ApproximateNumberOfMessages");
    // The first message had three deliveries.
    assert_eq!(letters(), "1");
    std::fs::write(it.folder.path().join("ready"), "").expect("it is ours");
    // Not for longer than the visibility timeout: the worker receives meanwhile.
    let log = read(&it.folder, "stdout");
    let back_in = log.rsplit_once("\"back_in_seconds\":").and_then(|(_, rest)| rest.split_once(','));
    let back_in: u64 = back_in.and_then(|(seconds, _)| seconds.parse().ok()).expect("a number of seconds");
    assert!(back_in >= 60, "{log}");
    it.aws.skip(back_in + 3);
    it.until_logged(19);
    let expected = (1..20).map(|number| number.to_string());
    assert_eq!(it.log(), expected.collect::<Vec<_>>());
    assert_eq!(letters(), "1");
    drop(worker);
}

#[test]
fn an_event_that_is_too_large_for_the_app_is_posted_in_parts() {
    for it in [Sidecar::new("http"), Sidecar::fifo()] {
        let _app = it.app();
        for number in 0..10 {
            let send = it.aws.sqs.send_message().queue_url(it.aws.queue_url(it.queue));
            let send = match it.queue {
                "orders" => send,
                _ => send
                    .message_group_id((number % 2).to_string())
                    .message_deduplication_id(number.to_string()),
            };
            let body = format!(
                "const numbers = event.Records.map(({{ body }}) => Number(body.split(' ').pop()));\
                 const is_large = numbers.length > 3 || numbers.includes(4);\
                 if (!is_large) numbers.forEach(log);\
                 answer(is_large ? 413 : 200) // {number}"
            );
            it.aws.wait(send.message_body(body).send()).expect("it is sent");
        }
        let worker = it.work("--batch 10 --concurrency 1");
        // Number 4 is too large alone. On a FIFO queue, 6 and 8 are behind it.
        let expected = if it.queue == "orders" { 9 } else { 7 };
        it.until_logged(expected);
        let mut log = it.log();
        log.truncate(expected);
        log.sort_unstable();
        let behind = if it.queue == "orders" { &["4"][..] } else { &["4", "6", "8"] };
        let numbers: Vec<_> = (0..10).map(|number| number.to_string()).collect();
        let numbers: Vec<_> = numbers.iter().filter(|number| !behind.contains(&number.as_str())).collect();
        assert_eq!(log.iter().collect::<Vec<_>>(), numbers);
        it.until_said("stdout", "HTTP 413", 1);
        drop(worker);
    }
}

#[test]
fn a_status_that_only_some_messages_get_is_their_fault() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let mut worker = it.command("--concurrency 1 --status 410=reject");
    worker.env("REDRIVE_BACKOFF", r#"{"kind": "exponential", "delay": 1, "max": 1}"#);
    let worker = it.start(&mut worker);
    let letters = |count: &str| {
        until("letters", || it.aws.attribute("orders-dead", "ApproximateNumberOfMessages") == count);
    };
    let refused = "answer(404, 'no such order')";
    it.aws.send("orders", refused);
    it.until_said("stdout", "HTTP 404: no such order", 1);
    it.aws.send("orders", "log('done'); answer(200)");
    it.until_logged(1);
    it.until_empty();
    letters("1");
    for _ in 0..5 {
        it.aws.send("orders", refused);
    }
    letters("6");
    it.aws.send("orders", "answer(410, 'gone')");
    letters("7");
    assert!(!read(&it.folder, "stdout").contains("a dependency is down"));
    it.stop(worker);
}

#[test]
fn a_message_has_the_headers_of_beanstalk_and_of_cloudevents() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let worker = it.work("--content-type text/javascript");
    let text = |text: &str| {
        let value = MessageAttributeValue::builder().data_type("String").string_value(text);
        value.build().expect("it is complete")
    };
    let request = it.aws.sqs.send_message().queue_url(it.aws.queue_url("orders"));
    let request = request.message_body("log(JSON.stringify(request.headers)); answer(200)");
    let request = request.message_attributes("kind", text("a\r\nce-id: forged\r\n\r\nPOST / HTTP/1.1"));
    let request = request.message_attributes("Msgid", text("forged"));
    let id = it.aws.wait(request.send()).expect("it is sent").message_id.expect("it has an id");
    it.until_logged(1);
    let headers: serde_json::Value = serde_json::from_str(&it.log()[0]).expect("it is JSON");
    let header = |name: &str| headers[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(header("x-aws-sqsd-msgid"), id);
    assert_eq!(header("ce-id"), id);
    assert_eq!(header("x-aws-sqsd-attr-kind"), "a%0D%0Ace-id:%20forged%0D%0A%0D%0APOST%20/%20HTTP/1.1");
    assert_eq!(header("x-aws-sqsd-attr-msgid"), "forged");
    assert_eq!(header("x-aws-sqsd-queue"), "orders");
    assert_eq!(header("x-aws-sqsd-receive-count"), "1");
    assert!(!header("x-aws-sqsd-sender-id").is_empty(), "{headers}");
    assert!(header("x-aws-sqsd-first-received-at").ends_with('Z'), "{headers}");
    assert_eq!(header("ce-source"), "arn:aws:sqs:eu-west-1:123456789012:orders");
    assert_eq!(header("ce-specversion"), "1.0");
    assert_eq!(header("content-type"), "text/javascript");
    assert!(header("user-agent").starts_with("aws-sqsd redrive/"), "{headers}");
    it.stop(worker);
}

#[test]
fn an_event_is_answered_with_a_partial_batch_response() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let failing = "\
        const failed = event.Records.filter((record) => record.body === 'bad');\
        log(event.Records.map((record) => record.attributes.ApproximateReceiveCount));\
        answer(200, JSON.stringify({ batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }))";
    for _ in 0..3 {
        it.aws.send("orders", failing);
    }
    it.aws.send("orders", "bad");
    let worker = it.work("--batch 100");
    it.until_logged(1);
    it.until_in_flight("1");
    // Not a response, so all of them come back.
    it.aws.send("orders", "log('garbage'); answer(200, attempt === '1' ? 'ok' : '')");
    until("it is done", || it.log().iter().filter(|line| *line == "garbage").count() == 2);
    it.until_said("stdout", "not a batch response: invalid JSON", 1);
    it.until_said("stdout", "in batchItemFailures", 1);
    it.stop(worker);
}

#[test]
fn a_request_is_canceled_after_its_time_limit() {
    for protocol in ["http", "http2"] {
        let it = Sidecar::new(protocol);
        let _app = it.app();
        let worker = it.work(if protocol == "http2" { "--time-limit 1s --http2" } else { "--time-limit 1s" });
        it.aws.send(
            "orders",
            "if (attempt === '1') response.on('close', () => log('closed')); else answer(200)",
        );
        it.until_logged(1);
        it.until_empty();
        it.until_said("stdout", "\"error\":\"time limit of 1s\"", 1);
        it.until_said("stdout", "\"reason\":\"timeout\"", 1);
        it.stop(worker);
    }
}

#[test]
fn requests_share_connections() {
    // A request does not wait for a connection that is about to be free.
    for (protocol, flags, most) in [("http", "--concurrency 3", 6), ("http2", "--concurrency 3 --http2", 1)] {
        let it = Sidecar::new(protocol);
        let _app = it.app();
        for _ in 0..30 {
            it.aws.send("orders", "log(request.httpVersion); answer(200, 'x'.repeat(1000))");
        }
        let worker = it.work(flags);
        it.until_logged(30);
        it.until_empty();
        // Two more looked whether the app listens: the test's, and the worker's.
        let connections = it.connections();
        assert!((1..=most + 2).contains(&connections), "{connections} connections");
        it.stop(worker);
    }
}

/// As servers do with idle connections. A request may come just then.
#[test]
fn a_connection_that_the_app_has_closed_costs_no_delivery() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let body = "if (request.socket.is_used) { log('closed'); request.socket.destroy(); } \
         else { request.socket.is_used = true; log(attempt); answer(200); }";
    for _ in 0..10 {
        it.aws.send("orders", body);
    }
    let worker = it.work("--concurrency 1");
    it.until_empty();
    let log = it.log();
    assert_eq!(log.iter().filter(|line| *line == "1").count(), 10, "{log:?}");
    assert!(log.iter().any(|line| line == "closed"), "{log:?}");
    it.stop(worker);
    assert!(!read(&it.folder, "stdout").contains("broken-response"));
}

/// It may be at fault.
#[test]
fn a_message_whose_app_is_killed_fails_and_waits_for_the_app() {
    for (protocol, flags) in [("http", ""), ("http", "--batch 10"), ("http2", "--http2")] {
        let it = Sidecar::new(protocol);
        let app = it.app();
        let worker = it.work(flags);
        let body =
            "log(attempt); if (attempt === '1') process.kill(process.pid, 'SIGKILL'); else answer(200)";
        it.aws.send("orders", body);
        it.until_said("stdout", "\"reason\":\"broken-response\"", 1);
        it.until_said("stdout", "the app closed the connection", 1);
        it.until_said("stderr", "waiting for the app: ", 1);
        drop(app);
        let _app = it.app();
        it.until_logged(2);
        it.until_empty();
        it.until_said("stderr", "the app is back after", 1);
        it.stop(worker);
    }
}

#[test]
fn messages_wait_a_moment_for_an_app_that_starts_again() {
    for flags in ["--concurrency 3", "--ready /ready --concurrency 3", "--batch 2"] {
        let it = Sidecar::new("http");
        std::fs::write(it.folder.path().join("ready"), "").expect("it is ours");
        let app = it.app();
        let worker = it.work(flags);
        it.aws.send("orders", "log('done'); answer(200)");
        it.until_logged(1);
        drop(app);
        for _ in 0..8 {
            it.aws.send("orders", "log('done'); answer(200)");
        }
        it.until_said("stderr", "waiting for the app: ", 1);
        let _app = it.app();
        it.until_empty();
        let log = read(&it.folder, "stdout");
        assert!(!log.contains("outage,") && !log.contains("a dependency is down"), "{flags}: {log}");
        it.stop(worker);
    }
}

#[test]
fn a_worker_that_waits_for_its_app_ends_in_time() {
    let it = Sidecar::new("http");
    let app = it.app();
    let worker = it.work("");
    it.aws.send("orders", "log('done'); answer(200)");
    it.until_logged(1);
    drop(app);
    it.aws.send("orders", "answer(200)");
    it.until_said("stderr", "waiting for the app: ", 1);
    signal("-TERM", &worker.0);
    it.aws.send("orders", "answer(200)");
    let begun = Instant::now();
    assert_eq!(exit_code(worker), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(23), "it does not use the time of its drain");
    it.until_said("stdout", "message met an outage, to be retried", 1);
}

/// As with an orchestrator that starts it again.
#[test]
fn a_message_that_kills_the_app_each_time_becomes_a_dead_letter() {
    let it = Sidecar::new("http");
    let mut app = it.app();
    let worker = it
        .start(it.command("").env("REDRIVE_BACKOFF", r#"{"kind": "exponential", "delay": 600, "max": 600}"#));
    it.aws.send("orders", "log(attempt); process.kill(process.pid, 'SIGKILL')");
    for attempt in 1..=2 {
        it.until_logged(attempt);
        it.aws.until_hidden(600);
        drop(app);
        app = it.app();
        it.aws.skip(600);
    }
    it.until_logged(3);
    it.until_said("stdout", "\"reason\":\"broken-response\"", 3);
    drop(app);
    let _app = it.app();
    until("a letter", || it.aws.attribute("orders-dead", "ApproximateNumberOfMessages") == "1");
    it.stop(worker);
}

#[test]
fn no_message_is_received_before_the_app_is_ready() {
    let it = Sidecar::new("http");
    it.aws.send("orders", "log('done'); answer(200)");
    let health = free_port();
    let worker = it.start(it.command("--ready /ready").env("REDRIVE_HEALTH", format!("127.0.0.1:{health}")));
    it.until_said("stderr", "is ready: Connection refused", 1);
    assert_eq!(["/livez", "/readyz"].map(|path| status(health, path)), [200, 503]);
    let _app = it.app();
    assert_eq!(counts(&it.aws, "orders").0, "1");
    std::fs::write(it.folder.path().join("ready"), "").expect("it is ours");
    it.until_said("stderr", "is ready after", 1);
    it.until_logged(1);
    it.until_empty();
    assert_eq!(["/livez", "/readyz"].map(|path| status(health, path)), [200, 200]);
    it.stop(worker);
    // SIGTERM ends it while it waits.
    std::fs::remove_file(it.folder.path().join("ready")).expect("it is ours");
    let worker = it.work("--ready /ready");
    it.until_said("stderr", "/ready answers with HTTP 503", 1);
    signal("-TERM", &worker.0);
    assert_eq!(exit_code(worker), Some(0));
}

#[test]
fn an_app_that_does_not_speak_http2_is_not_ready_for_it() {
    let it = Sidecar::new("http");
    let _app = it.app();
    it.aws.send("orders", "answer(200)");
    let worker = it.work("--http2");
    it.until_said("stderr", "is ready: it does not speak HTTP/2", 1);
    assert_eq!(counts(&it.aws, "orders"), ("1".to_owned(), "0".to_owned()));
    signal("-TERM", &worker.0);
    assert_eq!(exit_code(worker), Some(0));
}

#[test]
fn after_sigterm_requests_under_way_end_and_no_other_begins() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let worker = it.work("--concurrency 1");
    it.aws.send("orders", "log('begun'); setTimeout(() => { log('ended'); answer(200); }, 2000)");
    it.until_logged(1);
    it.aws.send("orders", "log('begun'); answer(200)");
    signal("-TERM", &worker.0);
    assert_eq!(exit_code(worker), Some(0));
    assert_eq!(it.log(), ["begun", "ended"]);
    assert_eq!(counts(&it.aws, "orders"), ("1".to_owned(), "0".to_owned()));
}

#[test]
fn a_message_outlives_the_worker_that_was_killed_over_it() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let worker = it.work("");
    it.aws.send("orders", "log(attempt); if (attempt !== '1') answer(200)");
    it.until_logged(1);
    drop(worker);
    it.aws.skip(31);
    let worker = it.work("");
    it.until_logged(2);
    it.until_empty();
    assert_eq!(it.log(), ["1", "2"]);
    it.stop(worker);
}

/// The first message of each group fails at first. The groups go on beside each other.
#[test]
fn groups_stay_in_order() {
    for flags in ["--concurrency 4", "--concurrency 4 --batch 10"] {
        let it = Sidecar::fifo();
        let _app = it.app();
        for number in 0..12 {
            let (group, place) = (number % 3, number / 3);
            let body = format!(
                "const bodies = event?.Records.map(({{ body }}) => body) ?? [text];\
                 const fails = {place} === 0 && attempt === '1';\
                 if (!fails) bodies.forEach((body) => log(body.split(' ').slice(-2).join(' ')));\
                 answer(fails ? 500 : 200) // {group} {place}"
            );
            let send = it.aws.sqs.send_message().queue_url(it.aws.queue_url("orders.fifo"));
            let send = send.message_group_id(group.to_string()).message_deduplication_id(number.to_string());
            it.aws.wait(send.message_body(body).send()).expect("it is sent");
        }
        let worker = it.work(flags);
        it.until_logged(12);
        for group in 0..3 {
            let of_group = it.log().into_iter().filter(|line| line.starts_with(&group.to_string()));
            let expected = (0..4).map(|place| format!("{group} {place}"));
            assert_eq!(of_group.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{flags}");
        }
        it.until_empty();
        drop(worker);
    }
}

#[test]
fn invalid_arguments_are_refused() {
    let aws = Aws::with_orders(false);
    for (flags, part) in [
        ("--http https://127.0.0.1/", "allowed: http://HOST:PORT/PATH"),
        ("--http 127.0.0.1:8080", "allowed: http://HOST:PORT/PATH"),
        ("--http http://127.0.0.1/ -- true", "cannot be used with"),
        ("--http http://127.0.0.1/ --exit 5=done", "cannot be used with"),
        ("--status 404=reject -- true", "cannot be used with"),
        ("--http http://127.0.0.1/ --status 404", "allowed: a status from 200 to 599"),
        ("--http http://127.0.0.1/ --status 404=done --status 404=retry", "--status is set twice for 404"),
        ("--http http://127.0.0.1/ --batch 0", "allowed: 1 to 10000"),
        ("--http http://127.0.0.1/ --batch 10001", "allowed: 1 to 10000"),
        ("--http http://127.0.0.1/ --ready ready", "allowed: a path that begins with /"),
        ("--batch 5 -- true", "cannot be used with"),
        ("", "<COMMAND|--http <URL>>"),
    ] {
        aws.redrive(&format!("work --queue orders {flags}")).refused(2, part);
    }
}

#[test]
fn the_page_says_how_to_write_an_app() {
    for language in ["py", "js", "go"] {
        let it = Sidecar::new("http");
        let source = it.folder.path().join(format!("charge.{language}"));
        std::fs::write(&source, linked(&format!("http/charge.{language}"))).expect("it is ours");
        let mut app = match language {
            "go" => match compiled_by_go(&source) {
                Some(app) => Command::new(app),
                None => continue,
            },
            "js" => Command::new("node"),
            _ => Command::new("python3"),
        };
        let output = File::create(it.folder.path().join("output")).expect("it is ours");
        let _app = it.listening(app.arg(&source).stdout(output));
        let worker = it.work("");
        it.aws.send("orders", r#"{"id":"A-1","cents":450}"#);
        it.aws.send("orders", r#"{"id":"A-2","cents":0}"#);
        let error = "HTTP 422: an order must cost something".to_owned();
        assert_eq!(note(&it.aws), ("http-422".to_owned(), error, 1), "{language}");
        it.until_empty();
        assert_eq!(read(&it.folder, "output"), "charged A-1 in attempt 1\n", "{language}");
        it.aws.send("orders", "not JSON");
        it.until_said("stdout", "message failed, to be retried", 1);
        it.stop(worker);
    }
}

/// The program of a source file.
fn compiled_by_go(source: &Path) -> Option<PathBuf> {
    let go = root().join("target/venv/bin/go");
    if !go.exists() {
        println!("skipped: the app in Go, since no compiler is installed: run `make test` once");
        return None;
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    let program = source.with_extension("");
    let mut build = Command::new(go);
    build.env("GOCACHE", cache).env("GOTOOLCHAIN", "local").arg("build").arg("-o").arg(&program).arg(source);
    assert!(build.status().expect("it runs").success());
    Some(program)
}

/// Without a length, an app that died before it wrote its result looks like one that reported no failure.
#[test]
fn a_batch_whose_response_has_no_end_of_its_own_is_retried() {
    let it = Sidecar::new("http");
    let _app = it.app();
    let worker = it.work("--batch 10");
    let cut = r"request.socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')";
    it.aws.send("orders", &format!("log(attempt); if (attempt === '1') {cut}; else answer(200)"));
    it.until_logged(2);
    it.until_empty();
    assert_eq!(it.log(), ["1", "2"]);
    it.stop(worker);
}

#[test]
fn a_request_with_several_messages_is_retried_if_the_app_rejects_it() {
    let it = Sidecar::new("http");
    for _ in 0..2 {
        it.aws.send("orders", "log(attempt); if (attempt === '1') answer(422); else answer(200)");
    }
    let _app = it.app();
    let worker = it.work("--batch 10 --concurrency 1");
    it.until_empty();
    assert_eq!(it.log()[0], "1");
    it.stop(worker);
    assert_eq!(counts(&it.aws, "orders-dead"), ("0".to_owned(), "0".to_owned()));
}
