//! Measures the messages per second of SQS endpoints: sent, received and deleted in batches of ten, over four connections
//! that are kept alive.
//!
//! ```text
//! cargo run --locked --release -p redrive-local --example throughput MESSAGES ROUNDS NAME=URL...
//! ```
//!
//! The endpoints take turns in every round, so that other work of the machine affects all of them. Prints each round, the
//! median of each endpoint, and how many times faster the first one is than the others.
#![allow(clippy::disallowed_methods, reason = "it measures")]

use std::error::Error;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const CONNECTIONS: usize = 4;
const BATCH: usize = 10;
/// Size of a body in bytes: that of a small order.
const BODY: usize = 256;
/// Longest wait for an answer, and for progress in a round.
const PATIENCE: Duration = Duration::from_secs(30);
const USAGE: &str = "usage: throughput MESSAGES ROUNDS NAME=URL...";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [messages, rounds, endpoints @ ..] = arguments.as_slice() else { return Err(USAGE.into()) };
    let (messages, rounds): (usize, usize) = (messages.parse()?, rounds.parse()?);
    let endpoints: Option<Vec<_>> = endpoints.iter().map(|each| each.split_once("=http://")).collect();
    let endpoints = endpoints.filter(|endpoints| !endpoints.is_empty() && rounds > 0).ok_or(USAGE)?;
    let mut rates = vec![Vec::new(); endpoints.len()];
    for round in 1..=rounds {
        for ((name, host), rates) in endpoints.iter().zip(&mut rates) {
            let queue = format!("load-{}-{round}", std::process::id());
            let rate = pass(host, &queue, messages).map_err(|error| format!("{name}: {error}"))?;
            println!("round {round}: {name} {rate:.0} messages/s");
            rates.push(rate);
        }
    }
    let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
    for ((name, _), rate) in endpoints.iter().zip(&medians) {
        println!("median: {name} {rate:.0} messages/s");
    }
    for ((name, _), rate) in endpoints.iter().zip(&medians).skip(1) {
        println!("{} is {:.1} times as fast as {name}", endpoints[0].0, medians[0] / rate);
    }
    Ok(())
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Passes messages through a new queue, and returns the messages per second.
fn pass(host: &str, name: &str, messages: usize) -> Outcome<f64> {
    let mut setup = Connection::open(host)?;
    let created = setup.ask("CreateQueue", &format!("{{\"QueueName\":\"{name}\"}}"))?;
    let queue = values(&created, "QueueUrl").next().ok_or("no URL of the queue")?;
    let (to_send, deleted) = (AtomicUsize::new(messages.div_ceil(BATCH)), AtomicUsize::new(0));
    let messages = messages.next_multiple_of(BATCH);
    let begun = Instant::now();
    thread::scope(|scope| -> Outcome<()> {
        let work = || work(host, queue, &to_send, &deleted, messages);
        let workers: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let rate = messages as f64 / begun.elapsed().as_secs_f64();
    setup.ask("DeleteQueue", &format!("{{\"QueueUrl\":\"{queue}\"}}"))?;
    Ok(rate)
}

/// Does one connection's share: sends a batch for each batch that it receives and deletes, until all are deleted.
fn work(
    host: &str,
    queue: &str,
    to_send: &AtomicUsize,
    deleted: &AtomicUsize,
    messages: usize,
) -> Outcome<()> {
    let mut connection = Connection::open(host)?;
    let body = "x".repeat(BODY);
    let send = batch(queue, "MessageBody", std::iter::repeat_n(body.as_str(), BATCH));
    let receive = format!("{{\"QueueUrl\":\"{queue}\",\"MaxNumberOfMessages\":{BATCH}}}");
    let mut progress = Instant::now();
    while deleted.load(Ordering::Relaxed) < messages {
        if to_send.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            accepted(&connection.ask("SendMessageBatch", &send)?, BATCH)?;
        }
        let answer = connection.ask("ReceiveMessage", &receive)?;
        let handles: Vec<&str> = values(&answer, "ReceiptHandle").collect();
        if handles.is_empty() {
            if progress.elapsed() > PATIENCE {
                return Err("messages are missing".into());
            }
            continue;
        }
        let delete = batch(queue, "ReceiptHandle", handles.iter().copied());
        accepted(&connection.ask("DeleteMessageBatch", &delete)?, handles.len())?;
        deleted.fetch_add(handles.len(), Ordering::Relaxed);
        progress = Instant::now();
    }
    Ok(())
}

/// Returns the JSON of a batch whose entries have an id and one more field. Nothing in it needs escapes.
fn batch<'value>(queue: &str, field: &str, values: impl Iterator<Item = &'value str>) -> String {
    let mut json = format!("{{\"QueueUrl\":\"{queue}\",\"Entries\":[");
    for (id, value) in values.enumerate() {
        let comma = if id == 0 { "" } else { "," };
        json.extend([comma, "{\"Id\":\"", &id.to_string(), "\",\"", field, "\":\"", value, "\"}"]);
    }
    json + "]}"
}

/// Returns the text values of a field, wherever it is. Parsing JSON would cost more time than some servers take.
fn values<'json>(json: &'json str, field: &str) -> impl Iterator<Item = &'json str> {
    let name = format!("\"{field}\"");
    let places: Vec<usize> = json.match_indices(&name).map(|(at, _)| at + name.len()).collect();
    places.into_iter().filter_map(|at| json[at..].split('"').nth(1))
}

fn accepted(answer: &str, entries: usize) -> Outcome<()> {
    if values(answer, "Id").count() == entries && !answer.contains("\"Code\"") {
        return Ok(());
    }
    Err(format!("a batch was not accepted: {answer}").into())
}

/// A connection that speaks just enough HTTP.
struct Connection {
    host: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(host: &str) -> Outcome<Self> {
        let host = host.trim_end_matches('/').to_owned();
        let stream = TcpStream::connect(&host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { host, stream: BufReader::new(stream) })
    }

    fn ask(&mut self, operation: &str, body: &str) -> Outcome<String> {
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/x-amz-json-1.0\r\n\
             x-amz-target: AmazonSQS.{operation}\r\ncontent-length: {}\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential=test/20260101/eu-west-1/sqs/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n{body}",
            self.host,
            body.len()
        );
        let (status, answer) = match self.exchange(&request)? {
            Some(answer) => answer,
            // Servers close connections that were idle or have served enough requests. Clients then open new ones.
            None => {
                *self = Self::open(&self.host)?;
                self.exchange(&request)?.ok_or("the connection was closed")?
            }
        };
        if status != "200" {
            return Err(format!("{operation}: {status} {answer}").into());
        }
        Ok(answer)
    }

    /// Returns the status and body of the answer, or None if the connection was closed before it arrived.
    fn exchange(&mut self, request: &str) -> Outcome<Option<(String, String)>> {
        if self.stream.get_mut().write_all(request.as_bytes()).is_err() {
            return Ok(None);
        }
        let status = match self.stream.fill_buf() {
            Ok([]) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            Ok(_) => self.line()?.split(' ').nth(1).unwrap_or_default().to_owned(),
            Err(error) => return Err(error.into()),
        };
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if line.starts_with("transfer-encoding:") {
                return Err("an answer without a length".into());
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Some((status, String::from_utf8(body)?)))
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}
