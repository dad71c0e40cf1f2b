//! Callers that `redrive local` refuses, and its greatest number of connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::running::{Running, built, free_port, root, wait_for};

/// Enough for a run with a page and a function. Most shells allow 1,024.
const DESCRIPTORS: usize = 128;

fn ask(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket takes a timeout");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers with text, and in time");
    answer
}

fn start(port: u16, page: u16) -> Running {
    let child = Command::new("sh")
        .args(["-c", &format!("ulimit -n {DESCRIPTORS} && exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_redrive"))
        .current_dir(root())
        .args(["local", "--json", "--port", &port.to_string(), "--ui", &page.to_string(), "--binary"])
        .arg(built("orders"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    wait_for(page);
    wait_for(port);
    Running(child)
}

#[test]
fn more_clients_than_file_descriptors_that_say_nothing_hold_up_nobody() {
    let (port, page) = (free_port(), free_port());
    let _running = start(port, page);
    for port in [port, page] {
        let mut silent = Vec::new();
        for number in 0..2 * DESCRIPTORS {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            stream.write_all(["", "GET / HTTP/1.1\r\n"][number % 2].as_bytes()).expect("it is open");
            silent.push(stream);
        }
        let begun = Instant::now();
        let path = "/?Action=ListQueues&Version=2012-11-05";
        let answer =
            ask(port, &format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }
}

/// What else the page asks of a request is tested in `crates/cli/tests/page`.
#[test]
fn no_other_site_reaches_the_page() {
    let (port, page) = (free_port(), free_port());
    let _running = start(port, page);
    let body = "{\"queue\":\"redrive-orders\",\"body\":\"{}\"}";
    let post = |headers: &str| {
        let length = body.len();
        let head = "POST /messages HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json";
        ask(page, &format!("{head}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"))
    };
    let own = format!("127.0.0.1:{page}");
    for foreign in [
        format!("host: evil.example:{page}\r\n"),
        format!("host: 0.0.0.0:{page}\r\n"),
        format!("host: {own}\r\norigin: http://evil.example\r\n"),
        format!("host: {own}\r\norigin: http://127.0.0.1:{port}\r\n"),
        format!("host: {own}\r\nsec-fetch-site: cross-site\r\n"),
        format!("host: {own}\r\nsec-fetch-site: same-site\r\n"),
    ] {
        let answer = post(&foreign);
        assert!(answer.starts_with("HTTP/1.1 403"), "{foreign}: {answer}");
    }
    let answer = post(&format!("host: {own}\r\norigin: http://{own}\r\nsec-fetch-site: same-origin\r\n"));
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}
