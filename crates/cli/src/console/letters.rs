//! Streams letters to the page: a line of JSON for each, then their groups, then the end of the verb.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use redrive_sqs::cut_to;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::action::{MOST_LETTERS, Words};
use super::child::{Child, OutputLine};
use crate::letters::groups;

/// Timeout for a page that does not read, such as one of a sleeping laptop, which must not keep letters hidden.
const PATIENCE: Duration = Duration::from_secs(15);
/// Lines that may wait for the page.
const LINES: usize = 64;

/// Bytes of bodies that the page keeps. Of further ones it keeps the first characters.
const MOST_BODIES: usize = 64 << 20;
const BEGINNING: usize = 1_000;
/// Characters of an error. The groups compare fewer.
const ERROR: usize = 1_200;

#[derive(Debug, Deserialize)]
struct LetterError {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    error: String,
}

#[derive(Debug, Default)]
struct Listed {
    errors: Vec<(String, String)>,
    bodies: usize,
}

/// Runs `dlq list` and passes its output on. It ends if the reader leaves, or does not read for some time. The lock is
/// released at the end.
///
/// # Errors
/// It cannot be started.
pub(super) fn list<Lock: Send + 'static>(
    program: &Path,
    words: &Words,
    most: Option<usize>,
    lock: Lock,
) -> Result<Response, String> {
    let most = most.map(|most| most.to_string());
    let flags: Vec<&str> = most.iter().flat_map(|most| ["--max", most.as_str()]).chain(["--json"]).collect();
    let mut child = Child::start(program, &words.with(&flags), String::new(), None)?;
    let (sender, receiver) = mpsc::channel(LINES);
    let command = json!({ "command": words.typed() }).to_string();
    tokio::spawn(async move {
        let mut listed = Listed::default();
        let is_read = async |line| sender.send_timeout(line, PATIENCE).await.is_ok();
        let mut goes_on = is_read(command).await;
        while goes_on {
            // A child that reads a log is silent for up to a minute.
            let line = tokio::select! {
                line = child.next() => line,
                () = sender.closed() => {
                    goes_on = false;
                    break;
                }
            };
            let Some(line) = line else { break };
            goes_on = is_read(listed.line(line)).await;
        }
        if goes_on {
            let code = child.code().await;
            is_read(json!({ "groups": groups(&listed.errors), "ended": code }).to_string()).await;
        } else {
            child.end().await;
        }
        drop(lock);
    });
    let lines = unfold(receiver, async |mut receiver| {
        let line = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Bytes::from(line + "\n")), receiver))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

/// No limit, for the letters that one receive of each queue returns.
pub(super) const ALL: Option<usize> = None;
/// Limit for the letters of one queue.
pub(super) const OF_QUEUE: Option<usize> = Some(MOST_LETTERS);

impl Listed {
    fn line(&mut self, line: OutputLine) -> String {
        match line {
            OutputLine::Stdout(line) => self.letter(line),
            OutputLine::Stderr(line) => json!({ "said": line }).to_string(),
        }
    }

    fn letter(&mut self, mut line: String) -> String {
        let error: LetterError = serde_json::from_str(&line)
            .unwrap_or(LetterError { reason: String::new(), error: String::new() });
        self.errors.push((error.reason, cut_to(&error.error, ERROR).into_owned()));
        self.bodies += line.len();
        if self.bodies > MOST_BODIES {
            line = with_beginning(&line).unwrap_or(line);
        }
        format!("{{\"letter\":{line}}}")
    }
}

/// Shortens the body of a letter, if it is long.
fn with_beginning(line: &str) -> Option<String> {
    let mut letter: Value = serde_json::from_str(line).ok()?;
    let body = letter.get("body")?.as_str()?;
    if body.len() <= BEGINNING {
        return None;
    }
    let beginning = cut_to(body, BEGINNING).into_owned();
    letter["body"] = json!(beginning);
    letter["is_cut"] = json!(true);
    Some(letter.to_string())
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    #[tokio::test]
    async fn a_reader_that_leaves_ends_a_verb_that_says_nothing() {
        let (lock, released) = tokio::sync::oneshot::channel::<()>();
        let words = Words::new(&["-c", "exec sleep 60"]);
        let mut lines = list(Path::new("sh"), &words, None, lock).unwrap().into_body().into_data_stream();
        let command = lines.next().await.unwrap().unwrap();
        assert!(command.starts_with(b"{\"command\":"), "{command:?}");
        drop(lines);
        assert!(tokio::time::timeout(Duration::from_secs(10), released).await.is_ok(), "it ends at once");
    }

    #[test]
    fn a_long_body_is_cut_once_there_are_many() {
        let mut listed = Listed { bodies: MOST_BODIES, ..Listed::default() };
        let long = json!({ "id": "1", "body": "x".repeat(5_000), "reason": "panic", "error": "index 7" });
        let told: Value = serde_json::from_str(&listed.letter(long.to_string())).unwrap();
        assert_eq!(told["letter"]["is_cut"], true);
        assert!(told["letter"]["body"].as_str().unwrap().len() <= BEGINNING + 4);
        let short = json!({ "id": "2", "body": "{}", "reason": "panic", "error": "index 8" });
        assert_eq!(listed.letter(short.to_string()), format!("{{\"letter\":{short}}}"));
        assert_eq!(groups(&listed.errors)[0].letters, [0, 1]);
    }
}
