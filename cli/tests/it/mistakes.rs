//! `docs/mistakes.md`: typical mistakes, and what the real command says about each. `UPDATE=1 cargo test mistakes` writes the
//! page, and without `UPDATE` it is compared.

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

const PAGE: &str = "docs/mistakes.md";

const HEAD: &str = "\
# Mistakes, and what redrive says

Find your message here if it does not say enough by itself. Messages of the command are one line on stderr: what was
wrong, its value, and what is allowed. The column code is the [exit code](reference.md#exit-codes).

Each row was run to make this page (`cli/tests/it/mistakes/`), in a folder with a template of a queue, its dead-letter queue
and a function; a stack `shop` and the queues `orders` and `orders-dead` exist in `eu-west-1`.
";

/// The tables by their headings.
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
fn the_page_of_mistakes_has_what_the_command_says() {
    let stage = Stage::new();
    let mut page = HEAD.to_owned();
    for (heading, mistakes) in sections() {
        page += &format!(
            "\n## {heading}\n\n| what was typed | what it says | code | what to do |\n| --- | --- | --- | --- |\n"
        );
        for mistake in mistakes {
            page += &stage.row(&mistake);
        }
    }
    let path = root().join(PAGE);
    if env::var_os("UPDATE").is_some() {
        fs::write(path, page).expect("the page is ours");
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    for (found, said) in found.lines().zip(page.lines()) {
        assert_eq!(
            found, said,
            "{PAGE} is out of date: run UPDATE=1 cargo test --workspace --test it mistakes"
        );
    }
    assert_eq!(found.lines().count(), page.lines().count(), "{PAGE} is out of date");
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
