//! Letters on their way to the page: a line of JSON for each, then their groups, then how it ended.

use std::convert::Infallible;
use std::path::PathBuf;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use redrive_sqs::cut_to;
use serde::Deserialize;
use serde_json::{Value, json};

use super::action::{MOST_LETTERS, Words};
use super::child::{Child, Line};
use crate::letters::groups;

/// What the page keeps of all bodies, in bytes. Behind that it keeps their beginnings.
const MOST_BODIES: usize = 64 << 20;
const BEGINNING: usize = 1_000;
/// More of an error than groups compare.
const ERROR: usize = 1_200;

#[derive(Debug, Deserialize)]
struct Why {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    error: String,
}

#[derive(Debug)]
struct Listed {
    child: Option<Child>,
    whys: Vec<(String, String)>,
    bodies: usize,
}

/// Runs `dlq list`, and passes on what it writes. A reader that leaves ends it.
///
/// # Errors
/// It cannot be started.
pub(super) fn list(program: &PathBuf, words: &Words, most: Option<usize>) -> Result<Response, String> {
    let most = most.map(|most| most.to_string());
    let flags: Vec<&str> = most.iter().flat_map(|most| ["--max", most.as_str()]).chain(["--json"]).collect();
    let child = Child::start(program, &words.with(&flags), String::new(), None)
        .map_err(|error| format!("could not start {}: {error}", program.display()))?;
    let listed = Listed { child: Some(child), whys: vec![], bodies: 0 };
    let command = format!("{}\n", json!({ "command": words.typed() }));
    let lines = unfold((listed, Some(command)), async |(mut listed, first)| {
        let line = match first {
            Some(line) => line,
            None => listed.next().await?,
        };
        Some((Ok::<_, Infallible>(Bytes::from(line)), (listed, None)))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

/// All letters that one receive of each queue returns.
pub(super) const ALL: Option<usize> = None;
/// Those of one queue.
pub(super) const OF_QUEUE: Option<usize> = Some(MOST_LETTERS);

impl Listed {
    async fn next(&mut self) -> Option<String> {
        let child = self.child.as_mut()?;
        let line = match child.next().await {
            Some(Line::Data(line)) => self.letter(line),
            Some(Line::Said(line)) => json!({ "said": line }).to_string(),
            None => {
                let code = child.code().await;
                self.child = None;
                json!({ "groups": groups(&self.whys), "ended": code }).to_string()
            }
        };
        Some(line + "\n")
    }

    fn letter(&mut self, mut line: String) -> String {
        let why: Why =
            serde_json::from_str(&line).unwrap_or(Why { reason: String::new(), error: String::new() });
        self.whys.push((why.reason, cut_to(&why.error, ERROR).into_owned()));
        self.bodies += line.len();
        if self.bodies > MOST_BODIES {
            line = with_beginning(&line).unwrap_or(line);
        }
        format!("{{\"letter\":{line}}}")
    }
}

/// A letter with the beginning of its body, if it has more.
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
    use super::*;

    #[test]
    fn a_long_body_is_cut_once_there_are_many() {
        let mut listed = Listed { child: None, whys: vec![], bodies: MOST_BODIES };
        let long = json!({ "id": "1", "body": "x".repeat(5_000), "reason": "panic", "error": "index 7" });
        let told: Value = serde_json::from_str(&listed.letter(long.to_string())).unwrap();
        assert_eq!(told["letter"]["is_cut"], true);
        assert!(told["letter"]["body"].as_str().unwrap().len() <= BEGINNING + 4);
        let short = json!({ "id": "2", "body": "{}", "reason": "panic", "error": "index 8" });
        assert_eq!(listed.letter(short.to_string()), format!("{{\"letter\":{short}}}"));
        assert_eq!(groups(&listed.whys)[0].letters, [0, 1]);
    }
}
