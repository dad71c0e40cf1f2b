//! The history of actions on letters.

use std::time::Duration;

use serde_json::Value;

use crate::dlq_retry::letters::with_letters;
use crate::proxy::{Fate, Proxy};
use crate::support::running::{signal, until};
use crate::support::{Aws, Ran, command, process};

fn entries(folder: &std::path::Path) -> Vec<Value> {
    let mut command = command("fleet --history --json");
    Ran::of(command.env("REDRIVE_JOURNAL", folder)).ended(0).json_lines()
}

#[test]
fn a_run_that_was_killed_is_in_the_history_after_a_line_that_was_cut_off() {
    for (typed, call, said) in [
        ("dlq retry --queue orders --yes", "SendMessageBatch", "retry  orders-dead to orders"),
        ("dlq purge --queue orders --yes", "PurgeQueue", "purge  orders-dead"),
        (
            "dlq retry --queue orders --native --to orders --yes",
            "StartMessageMoveTask",
            "retry --native  orders-dead to orders",
        ),
        ("queue pause --stack shop", "PUT ", "pause  orders"),
    ] {
        let aws = if typed.starts_with("queue") { Aws::with_shop(true) } else { with_letters(3, &["panic"]) };
        let folder = tempfile::tempdir().expect("there is room for a folder");
        std::fs::write(folder.path().join("history.jsonl"), "{\"at\":").expect("the folder is ours");
        let proxy = Proxy::start(&aws.url, move |made, _| match made.action.starts_with(call) {
            true => Fate::Delayed(Duration::from_secs(60)),
            false => Fate::Answered,
        });
        let journal = format!("--journal {}", folder.path().display());
        let mut run = process(&proxy.url, typed);
        let mut run = run.env("REDRIVE_JOURNAL", folder.path()).spawn().expect("the command runs");
        until(call, || proxy.calls().iter().any(|made| made.action.starts_with(call)));
        signal("-KILL", &run);
        run.wait().expect("it ends");
        let found = entries(folder.path());
        assert_eq!((found.len(), &found[0]["started"]), (1, &true.into()), "{typed}");
        Ran::of(&mut command(&format!("fleet --history {journal}")))
            .told(0, "")
            .stdout_has(format!("{said}: started, and its end was not recorded  ("));
    }
    Ran::of(&mut command("fleet --history --journal off"))
        .told(
            0,
            "redrive: the history is off: set --journal or REDRIVE_JOURNAL to a folder or dynamodb:TABLE\n",
        )
        .printed(0, "");
}

#[test]
fn lines_of_others_in_a_history_are_skipped() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    std::fs::write(folder.path().join("history.jsonl"), b"\xff\n{}\n{\"at\":").expect("the folder is ours");
    assert_eq!(entries(folder.path()), Vec::<Value>::new());
}
