//! Searches bodies beyond the beginning that rows contain.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::actions::read;
use super::shared::Shared;
use crate::command::page::{error, respond};

/// Most characters of a word that are searched for.
const LONGEST_WORD: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    /// The word, in any case.
    word: String,
    /// Search only messages with a higher number. Others were searched before.
    #[serde(default)]
    after: u64,
}

pub(super) async fn search(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Search { word, after } = match read(&body) {
        Ok(search) => search,
        Err(refusal) => return *refusal,
    };
    let Some(word) = Word::new(&word) else {
        let reason = format!("word must have 1 to {LONGEST_WORD} characters");
        return error(StatusCode::BAD_REQUEST, &reason);
    };
    // One search at a time for all readers, because it reads up to 64 MiB.
    let turn = Arc::clone(&shared.searches).acquire_owned().await;
    let found = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        find(&shared, &word, after)
    });
    match found.await {
        Ok(found) => respond(StatusCode::OK, &found),
        Err(failed) => error(StatusCode::INTERNAL_SERVER_ERROR, &failed.to_string()),
    }
}

/// Returns the numbers of the messages whose bodies contain the word, the number of bodies that are not kept, and the last
/// number that was searched.
fn find(shared: &Shared, word: &Word, after: u64) -> Value {
    let (to, long) = {
        let model = shared.model();
        let messages = model.messages.since(after).filter(|message| message.cut);
        let long: Vec<_> = messages.map(|message| (message.number, message.id.clone())).collect();
        (model.messages.next() - 1, long)
    };
    let (mut numbers, mut gone) = (Vec::new(), 0);
    for (number, id) in long {
        match shared.control.message(&id) {
            Some(sent) if word.is_in(&sent.message.body) => numbers.push(number),
            Some(_) => (),
            None => gone += 1,
        }
    }
    json!({ "numbers": numbers, "gone": gone, "to": to })
}

/// A word that went through [`folded`].
struct Word(String);

impl Word {
    fn new(word: &str) -> Option<Self> {
        if word.is_empty() || word.chars().nth(LONGEST_WORD).is_some() {
            return None;
        }
        Some(Self(folded(word)))
    }

    /// Returns true if the body contains the word. JSON is also searched as rows show it, without quotes and brackets.
    fn is_in(&self, body: &str) -> bool {
        let Self(word) = self;
        let is_json = || body.trim_start().starts_with(['{', '[']);
        let body = folded(body);
        body.contains(word) || is_json() && body.replace(['"', '{', '}', '[', ']', '\\'], "").contains(word)
    }
}

/// Folds a text's case, so that texts which differ only in case become equal. Some letters have several forms.
fn folded(text: &str) -> String {
    text.to_lowercase().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_any_case_and_as_it_is() {
        let is_in = |word: &str, body: &str| Word::new(word).unwrap().is_in(body);
        assert!(is_in("Needle", "hay nEEdle hay") && is_in("ÄRGER", "ärger"));
        assert!(is_in("ΣΟΣ", "σος σας"));
        assert!(is_in("a.c", "a.c") && !is_in("a.c", "abc") && is_in("(", "f("));
    }

    #[test]
    fn json_is_also_found_as_rows_show_it() {
        let is_in = |word: &str| Word::new(word).unwrap().is_in(r#" {"sku": "tea"}"#);
        assert!(is_in("sku:") && is_in("\"sku\":"));
        assert!(!Word::new("sku:").unwrap().is_in(r#"say "sku": "tea""#));
    }

    #[test]
    fn nothing_and_too_much_are_not_looked_for() {
        assert!(Word::new("").is_none() && Word::new(&"ä".repeat(LONGEST_WORD + 1)).is_none());
        assert!(Word::new(&"ä".repeat(LONGEST_WORD)).is_some());
    }
}
