//! A proxy in front of an AWS on this machine: it records all calls, and fails some.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// A call, as the client made it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Such as `SendMessageBatch`, or method and path, such as `GET /2015-03-31/functions/`, of services without actions.
    pub(crate) action: String,
    pub(crate) input: Value,
}

/// What happens to a call.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    Answered,
    /// It takes so long on top.
    Delayed(Duration),
    /// Nothing is done.
    Refused(u16, &'static str),
    /// Nothing is done, for this code and message.
    Says(&'static str, &'static str),
    /// Nothing is done, and this is the answer.
    Answers(Value),
    /// Nothing is done, and there is no answer.
    HungUp,
    /// It is done, and the answer never comes.
    AnswerLost,
    /// The entries at these places are not done.
    EntriesFail(Vec<usize>, &'static str),
    /// All entries are done, and the answer leaves those at these places out.
    EntriesUnmentioned(Vec<usize>),
    /// It is done, and each message of the answer is changed by this.
    MessagesChanged(fn(&mut Value)),
    /// This makes the answer, from the call and from what the target answers to it or to another.
    MadeBy(fn(&Value, &Ask<'_>) -> Value),
}

/// Asks the target something else.
type Ask<'target> = dyn Fn(&Value) -> Value + 'target;

/// Runs until the process of the test ends.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) url: String,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Call {
    pub(crate) fn entries(&self) -> usize {
        self.input["Entries"].as_array().map_or(0, Vec::len)
    }
}

impl Proxy {
    /// `fate` gets each call with how many of its action came before.
    pub(crate) fn start(target: &str, fate: impl Fn(&Call, usize) -> Fate + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let target = target.trim_start_matches("http://").to_owned();
        let (fate, written) = (Arc::new(fate), calls.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (fate, written, target) = (fate.clone(), written.clone(), target.clone());
                // A client that goes away ends its connection.
                std::thread::spawn(move || drop(serve(&client, &target, &written, &*fate)));
            }
        });
        Self { url, calls }
    }

    /// A proxy that only listens.
    pub(crate) fn listening(target: &str) -> Self {
        Self::start(target, |_, _| Fate::Answered)
    }

    /// A proxy that refuses what has such an action, for a code and a message each.
    pub(crate) fn refusing<const N: usize>(
        target: &str,
        faults: [(&'static str, &'static str, &'static str); N],
    ) -> Self {
        Self::start(target, move |call, _| {
            let fault = faults.iter().find(|(action, ..)| call.action.contains(action));
            fault.map_or(Fate::Answered, |(_, code, message)| Fate::Says(code, message))
        })
    }

    /// All calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those of some actions, each with its number of entries.
    pub(crate) fn entries(&self, actions: &[&str]) -> Vec<(String, usize)> {
        let calls = self.calls().into_iter().filter(|call| actions.contains(&call.action.as_str()));
        calls.map(|call| (call.action.clone(), call.entries())).collect()
    }
}

fn serve(
    client: &TcpStream,
    target: &str,
    calls: &Mutex<Vec<Call>>,
    fate: &dyn Fn(&Call, usize) -> Fate,
) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    while let Some((head, body)) = read(&mut reader)? {
        let of_target = header(&head, "x-amz-target").and_then(|target| target.rsplit('.').next());
        let form = if is_form(&head) { String::from_utf8_lossy(&body) } else { "".into() };
        let of_form = form.split('&').find_map(|field| field.strip_prefix("Action="));
        let action =
            of_target.or(of_form).or_else(|| head.first()?.rsplit_once(' ').map(|(action, _)| action));
        let input = serde_json::from_slice(&body).unwrap_or_default();
        let call = Call { action: action.unwrap_or_default().to_owned(), input };
        let before = {
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(call.clone());
            calls.iter().filter(|other| other.action == call.action).count() - 1
        };
        match fate(&call, before) {
            Fate::Answered => (&*client).write_all(&forward(target, &head, &body)?)?,
            Fate::Delayed(time) => {
                std::thread::sleep(time);
                (&*client).write_all(&forward(target, &head, &body)?)?;
            }
            Fate::Refused(status, code) => {
                (&*client).write_all(&refusal(&head, status, code, "a fault of the test"))?;
            }
            Fate::Says(code, message) => (&*client).write_all(&refusal(&head, 400, code, message))?,
            Fate::MessagesChanged(change) => {
                let mut output = asked(target, &head, &body)?;
                output["Messages"].as_array_mut().into_iter().flatten().for_each(change);
                (&*client).write_all(&answer(200, JSON, output.to_string().as_bytes()))?;
            }
            Fate::MadeBy(make) => {
                let ask = |input: &Value| {
                    asked(target, &head, input.to_string().as_bytes()).expect("the target answers")
                };
                let made = make(&call.input, &ask).to_string();
                (&*client).write_all(&answer(200, JSON, made.as_bytes()))?;
            }
            Fate::Answers(body) => (&*client).write_all(&answer(200, JSON, body.to_string().as_bytes()))?,
            Fate::HungUp => return client.shutdown(Shutdown::Both),
            Fate::AnswerLost => {
                forward(target, &head, &body)?;
                return client.shutdown(Shutdown::Both);
            }
            Fate::EntriesFail(places, code) => {
                (&*client).write_all(&without(&places, code, call.input, target, &head)?)?;
            }
            Fate::EntriesUnmentioned(places) => {
                let mut output = asked(target, &head, &body)?;
                let is_told = |entry: &Value| {
                    !places.iter().any(|place| entry["Id"] == call.input["Entries"][place]["Id"])
                };
                output["Successful"].as_array_mut().into_iter().for_each(|told| told.retain(is_told));
                (&*client).write_all(&answer(200, JSON, output.to_string().as_bytes()))?;
            }
        }
    }
    Ok(())
}

/// The head's lines and the body; none at the end of the connection.
fn read(reader: &mut impl BufRead) -> io::Result<Option<(Vec<String>, Vec<u8>)>> {
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((head, body)))
}

/// Asks the target, on a connection of its own.
fn forward(target: &str, head: &[String], body: &[u8]) -> io::Result<Vec<u8>> {
    let mut upstream = TcpStream::connect(target)?;
    let is_length = |line: &&String| line.to_ascii_lowercase().starts_with("content-length:");
    for line in head.iter().filter(|line| !is_length(line)) {
        // The target answers no other host than itself, and an answer names the host.
        let is_of_aws = line.to_ascii_lowercase().starts_with("host:") && line.contains(".amazonaws.com");
        let line = if is_of_aws { format!("host: {target}") } else { line.clone() };
        write!(upstream, "{line}\r\n")?;
    }
    write!(upstream, "content-length: {}\r\n\r\n", body.len())?;
    upstream.write_all(body)?;
    let mut reader = BufReader::new(upstream);
    let (head, body) = read(&mut reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.first().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(500);
    let mut answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for line in head.iter().skip(1).filter(|line| !is_length(line)) {
        answer.push_str(&format!("{line}\r\n"));
    }
    Ok([format!("{answer}\r\n").as_bytes(), &body].concat())
}

/// The JSON that the target answers.
fn asked(target: &str, head: &[String], body: &[u8]) -> io::Result<Value> {
    let answer = forward(target, head, body)?;
    let (_, body) = read(&mut answer.as_slice())?.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(serde_json::from_slice(&body)?)
}

fn header<'head>(head: &'head [String], name: &str) -> Option<&'head str> {
    let lines = head.iter().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn is_form(head: &[String]) -> bool {
    header(head, "content-type").is_some_and(|kind| kind.contains("x-www-form-urlencoded"))
}

const JSON: &str = "application/x-amz-json-1.0";

fn answer(status: u16, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// An error in the protocol of the request: CBOR for CloudWatch, JSON for all others.
fn refusal(head: &[String], status: u16, code: &str, message: &str) -> Vec<u8> {
    if header(head, "smithy-protocol") == Some("rpc-v2-cbor") {
        let body = [&[0xa2][..], &cbor("__type"), &cbor(code), &cbor("message"), &cbor(message)].concat();
        return answer(status, "application/cbor\r\nsmithy-protocol: rpc-v2-cbor", &body);
    }
    if is_form(head) {
        let error = format!("<Type>Sender</Type><Code>{code}</Code><Message>{message}</Message>");
        let body = format!("<ErrorResponse><Error>{error}</Error></ErrorResponse>");
        return answer(status, "text/xml", body.as_bytes());
    }
    let body = json!({ "__type": code, "message": message }).to_string();
    answer(status, &format!("application/json\r\nx-amzn-errortype: {code}"), body.as_bytes())
}

/// A text of less than 256 bytes.
fn cbor(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).expect("it is short");
    [&[0x78, length][..], text.as_bytes()].concat()
}

/// Does the other entries, and says that these failed.
fn without(
    places: &[usize],
    code: &str,
    mut input: Value,
    target: &str,
    head: &[String],
) -> io::Result<Vec<u8>> {
    let entries = input["Entries"].as_array().cloned().unwrap_or_default();
    let (failing, done): (Vec<_>, Vec<_>) =
        entries.into_iter().enumerate().partition(|(place, _)| places.contains(place));
    let failed: Vec<_> = failing
        .iter()
        .map(|(_, entry)| {
            let is_the_senders = code != "InternalError";
            json!({ "Id": entry["Id"], "SenderFault": is_the_senders, "Code": code, "Message": "a fault" })
        })
        .collect();
    let mut output = json!({ "Successful": [] });
    if !done.is_empty() {
        input["Entries"] = done.into_iter().map(|(_, entry)| entry).collect();
        output = asked(target, head, input.to_string().as_bytes())?;
    }
    output["Failed"] = failed.into();
    Ok(answer(200, JSON, output.to_string().as_bytes()))
}
