//! Which letters a verb is about: `--where`, `--ids`, `--max`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

use super::condition::{Conditions, Where};
use super::letter::Letter;
use crate::input;
use crate::problem::{OrProblem, Problem};

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Chosen {
    #[command(flatten)]
    pub(crate) conditions: Where,

    /// File with the ids of letters, one a line or as `dlq list --json` prints them; - for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) ids: Option<PathBuf>,

    /// At most this many letters
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max: Option<u64>,
}

/// The letters that are meant.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    conditions: Conditions,
    ids: Option<Ids>,
    most: Option<u64>,
}

/// Letters by their own id or that of their message, and whether they were found.
#[derive(Debug)]
struct Ids {
    found: BTreeMap<String, AtomicBool>,
    open: AtomicUsize,
}

impl Chosen {
    /// Reads the file.
    ///
    /// # Errors
    /// A condition or an id that cannot be meant; a file that cannot be read.
    pub(crate) fn read(&self) -> Result<Selection, Problem> {
        let conditions = self.conditions.parse()?;
        let ids = self.ids.as_deref().map(read).transpose().or_input()?;
        Ok(Selection { conditions, ids: ids.map(Ids::new), most: self.max })
    }
}

impl Selection {
    pub(crate) fn most(&self) -> Option<u64> {
        self.most
    }

    /// Which part of the letters is meant, in words for people: `up to 5 of the chosen ones of the`.
    pub(crate) fn share(&self) -> String {
        let most = self.most.map(|most| format!("up to {most} of ")).unwrap_or_default();
        most + if self.is_all() { "the" } else { "the chosen ones of the" }
    }

    /// Whether all letters are meant.
    pub(crate) fn is_all(&self) -> bool {
        self.conditions.is_empty() && self.ids.is_none()
    }

    pub(crate) fn wants(&self, letter: &Letter, now: SystemTime) -> bool {
        let named = self.ids.as_ref().is_none_or(|ids| ids.find(letter));
        named && self.conditions.holds(letter, now)
    }

    /// Whether a letter is meant by its id, and not only by what it is like.
    pub(crate) fn names(&self, letter: &Letter) -> bool {
        let is_named = |ids: &Ids| {
            [letter.id.as_str(), letter.message_id()].iter().any(|id| ids.found.contains_key(*id))
        };
        self.ids.as_ref().is_some_and(is_named)
    }

    /// Whether all letters that are meant by id were found.
    pub(crate) fn is_complete(&self) -> bool {
        self.ids.as_ref().is_some_and(|ids| ids.open.load(Ordering::Relaxed) == 0)
    }

    /// The ids that were not found.
    pub(crate) fn missing(&self) -> Vec<&str> {
        let found = self.ids.iter().flat_map(|ids| &ids.found);
        found.filter(|(_, found)| !found.load(Ordering::Relaxed)).map(|(id, _)| id.as_str()).collect()
    }
}

impl Ids {
    fn new(ids: Vec<String>) -> Self {
        let found: BTreeMap<_, _> = ids.into_iter().map(|id| (id, AtomicBool::new(false))).collect();
        Self { open: AtomicUsize::new(found.len()), found }
    }

    fn find(&self, letter: &Letter) -> bool {
        let mut meant = false;
        for id in [letter.id.as_str(), letter.message_id()] {
            let Some(found) = self.found.get(id) else { continue };
            meant = true;
            if !found.swap(true, Ordering::Relaxed) {
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        meant
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<String>> {
    let (_, text) = input::text(path, "--ids")?;
    parse(&text).with_context(|| format!("--ids {}", path.display()))
}

/// One id a line, or an object with `id`. Empty lines are skipped.
fn parse(text: &str) -> anyhow::Result<Vec<String>> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let ids = lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
        if line.starts_with(['{', '[', '"']) {
            let value: Value = serde_json::from_str(line).with_context(|| format!("line {number}"))?;
            let id = value["id"].as_str().or_else(|| value.as_str());
            return id
                .map(str::to_owned)
                .with_context(|| format!("line {number}: an object without an \"id\""));
        }
        if line.contains(char::is_whitespace) || line.len() > 100 {
            bail!("line {number}: {line:?} is not an id");
        }
        Ok(line.to_owned())
    });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::Message;

    use super::*;

    #[test]
    fn ids_are_lines_or_json_lines() {
        let text = "a1\n\n  b2 \r\n{\"id\": \"c3\", \"reason\": \"panic\"}\n\"d4\"\n";
        assert_eq!(parse(text).unwrap(), ["a1", "b2", "c3", "d4"]);
    }

    #[test]
    fn what_is_not_an_id_is_named_with_its_line() {
        for (text, expected) in [
            ("a\nb c", "line 2: \"b c\" is not an id"),
            ("{\"name\": 1}", "line 1: an object without an \"id\""),
            ("a\n{", "line 2"),
        ] {
            assert!(parse(text).unwrap_err().to_string().starts_with(expected), "{text}");
        }
    }

    #[test]
    fn ids_are_complete_once_each_was_met() {
        let ids = Ids::new(vec!["a".to_owned(), "b".to_owned()]);
        let selection = Selection { ids: Some(ids), ..Selection::default() };
        let wants = |id: &str| {
            let letter = Letter::new(Message::builder().message_id(id).build());
            selection.wants(&letter, SystemTime::UNIX_EPOCH)
        };
        assert_eq!([wants("a"), wants("a"), wants("c")], [true, true, false]);
        assert_eq!((selection.is_complete(), selection.missing()), (false, vec!["b"]));
        assert!(wants("b"));
        assert_eq!((selection.is_complete(), selection.missing()), (true, vec![]));
    }
}
