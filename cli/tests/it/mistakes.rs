//! Typical mistakes, and what the real command says about each: `mistakes.txt` beside this file.
//! `UPDATE=1 cargo test --workspace --test command mistakes` writes it, and without `UPDATE` it is compared.

mod aws;
mod letters;
mod made;
mod messages;
mod queues;
mod templates;

use std::env;
use std::fs;

use self::made::{Mistake, Stage};
use crate::support::running::root;

const SNAPSHOT: &str = "cli/tests/it/mistakes.txt";

/// The mistakes by their headings.
fn sections() -> [(&'static str, Vec<Mistake>); 8] {
    [
        ("Sending messages", messages::sending()),
        ("Dead letters", letters::dead()),
        ("Exporting and importing", letters::files()),
        ("Queues and schedules", queues::all()),
        ("Running locally", templates::local()),
        ("Templates", templates::doctor()),
        ("Settings of the function", aws::settings()),
        ("AWS settings and endpoints", aws::places()),
    ]
}

#[test]
fn each_mistake_gets_its_message() {
    let stage = Stage::new();
    let mut wanted = String::new();
    for (heading, mistakes) in sections() {
        wanted += &format!("== {heading} ==\n\n");
        for mistake in mistakes {
            wanted += &format!("{}\n", stage.entry(&mistake));
        }
    }
    let path = root().join(SNAPSHOT);
    if env::var_os("UPDATE").is_some() {
        fs::write(path, wanted).expect("the snapshot is ours");
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let outdated = "run UPDATE=1 cargo test --workspace --test command mistakes";
    for (found, wanted) in found.lines().zip(wanted.lines()) {
        assert_eq!(found, wanted, "{SNAPSHOT} is out of date: {outdated}");
    }
    assert_eq!(found.lines().count(), wanted.lines().count(), "{SNAPSHOT} is out of date: {outdated}");
}

#[test]
fn there_are_forty_mistakes_and_each_verb_has_one() {
    let typed: Vec<String> =
        sections().iter().flat_map(|(_, all)| all.iter().map(|it| it.typed.to_owned())).collect();
    assert!(typed.len() >= 40, "{}", typed.len());
    for verb in [
        "local",
        "doctor",
        "schedule",
        "send",
        "dlq list",
        "dlq show",
        "dlq export",
        "dlq import",
        "dlq triage",
        "dlq retry",
        "dlq delete",
        "dlq purge",
        "queue status",
        "queue pause",
        "queue resume",
        "queue attach",
        "queue detach",
    ] {
        assert!(typed.iter().any(|it| it.starts_with(&format!("redrive {verb}"))), "{verb}");
    }
}
