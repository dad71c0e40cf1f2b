//! Tests each row of the table in `docs/any-language.md` that compares with ecs-watchbot, and what is the same.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use super::{command, counts, exit_code, folder};
use crate::support::Aws;
use crate::support::running::{Running, root, signal, until};

/// What a row of the page is about, the program and what it gets.
struct Row {
    about: &'static str,
    flags: &'static str,
    program: &'static [&'static str],
    body: &'static str,
    ends: Ends,
    /// What the worker writes.
    said: &'static str,
}

enum Ends {
    Deleted,
    DeadLettered,
    /// It waits for its visibility timeout.
    Returned,
}
use Ends::{DeadLettered, Deleted, Returned};

const SCRIPT: &[&str] = &["sh"];
const SHOWN: &[&str] = &["sh", "-c", "echo \"<$Subject> <$Message>\""];
const TIMES: &[&str] =
    &["sh", "-c", "echo \"$MessageId$SentTimestamp$ApproximateFirstReceiveTimestamp\" | wc -c"];

const fn row(
    about: &'static str,
    program: &'static [&'static str],
    body: &'static str,
    ends: Ends,
    said: &'static str,
) -> Row {
    Row { about, flags: "", program, body, ends, said }
}

const ROWS: [Row; 11] = [
    row("exit code 0", SCRIPT, "exit 0", Deleted, ""),
    row("exit code 3", SCRIPT, "exit 3", DeadLettered, "\"reason\":\"exit-3\""),
    Row { flags: "--exit 3=done", ..row("exit code 3", SCRIPT, "exit 3", Deleted, "") },
    row("exit code 4", SCRIPT, "exit 4", Returned, "message deferred"),
    row("any other exit code", SCRIPT, "exit 7", Returned, "\"back_in_seconds\":2"),
    row("a signal", SCRIPT, "kill -KILL $$", Returned, "\"back_in_seconds\":2"),
    row("a command that cannot be started", &["./script"], "x", Returned, "message met an outage"),
    row(
        "`Message`, `Subject`",
        SHOWN,
        r#"{"Type": "Notification", "Subject": "a", "Message": "b"}"#,
        Deleted,
        "<a> <b>",
    ),
    row("a body that is not a notification", SHOWN, "tea", Deleted, "<> <tea>"),
    // An id has 36 characters, a time 24.
    row("`MessageId`, `SentTimestamp`, `ApproximateFirstReceiveTimestamp`", TIMES, "x", Deleted, "\n85\n"),
    row("the command", &["echo", "<$HOME;", "exit", "3>"], "x", Deleted, "<$HOME; exit 3>"),
];

#[test]
fn each_row_about_ecs_watchbot_holds() {
    let page = std::fs::read_to_string(root().join("docs/any-language.md")).expect("it is there");
    let (_, table) =
        page.split_once("| | ecs-watchbot | `redrive work` |\n| --- | --- | --- |\n").expect("a table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let rows: Vec<_> = rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim()).collect();
    let mut tested: Vec<_> = ROWS.iter().map(|row| row.about).filter(|about| rows.contains(about)).collect();
    tested.dedup();
    assert_eq!(rows, tested);
    for Row { about, flags, program, body, ends, said } in ROWS {
        let (aws, folder) = (Aws::with_orders(false), folder());
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/no/such/interpreter\n").expect("it is ours");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it is ours");
        let log = folder.path().join("log");
        let file = || File::options().create(true).append(true).open(&log).expect("the folder is ours");
        let mut worker = command(&aws, "orders", flags, folder.path());
        worker.arg("--").args(program).stdout(file()).stderr(file());
        let worker = Running(worker.spawn().expect("the command runs"));
        aws.send("orders", body);
        let (in_flight, letters) = match ends {
            Deleted => ("0", "0"),
            DeadLettered => ("0", "1"),
            Returned => ("1", "0"),
        };
        until(about, || {
            let letter = aws.attribute("orders-dead", "ApproximateNumberOfMessages");
            let all = format!("\n{}", std::fs::read_to_string(&log).expect("it is text"));
            let is_counted = counts(&aws, "orders") == ("0".to_owned(), in_flight.to_owned());
            is_counted && letter == letters && all.contains(said)
        });
        signal("-TERM", &worker.0);
        // It ends the receive that is under way, which would wait for 20 s.
        aws.send("orders", "exit 0");
        assert_eq!(exit_code(worker), Some(0), "{about}");
    }
}
