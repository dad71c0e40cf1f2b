//! The flags that select letters: `--where`, `--ids`, `--max`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use redrive_sqs::Quoted;
use serde_json::Value;

use super::condition::Where;
use crate::input;
use crate::letters::Selection;
use crate::problem::{OrProblem, Problem};

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Chosen {
    #[command(flatten)]
    pub(crate) conditions: Where,

    /// File with letter ids, one per line or as printed by `dlq list --json`; - for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) ids: Option<PathBuf>,

    /// At most this many letters
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max: Option<u64>,
}

/// For verbs that change or copy the letters that were selected.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct AllowNone {
    /// Exit with 0 instead of 3 if no letter matches
    #[arg(long = "allow-none", id = "allow_none")]
    pub(crate) allowed: bool,
}

impl Chosen {
    /// Parses the conditions and reads the file.
    ///
    /// # Errors
    /// A condition or an id is invalid, or the file cannot be read.
    pub(crate) fn read(&self) -> Result<Selection, Problem> {
        let conditions = self.conditions.parse()?;
        let ids = self.ids.as_deref().map(read).transpose().or_input()?;
        Ok(Selection { conditions, ids, most: self.max })
    }
}

fn read(path: &Path) -> anyhow::Result<BTreeSet<String>> {
    let (_, text) = input::text(path, "--ids")?;
    parse(&text).with_context(|| format!("--ids {}", path.display()))
}

/// Parses one id a line, or an object with `id`. Skips empty lines.
fn parse(text: &str) -> anyhow::Result<BTreeSet<String>> {
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
            bail!("line {number}: {} is not an id", Quoted(line));
        }
        Ok(line.to_owned())
    });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_lines_or_json_lines() {
        let text = "a1\n\n  b2 \r\n{\"id\": \"c3\", \"reason\": \"panic\"}\n\"d4\"\n";
        assert_eq!(parse(text).unwrap(), ["a1", "b2", "c3", "d4"].map(str::to_owned).into());
    }

    #[test]
    fn an_invalid_id_is_named_with_its_line() {
        for (text, expected) in [
            ("a\nb c", "line 2: \"b c\" is not an id"),
            ("{\"name\": 1}", "line 1: an object without an \"id\""),
            ("a\n{", "line 2"),
        ] {
            assert!(parse(text).unwrap_err().to_string().starts_with(expected), "{text}");
        }
    }
}
