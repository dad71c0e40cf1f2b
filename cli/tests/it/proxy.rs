//! A proxy before an AWS on this machine: it writes every call down, and lets some go wrong.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// A call, as the client made it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Such as `SendMessageBatch`.
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
    /// It is done, and the answer never comes.
    AnswerLost,
    /// The entries at these places are not done.
    EntriesFail(Vec<usize>, &'static str),
}

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
        let action = head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("x-amz-target").then(|| value.trim().trim_start_matches("AmazonSQS."))
        });
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
                let body = json!({ "__type": code, "message": "a fault of the test" }).to_string();
                (&*client).write_all(&answer(status, body.as_bytes()))?;
            }
            Fate::AnswerLost => {
                forward(target, &head, &body)?;
                return client.shutdown(Shutdown::Both);
            }
            Fate::EntriesFail(places, code) => {
                (&*client).write_all(&without(&places, code, call.input, target, &head)?)?;
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

fn answer(status: u16, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Does the other entries, and says that these failed at the service.
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
        .map(|(_, entry)| json!({ "Id": entry["Id"], "SenderFault": true, "Code": code, "Message": "a fault" }))
        .collect();
    let mut output = json!({ "Successful": [] });
    if !done.is_empty() {
        input["Entries"] = done.into_iter().map(|(_, entry)| entry).collect();
        let answer = forward(target, head, input.to_string().as_bytes())?;
        let (_, body) = read(&mut answer.as_slice())?.ok_or(io::ErrorKind::UnexpectedEof)?;
        output = serde_json::from_slice(&body)?;
    }
    output["Failed"] = failed.into();
    Ok(answer(200, output.to_string().as_bytes()))
}
