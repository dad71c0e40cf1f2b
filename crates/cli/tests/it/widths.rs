//! Fits text for people to the width of their terminal.

use std::path::Path;

use pty_process::blocking::Command;
use redrive_local::{Config, QueueConfig};
use unicode_width::UnicodeWidthStr;

use crate::doctor::folder_with_a_short_timeout;
use crate::letters::{note, text};
use crate::support::{Aws, REGION};
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
fn findings_of_the_doctor_are_wrapped_between_words() {
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
    let jitter = ["schedule", "--backoff", r#"{"jitter": "full"}"#];
    for columns in [40, 80] {
        let lines = lines(columns, Path::new("."), &jitter);
        assert_fits(columns, &lines);
        assert!(lines.iter().any(|line| line.ends_with("1s to 8m 32s")), "{lines:#?}");
    }
}

/// What a table shows in a terminal of this width, without what stands beside it on stderr.
fn table(aws: &Aws, columns: u16, line: &str) -> Vec<String> {
    let script = r#""$0" "$@" 2>/dev/null"#;
    let command = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_redrive")]);
    let command = command.args(line.split(' ')).args(["--endpoint-url", &aws.url, "--region", REGION]);
    let mut terminal = Terminal::as_wide_as(columns, command.env_remove("AWS_PROFILE"));
    terminal.ends(0);
    let written = anstream::adapter::strip_str(&terminal.written()).to_string();
    written.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn with_wide_letters() -> (Aws, String) {
    let aws = Aws::with_shop(true);
    let error = "450 cents: card refused by the bank that the customer has had for twenty years 漢字漢字漢字";
    let id = aws.letter_with(
        "{\"name\":\"漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\",\"family\":\"👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦\",\"e\":\"e\u{301}e\u{301}e\u{301}\"}",
        [("redrive.dead-letter", note("m1", "rejected-by-the-bank", error)), ("tenant", text("acme"))],
    );
    for body in ["two", "three"] {
        aws.letter(body);
    }
    (aws, id)
}

#[test]
fn the_letters_fit_the_terminal() {
    let (aws, id) = with_wide_letters();
    for columns in [40, 60, 80, 100, 120, 200] {
        for more in ["", " --body 10", " --body 0"] {
            let shown = table(&aws, columns, &format!("dlq list --queue orders{more}"));
            for line in &shown {
                assert!(line.width() <= columns.into(), "{columns}: {line:?} in {shown:#?}");
            }
            assert!(shown.iter().any(|line| line.contains(&id[..8])), "{shown:#?}");
        }
    }
    let narrow = table(&aws, 40, "dlq list --queue orders");
    assert!(
        narrow.contains(&id) && narrow.iter().any(|line| line.contains("rejected-by-the-bank: 450")),
        "{narrow:#?}"
    );
    // As much as there is, whatever the terminal.
    let wide = table(&aws, 40, "dlq list --queue orders --wide");
    let line = wide.iter().find(|line| line.starts_with(&id)).expect("one line has it all");
    assert!(line.contains("for twenty years 漢字漢字漢字  {\"name\":\"漢字"), "{wide:#?}");
    // A program finds the same in whatever terminal it runs.
    let piped = aws.redrive("dlq list --queue orders").stdout;
    assert!(piped.lines().any(|line| line.starts_with(&format!("{id}  "))), "{piped}");
}

#[test]
fn a_short_id_is_enough_to_show_a_letter() {
    let (aws, id) = with_wide_letters();
    let shown = table(&aws, 120, "dlq list --queue orders");
    let short =
        shown.iter().find_map(|line| line.starts_with(&id[..8]).then(|| line.split(' ').next())).flatten();
    assert_eq!(short, Some(&id[..8]), "{shown:#?}");
    let line = format!("dlq show --queue orders --no-logs {}", &id[..8]);
    aws.redrive(&line).ended(0).stdout_has(format!("Letter {id} in orders-dead\n"));
    aws.redrive(&format!("dlq show --queue orders --no-logs {}", &id[..7])).refused(1, "no letter ");
}

#[test]
fn the_state_of_a_queue_fits_the_terminal() {
    let (shop, _) = with_wide_letters();
    let long = |end: &str| QueueConfig { name: format!("{}{end}", "q".repeat(70)), attributes: [].into() };
    let mut orders = long("");
    let policy = format!(
        r#"{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:123456789012:{}-dead","maxReceiveCount":3}}"#,
        orders.name
    );
    orders.attributes.insert("RedrivePolicy".to_owned(), policy);
    let name = orders.name.clone();
    let aws = Aws::of(Config { queues: vec![long("-dead"), orders], ..Config::default() });
    for columns in [40, 80, 120] {
        for (aws, queue) in [(&shop, "orders"), (&aws, name.as_str())] {
            let shown = table(aws, columns, &format!("queue status --queue {queue}"));
            for line in &shown {
                assert!(line.width() <= columns.into(), "{columns}: {line:?} in {shown:#?}");
            }
            let words = shown.join(" ");
            assert!(words.contains("redrive policy") && words.contains("visibility timeout"), "{shown:#?}");
        }
    }
    let whole = shop.redrive("queue status --queue orders").stdout;
    let mapping = whole.lines().find(|line| line.starts_with("mapping ")).expect("there is one");
    assert!(table(&shop, 40, "queue status --queue orders --wide").contains(&mapping.to_owned()), "{whole}");
    let narrow = table(&shop, 40, "queue status --queue orders");
    assert!(narrow.iter().any(|line| line == "  visible             3"), "{narrow:#?}");
}
