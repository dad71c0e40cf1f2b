//! Counts the instructions of the pure steps per message with callgrind, the same on every run. It compares them with a file, so
//! that a change shows its cost.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::target::first_line;

const STEPS: [&str; 4] = ["parse", "plan", "decide", "report"];
const BATCHES: [u64; 2] = [10, 5500];
/// Share by which a count may differ. Hash maps are seeded anew in every process, which changes a count by less.
const TOLERANCE: f64 = 0.02;

/// Instructions per message by step and batch size, with the compiler and the architecture.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub(crate) struct Counts {
    pub(crate) rustc: String,
    pub(crate) architecture: String,
    pub(crate) instructions: BTreeMap<String, f64>,
}

pub(crate) fn count(steps: &Path) -> anyhow::Result<Counts> {
    ensure!(
        first_line(Path::new("valgrind"), "--version").is_ok(),
        "valgrind is not installed; on Debian and Ubuntu: apt-get install valgrind"
    );
    let mut instructions = BTreeMap::new();
    for step in STEPS {
        for messages in BATCHES {
            // The difference of two runs excludes the start of the process and the making of the event.
            let [once, more] = [1, 6].map(|times| total(steps, step, messages, times));
            let per_message = (more? - once?) as f64 / 5.0 / messages as f64;
            instructions.insert(format!("{step}, {messages} messages"), (per_message * 10.0).round() / 10.0);
        }
    }
    let rustc = first_line(Path::new("rustc"), "--version")?;
    Ok(Counts { rustc, architecture: std::env::consts::ARCH.to_owned(), instructions })
}

/// Counts the instructions of a whole process.
fn total(steps: &Path, step: &str, messages: u64, times: u64) -> anyhow::Result<u64> {
    let file = std::env::temp_dir().join(format!("redrive-bench-{}.callgrind", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(steps)
        .args([step.to_owned(), messages.to_string(), times.to_string()])
        .output()?;
    ensure!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stderr));
    let profile = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    std::fs::remove_file(&file)?;
    summary(&profile).with_context(|| format!("{step}: the profile has no summary"))
}

fn summary(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("summary:"))?.trim().parse().ok()
}

impl Counts {
    /// Returns a line for each count. Fails if one differs by more than the tolerance.
    pub(crate) fn compare(&self, expected: &Self) -> anyhow::Result<Vec<String>> {
        let mut differing = Vec::new();
        let mut lines = Vec::new();
        for (name, &count) in &self.instructions {
            let Some(&before) = expected.instructions.get(name) else {
                bail!("the file has no count for {name}; make update ONLY=instructions writes it anew")
            };
            let change = count / before - 1.0;
            lines.push(format!("{name:24} {count:10.1} instead of {before:10.1}  {:+6.2} %", change * 100.0));
            if change.abs() > TOLERANCE {
                differing.push(format!("{name} {:+.1} %", change * 100.0));
            }
        }
        if differing.is_empty() {
            return Ok(lines);
        }
        let mut why = String::new();
        if (&self.rustc, &self.architecture) != (&expected.rustc, &expected.architecture) {
            why = format!(" (counted with {} on {})", expected.rustc, expected.architecture);
        }
        bail!(
            "{}\nmore than {} % from dev/bench/instructions.json{why}: {}; if it is meant, make update ONLY=instructions",
            lines.join("\n"),
            TOLERANCE * 100.0,
            differing.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(parse: f64) -> Counts {
        Counts {
            rustc: "rustc 1".to_owned(),
            architecture: "x86_64".to_owned(),
            instructions: [("parse, 10 messages".to_owned(), parse)].into(),
        }
    }

    #[test]
    fn a_count_may_differ_by_two_percent_either_way() {
        for (count, within) in
            [(1000.0, true), (1019.0, true), (981.0, true), (1021.0, false), (979.0, false)]
        {
            assert_eq!(counts(count).compare(&counts(1000.0)).is_ok(), within, "{count}");
        }
    }

    #[test]
    fn a_count_that_differs_is_named_with_a_different_compiler() {
        let before = Counts { rustc: "rustc 0".to_owned(), ..counts(1000.0) };
        let error = counts(2000.0).compare(&before).unwrap_err().to_string();
        assert!(error.contains("parse, 10 messages +100.0 %") && error.contains("rustc 0"), "{error}");
    }

    #[test]
    fn the_total_is_in_the_summary_of_the_profile() {
        assert_eq!(summary("events: Ir\nsummary: 123456\n\ntotals: 123456\n"), Some(123_456));
        assert_eq!(summary("events: Ir\n"), None);
    }
}
