//! A proxy in front of an endpoint that answers some requests with an error of AWS, and passes on all others.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is answered instead.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// Of requests whose first line, headers or form have this, such as `AmazonSQS.SendMessage`, `Action=GetTemplate`.
    pub(crate) of: &'static str,
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    /// How many requests; then all are passed on.
    pub(crate) times: usize,
}

impl Fault {
    /// An error of a client for as long as the proxy lives.
    pub(crate) fn new(of: &'static str, code: &'static str, message: &'static str) -> Self {
        Self { of, status: 400, code, message, times: usize::MAX }
    }
}

/// Starts it; it lives as long as the test's process. Returns its URL.
pub(crate) fn faulty(upstream: &str, faults: Vec<Fault>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it has a port"));
    let upstream = upstream.trim_start_matches("http://").to_owned();
    let faults: Arc<[_]> = faults.into_iter().map(|fault| (fault, AtomicUsize::new(0))).collect();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (upstream, faults) = (upstream.clone(), faults.clone());
            // Whoever hangs up early has what it wanted.
            std::thread::spawn(move || serve(client, &upstream, &faults).ok());
        }
    });
    url
}

fn serve(mut client: TcpStream, upstream: &str, faults: &[(Fault, AtomicUsize)]) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        if line.trim().is_empty() {
            break;
        }
        if !lower.starts_with("connection:") {
            head += &line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let is_form = head.contains("x-www-form-urlencoded");
    let form = if is_form { String::from_utf8_lossy(&body) } else { "".into() };
    let is_due = |(fault, done): &&(Fault, AtomicUsize)| {
        (head.contains(fault.of) || form.contains(fault.of))
            && done.fetch_add(1, Ordering::SeqCst) < fault.times
    };
    if let Some((fault, _)) = faults.iter().find(is_due) {
        return client.write_all(&answer(fault, head.contains("rpc-v2-cbor"), is_form));
    }
    let mut server = TcpStream::connect(upstream)?;
    write!(server, "{head}Connection: close\r\n\r\n")?;
    server.write_all(&body)?;
    std::io::copy(&mut server, &mut client)?;
    Ok(())
}

/// In the protocol of the request: CBOR for CloudWatch, XML for CloudFormation, JSON for all others.
fn answer(Fault { status, code, message, .. }: &Fault, is_cbor: bool, is_form: bool) -> Vec<u8> {
    let body = match (is_cbor, is_form) {
        (true, _) => [&[0xa2][..], &text("__type"), &text(code), &text("message"), &text(message)].concat(),
        (false, true) => format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>\
             </ErrorResponse>"
        )
        .into_bytes(),
        (false, false) => serde_json::json!({ "__type": code, "message": message }).to_string().into_bytes(),
    };
    let kind = match (is_cbor, is_form) {
        (true, _) => "application/cbor\r\nsmithy-protocol: rpc-v2-cbor",
        (false, true) => "text/xml",
        (false, false) => "application/json",
    };
    let head = format!(
        "HTTP/1.1 {status} Error\r\nContent-Type: {kind}\r\nx-amzn-errortype: {code}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

/// A text of less than 256 bytes in CBOR.
fn text(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).expect("it is short");
    [&[0x78, length][..], text.as_bytes()].concat()
}
