//! A function that uses the Lambda Runtime API over bare sockets, and obeys the bodies of its messages.
//!
//! The first word of a body is the action. A number after it limits the action to that many attempts, after which it
//! succeeds: `ok`, `fail`, `error`, `garbage`, `stranger` (reports an id that it did not get), `hang`, `exit`, `killed`,
//! `huge` (a response above 6 MB), `hide` (visible again in that many seconds, and fails), `letter` (writes a dead letter,
//! with the text after it as its error), `say` (prints a text), `throw` (fails with a text), `metric` (a metric with that
//! value), `embedded` (the same by a line of its log), `ages` (prints how old the message is), `slow` (takes that many
//! milliseconds), `send` (sends `ok` to the queue of that name), `where` (prints the address of its Runtime API).
//! `START=error` or `START=exit` make it not start.
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, exit, id};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciborium::cbor;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const RUNTIME: &str = "/2018-06-01/runtime";

enum Answer {
    Failures(Vec<Value>),
    Text(String),
    Error(String),
}

fn main() -> Outcome<()> {
    let runtime_api = variable("AWS_LAMBDA_RUNTIME_API");
    match variable("START").as_str() {
        "exit" => {
            eprintln!("no license");
            exit(7);
        }
        "error" => {
            let report = json!({ "errorType": "Setup", "errorMessage": "no database" }).to_string();
            call(&runtime_api, "POST", &format!("{RUNTIME}/init/error"), &[], report.as_bytes())?;
            exit(1);
        }
        _ => println!("started {}", id()),
    }
    loop {
        let (headers, event) = call(&runtime_api, "GET", &format!("{RUNTIME}/invocation/next"), &[], b"")?;
        let request_id = header(&headers, "lambda-runtime-aws-request-id");
        let deadline: u128 = header(&headers, "lambda-runtime-deadline-ms").parse()?;
        println!("time left {}", deadline.saturating_sub(now()));
        let (route, body) = match handle(&serde_json::from_slice(&event)?)? {
            Answer::Failures(failures) => ("response", json!({ "batchItemFailures": failures }).to_string()),
            Answer::Text(text) => ("response", text),
            Answer::Error(why) => ("error", json!({ "errorType": "Boom", "errorMessage": why }).to_string()),
        };
        let path = format!("{RUNTIME}/invocation/{request_id}/{route}");
        // A response that is too large may be refused before it has been read.
        let _ = call(&runtime_api, "POST", &path, &[], body.as_bytes());
    }
}

fn handle(event: &Value) -> Outcome<Answer> {
    let mut failures = Vec::new();
    for record in event["Records"].as_array().ok_or("no records")? {
        let body = record["body"].as_str().ok_or("no body")?;
        let attempt: u64 = attribute(record, "ApproximateReceiveCount").parse()?;
        let (verb, rest) = body.split_once(' ').unwrap_or((body, ""));
        let number: Option<u64> = rest.parse().ok();
        let failed = json!({ "itemIdentifier": record["messageId"] });
        match verb {
            "hide" => {
                let visibility = json!({ "QueueUrl": queue_url(record, ""), "ReceiptHandle": record["receiptHandle"],
                    "VisibilityTimeout": number });
                sqs("ChangeMessageVisibility", &visibility)?;
                failures.push(failed);
            }
            "letter" => letter(record, attempt, rest)?,
            "say" => println!("{}", text(rest)?),
            "throw" => return Ok(Answer::Error(text(rest)?)),
            "metric" => metric(number.unwrap_or(1))?,
            "embedded" => embedded(number.unwrap_or(1)),
            "where" => println!("runtime api {}", variable("AWS_LAMBDA_RUNTIME_API")),
            "slow" => sleep(Duration::from_millis(number.unwrap_or(0))),
            "send" => {
                sqs("SendMessage", &json!({ "QueueUrl": url_of(record, rest), "MessageBody": "ok" }))?;
            }
            "ages" => {
                let age = |name: &str| Outcome::Ok(now() - attribute(record, name).parse::<u128>()?);
                let (sent, received) = (age("SentTimestamp")?, age("ApproximateFirstReceiveTimestamp")?);
                println!("sent {} s ago, first received {} s ago", sent / 1_000, received / 1_000);
                if attempt == 1 {
                    failures.push(failed);
                }
            }
            _ if number.is_some_and(|attempts| attempt > attempts) => (),
            "fail" => failures.push(failed),
            "error" => return Ok(Answer::Error("it broke".into())),
            "garbage" => return Ok(Answer::Text("{".into())),
            "stranger" => failures.push(json!({ "itemIdentifier": "somebody-else" })),
            "huge" => return Ok(Answer::Text(format!("\"{}\"", "x".repeat(7 << 20)))),
            "hang" => sleep(Duration::from_secs(3_600)),
            "exit" => exit(3),
            "killed" => {
                Command::new("kill").args(["-9", &id().to_string()]).status()?;
                sleep(Duration::from_secs(3_600));
            }
            _ => (),
        }
    }
    Ok(Answer::Failures(failures))
}

/// Parses a JSON string, so that a body can contain escapes.
fn text(json: &str) -> Outcome<String> {
    Ok(serde_json::from_str(json)?)
}

fn letter(record: &Value, attempt: u64, why: &str) -> Outcome<()> {
    let error = if why.is_empty() { "no such tea".into() } else { text(why)? };
    let note = json!({ "reason": "rejected", "error": error, "attempts": attempt,
        "message_id": record["messageId"], "source": record["eventSourceARN"] });
    let attribute = json!({ "DataType": "String", "StringValue": note.to_string() });
    sqs(
        "SendMessage",
        &json!({ "QueueUrl": queue_url(record, "-dead"), "MessageBody": record["body"],
            "MessageAttributes": { "redrive.dead-letter": attribute } }),
    )
}

fn metric(value: u64) -> Outcome<()> {
    let data =
        cbor!({ "Namespace" => "Shop", "MetricData" => [{ "MetricName" => "Orders", "Value" => value }] })?;
    let mut body = Vec::new();
    ciborium::into_writer(&data, &mut body)?;
    let headers = [("smithy-protocol", "rpc-v2-cbor"), ("content-type", "application/cbor")];
    aws("/service/GraniteServiceVersion20100801/operation/PutMetricData", &headers, &body)
}

fn embedded(value: u64) {
    let directive = json!({ "Namespace": "Shop", "Dimensions": [["Kind"]], "Metrics": [{ "Name": "Cups", "Unit": "Count" }] });
    let metadata = json!({ "Timestamp": now() as u64, "CloudWatchMetrics": [directive] });
    println!("{}", json!({ "_aws": metadata, "Kind": "tea", "Cups": value }));
}

fn sqs(operation: &str, input: &Value) -> Outcome<()> {
    let target = format!("AmazonSQS.{operation}");
    let headers = [("x-amz-target", target.as_str()), ("content-type", "application/x-amz-json-1.0")];
    aws("/", &headers, input.to_string().as_bytes())
}

fn aws(path: &str, headers: &[(&str, &str)], body: &[u8]) -> Outcome<()> {
    let endpoint = variable("AWS_ENDPOINT_URL");
    let (head, body) = call(endpoint.trim_start_matches("http://"), "POST", path, headers, body)?;
    if head.starts_with("http/1.1 200") {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&body).into())
}

/// Returns the URL of a record's queue, or of the queue with this suffix.
fn queue_url(record: &Value, suffix: &str) -> String {
    let arn = record["eventSourceARN"].as_str().unwrap_or_default();
    let name = arn.rsplit(':').next().unwrap_or_default();
    url_of(record, &format!("{name}{suffix}"))
}

/// Returns the URL of another queue of the same account.
fn url_of(record: &Value, name: &str) -> String {
    let arn = record["eventSourceARN"].as_str().unwrap_or_default();
    let account = arn.rsplit(':').nth(1).unwrap_or_default();
    format!("{}/{account}/{name}", variable("AWS_ENDPOINT_URL"))
}

/// Makes one HTTP request on a new connection, to a host and the prefix of its paths. Returns the head in lower case, and the
/// body.
fn call(
    base: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Outcome<(String, Vec<u8>)> {
    let (host, prefix) = base.split_at(base.find('/').unwrap_or(base.len()));
    let mut stream = TcpStream::connect(host)?;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    write!(
        stream,
        "{method} {prefix}{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
    )?;
    stream.write_all(body)?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    let end = response.windows(4).position(|window| window == b"\r\n\r\n").ok_or("no response")?;
    let body = response.split_off(end + 4);
    Ok((String::from_utf8(response)?.to_lowercase(), body))
}

fn header(head: &str, name: &str) -> String {
    let value = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.unwrap_or_default().trim().to_owned()
}

fn attribute(record: &Value, name: &str) -> String {
    record["attributes"][name].as_str().unwrap_or_default().to_owned()
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}
