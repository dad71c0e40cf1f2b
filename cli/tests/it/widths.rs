//! Text for people is as wide as their terminal.

use std::path::Path;

use pty_process::blocking::Command;

use crate::doctor::folder_with_a_short_timeout;
use crate::terminal::Terminal;

/// The lines of what it writes, without colors.
fn lines(columns: u16, folder: &Path, arguments: &[&str]) -> Vec<String> {
    let command = Command::new(env!("CARGO_BIN_EXE_redrive")).args(arguments).current_dir(folder);
    let mut terminal = Terminal::as_wide_as(columns, command);
    terminal.end();
    let written = anstream::adapter::strip_str(&terminal.written()).to_string();
    written.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn assert_fits(columns: u16, lines: &[String]) {
    for line in lines {
        let is_link = line.trim().starts_with("https://");
        assert!(is_link || line.chars().count() <= columns.into(), "{columns}: {line:?} in {lines:#?}");
    }
}

#[test]
fn what_the_doctor_finds_is_wrapped_between_words() {
    let folder = folder_with_a_short_timeout();
    for columns in [40, 60, 80, 100] {
        let lines = lines(columns, folder.path(), &["doctor"]);
        assert_fits(columns, &lines);
        let words: Vec<_> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        let told = "The visibility timeout of Orders is 60 s; 6 x the timeout of Work (30 s) plus the batching window";
        assert!(words.join(" ").contains(told), "{lines:#?}");
    }
}

#[test]
fn a_schedule_fits_the_terminal() {
    let jitter = ["schedule", "--backoff", r#"{"jitter": "full"}"#, "--at", "2026-11-21T10:00:00Z"];
    for columns in [40, 80] {
        let lines = lines(columns, Path::new("."), &jitter);
        assert_fits(columns, &lines);
        assert!(lines.iter().any(|line| line.contains("2026-11-21T10:00:00Z")), "{lines:#?}");
    }
}
