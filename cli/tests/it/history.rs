//! Who did what with letters, in a file that stays.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::dlq_retry::letters::{ORDERS, with_letters};
use crate::letters::DEAD;
use crate::proxy::{Fate, Proxy};
use crate::support::running::{signal, until};
use crate::support::{ACCOUNT, Aws, REGION, Ran, Words, command, command_at, on, spawn};

fn in_folder(aws: &Aws, folder: &std::path::Path, line: &(impl Words + ?Sized)) -> Ran {
    Ran::of(command_at(&aws.url, line).env("REDRIVE_JOURNAL", folder).env("USER", "ada"))
}

fn entries(folder: &std::path::Path) -> Vec<Value> {
    let mut command = command("fleet --history --json");
    Ran::of(command.env("REDRIVE_JOURNAL", folder)).ended(0).json_lines()
}

#[test]
fn each_action_is_a_line_that_says_who_did_what_and_looking_is_none() {
    let aws = with_letters(6, &["panic"]);
    let parent = tempfile::tempdir().expect("there is room for a folder");
    let folder = parent.path().join("state");
    let file = parent.path().join("letters.jsonl").display().to_string();
    for line in [
        format!("dlq export --queue orders {file}"),
        "dlq list --queue orders".to_owned(),
        "dlq retry --queue orders --dry-run".to_owned(),
        "dlq retry --queue orders --yes --where 'reason = none' --allow-none".to_owned(),
    ] {
        in_folder(&aws, &folder, &line).ended(0);
    }
    assert_eq!(entries(&folder), Vec::<Value>::new());
    for line in [
        "dlq retry --queue orders --yes --max 2".to_owned(),
        "dlq delete --queue orders --yes --all --max 1".to_owned(),
        format!("dlq import --queue orders --yes {file}"),
        "dlq purge --queue orders --yes".to_owned(),
    ] {
        in_folder(&aws, &folder, &line).ended(0);
    }
    let found = entries(&folder);
    let counts: Vec<_> = found
        .iter()
        .map(|entry| {
            assert_eq!(
                (&entry["user"], &entry["account"], &entry["region"]),
                (&"ada".into(), &ACCOUNT.into(), &REGION.into())
            );
            assert_eq!(
                (&entry["queue"], &entry["endpoint"]),
                (&"orders-dead".into(), &aws.url.as_str().into())
            );
            (entry["verb"].as_str().unwrap_or_default(), entry["sent"].as_u64(), entry["deleted"].as_u64())
        })
        .collect();
    let expected = [
        ("retry", Some(2), None),
        ("delete", None, Some(1)),
        ("import", Some(6), None),
        ("purge", None, Some(9)),
    ];
    assert_eq!(counts, expected);
    let mut command = command("fleet --history");
    let shown = Ran::of(command.env("REDRIVE_JOURNAL", &folder));
    shown.told(0, "").stdout_has(
        "Z  ada  retry  orders-dead to orders: 2 sent  (account 123456789012, eu-west-1, http://",
    );
}

#[test]
fn a_run_that_was_killed_is_in_the_history_after_a_line_that_was_cut_off() {
    let aws = with_letters(3, &["panic"]);
    let folder = tempfile::tempdir().expect("there is room for a folder");
    std::fs::write(folder.path().join("history.jsonl"), "{\"at\":").expect("the folder is ours");
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_secs(60))));
    let journal = format!("--journal {}", folder.path().display());
    let mut run = spawn(&proxy.url, &format!("dlq retry --queue orders --yes {journal}"), Path::new("."));
    until("a send", || !proxy.sizes("SendMessageBatch").is_empty());
    signal("-KILL", &run);
    run.wait().expect("it ends");
    let found = entries(folder.path());
    assert_eq!((found.len(), &found[0]["verb"], &found[0]["started"]), (1, &"retry".into(), &true.into()));
    Ran::of(&mut command(&format!("fleet --history {journal}")))
        .told(0, "")
        .stdout_has("retry  orders-dead to orders: started, and its end was not recorded  (");
    Ran::of(&mut command("fleet --history --journal off"))
        .told(
            0,
            "redrive: the history is off: set --journal or REDRIVE_JOURNAL to a folder or dynamodb:TABLE\n",
        )
        .printed(0, "");
}

#[test]
fn a_history_that_cannot_be_written_or_read_stops_nothing() {
    let aws = with_letters(1, &["panic"]);
    let ran = in_folder(&aws, "/dev/null/state".as_ref(), "dlq delete --queue orders --yes --all");
    ran.printed(0, "1 deleted from orders-dead\n");
    ran.stderr_has("warning: the action was not recorded in /dev/null/state/history.jsonl: ");
    let folder = tempfile::tempdir().expect("there is room for a folder");
    std::fs::write(folder.path().join("history.jsonl"), b"\xff\n{}\n{\"at\":").expect("the folder is ours");
    assert_eq!(entries(folder.path()), Vec::<Value>::new(), "lines of others are skipped");
}

#[test]
fn a_table_that_cannot_be_or_cannot_be_read_ends_a_verb_before_it_does_anything() {
    let aws = with_letters(1, &["panic"]);
    for line in ["dlq retry --queue orders --yes", "dlq delete --queue orders --yes --all"] {
        in_folder(&aws, "dynamodb:a b".as_ref(), line).refused(
            2,
            "REDRIVE_JOURNAL is \"dynamodb:a b\", allowed: a folder, off, or dynamodb: and the name or ARN of a DynamoDB table",
        );
        in_folder(&aws, "dynamodb:team".as_ref(), line).refused(1, "could not read the table team: ");
    }
    let proxy = Proxy::start(&aws.url, on("Query", Fate::Refused(400, "AccessDeniedException")));
    proxy
        .redrive("dlq retry --queue orders --yes --journal dynamodb:team")
        .refused(1, "could not read the table team: not allowed: your credentials need dynamodb:Query (");
    assert_eq!((aws.counts(DEAD), aws.counts(ORDERS)), ((1, 0), (0, 0)));
}
