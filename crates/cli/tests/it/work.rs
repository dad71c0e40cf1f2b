//! `redrive work`: a program for each message. The messages here are shell scripts, which the program `sh` reads.

mod chaos;
pub(crate) mod http;
mod watchbot;

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::dlq_retry::letters::take;
use crate::support::running::{Running, root, signal, signal_to, until};
use crate::support::{Aws, Ran};

/// Starts it on the queue `orders`, with flags, and with what comes behind `--`.
fn work(aws: &Aws, flags: &str, program: &[&str], folder: &Path) -> Child {
    let mut command = command(aws, "orders", flags, folder);
    command.arg("--").args(program).spawn().expect("the command runs")
}

/// Writes its log to the file `log`, in which a test can wait for the end of a message. After a signal, nothing is logged for a
/// message whose handler it interrupts.
fn logged(aws: &Aws, flags: &str, program: &[&str], folder: &Path) -> Child {
    let log = File::create(folder.join("log")).expect("it is ours");
    let mut command = command(aws, "orders", flags, folder);
    command.arg("--").args(program).stdout(log).spawn().expect("the command runs")
}

/// On this queue, with flags.
fn command(aws: &Aws, queue: &str, flags: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args(["work", "--queue", queue, "--endpoint-url", &aws.url, "--region", "eu-west-1"]);
    command.args(flags.split_whitespace());
    for (name, _) in
        std::env::vars().filter(|(name, _)| name.starts_with("AWS_") || name.starts_with("REDRIVE_"))
    {
        command.env_remove(name);
    }
    command.env("HOME", "/nonexistent").env("REDRIVE_METRICS", "off").current_dir(folder);
    command.env("Subject", "of another message");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Tells it to end, and waits until it has. A message ends the receive that is under way, which would wait for 20 s.
fn stop(aws: &Aws, worker: Child) -> Ran {
    signal("-TERM", &worker);
    aws.send("orders", "exit 0");
    let ran = Ran::end(worker);
    ran.ended(0);
    ran
}

/// Waits for its end.
pub(crate) fn exit_code(worker: Running) -> Option<i32> {
    let worker = RefCell::new(worker);
    until("its end", || worker.borrow_mut().0.try_wait().expect("it is ours").is_some());
    worker.into_inner().0.wait().expect("it is ours").code()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

fn read(folder: &TempDir, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap_or_default()
}

/// How many messages are visible, and how many are not.
pub(crate) fn counts(aws: &Aws, queue: &str) -> (String, String) {
    let count = |name| aws.attribute(queue, name);
    (count("ApproximateNumberOfMessages"), count("ApproximateNumberOfMessagesNotVisible"))
}

fn is_gone(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    // One that nobody has waited for is a zombie.
    state.is_empty() || state.contains(") Z ")
}

/// What the note of the only letter says.
fn note(aws: &Aws) -> (String, String, u64) {
    until("a letter", || aws.attribute("orders-dead", "ApproximateNumberOfMessages") == "1");
    let letters = take(aws, "orders-dead");
    let attributes = letters[0].message_attributes.as_ref().expect("it has a note");
    let text = attributes["redrive.dead-letter"].string_value().expect("it is text");
    let note: Value = serde_json::from_str(text).expect("it is JSON");
    let text = |name: &str| note[name].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("error"), note["attempts"].as_u64().unwrap_or_default())
}

#[test]
fn the_exit_code_says_what_happens_to_the_message() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let worker = work(&aws, "--concurrency 4", &["sh"], folder.path());
    aws.send("orders", "echo ok >> done");
    aws.send("orders", "echo done >> done; cat > /dev/null; exit 0");
    until("two are done", || read(&folder, "done").lines().count() == 2 && counts(&aws, "orders").1 == "0");
    aws.send("orders", "echo 'reading order'; echo 'no such order' >&2; exit 3");
    assert_eq!(note(&aws), ("exit-3".to_owned(), "no such order (exit code 3)".to_owned(), 1));
    aws.send("orders", "node -e 'throw new RangeError(`no tea`)' || exit 3");
    assert_eq!(note(&aws), ("exit-3".to_owned(), "RangeError: no tea (exit code 3)".to_owned(), 1));
    for (number, end) in ["exit 4", "exit 1", "kill -KILL $$"].iter().enumerate() {
        let count = format!("echo $ApproximateReceiveCount >> count-{number}");
        aws.send("orders", &format!("{count}; test $ApproximateReceiveCount = 2 || {end}"));
    }
    let all_are_done = || (0..3).all(|number| read(&folder, &format!("count-{number}")) == "1\n2\n");
    until("their second deliveries", || all_are_done() && counts(&aws, "orders").1 == "0");
    let ran = stop(&aws, worker);
    ran.stderr_has("no such order").stderr_has("reading order").stdout_count("message deferred", 1);
    ran.stdout_has("\"exception\":\"exit-1\"").stdout_has("\"exception\":\"signal-9\"");
}

#[test]
fn a_program_knows_its_message_and_has_a_folder_of_its_own() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let worker =
        work(&aws, "", &["sh", "-c", "cat > body; env > variables; touch $TMPDIR/file"], folder.path());
    let body = r#"{"Type": "Notification", "Subject": "greeting", "Message": "hello"}"#;
    let id = aws.send("orders", body);
    until("its end", || counts(&aws, "orders") == ("0".to_owned(), "0".to_owned()));
    let variables = read(&folder, "variables");
    let value = |name: &str| {
        let found = variables.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        found.unwrap_or_default().to_owned()
    };
    assert_eq!(read(&folder, "body"), body);
    assert_eq!(
        ["MessageId", "Message", "Subject", "ApproximateReceiveCount"].map(value),
        [id.as_str(), "hello", "greeting", "1"]
    );
    assert!(value("SentTimestamp").ends_with('Z'), "{variables}");
    assert!(!Path::new(&value("TMPDIR")).exists(), "the folder is removed");
    stop(&aws, worker);
}

#[test]
fn the_next_worker_removes_the_private_folder_of_a_killed_one() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).expect("there is room for a folder");
    let start = || {
        let mut command = command(&aws, "orders", "", folder.path());
        command.env("TMPDIR", &temporary).args(["--", "sh"]).spawn().expect("the command runs")
    };
    let there = || std::fs::read_dir(&temporary).expect("it is there").count();
    let mut killed = start();
    aws.send("orders", "stat -c %a $TMPDIR $(dirname $TMPDIR) > modes; echo $$ > pid; exec sleep 1000");
    until("it begins", || read(&folder, "pid").ends_with('\n'));
    assert_eq!(read(&folder, "modes"), "700\n700\n");
    let beside = start();
    aws.send("orders", "touch beside");
    until("both work", || folder.path().join("beside").exists() && there() == 2);
    killed.kill().expect("it is ours");
    killed.wait().expect("it is ours");
    signal_to("-KILL", read(&folder, "pid").trim());
    stop(&aws, beside);
    assert_eq!(there(), 1, "that of the one that was killed");
    let next = start();
    aws.send("orders", "touch next");
    until("it works", || folder.path().join("next").exists());
    assert_eq!(there(), 1, "its own");
    stop(&aws, next);
    assert_eq!(there(), 0);
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_has_started() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let worker = logged(&aws, "--time-limit 3s", &["sh"], folder.path());
    aws.send("orders", "echo 'waiting for the bank' >&2; sleep 1000 & echo $! > child; sleep 1000");
    until("it begins", || read(&folder, "child").ends_with('\n'));
    let child = read(&folder, "child");
    until("the end of its child", || is_gone(&child));
    until("its failure", || read(&folder, "log").contains("waiting for the bank (time limit of 3s)"));
    assert!(read(&folder, "log").contains("\"back_in_seconds\":2"));
    stop(&aws, worker).stderr_has("waiting for the bank");
}

#[test]
fn processes_that_a_program_leaves_are_killed_when_it_ends() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let worker = work(&aws, "", &["sh"], folder.path());
    aws.send("orders", "(trap '' TERM HUP; sleep 1000) & echo $! > child; exit 0");
    until("it is done", || read(&folder, "child").ends_with('\n') && counts(&aws, "orders").1 == "0");
    until("the end of its child", || is_gone(&read(&folder, "child")));
    stop(&aws, worker);
}

#[test]
fn after_sigterm_a_program_has_time_to_end_and_no_other_begins() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let worker = work(&aws, "", &["sh"], folder.path());
    aws.send("orders", "echo begun >> begun; sleep 2; echo ended >> ended");
    until("it begins", || read(&folder, "begun") == "begun\n");
    aws.send("orders", "echo begun >> begun");
    signal("-TERM", &worker);
    Ran::end(worker).ended(0);
    assert_eq!((read(&folder, "begun").as_str(), read(&folder, "ended").as_str()), ("begun\n", "ended\n"));
    assert_eq!(counts(&aws, "orders"), ("1".to_owned(), "0".to_owned()));
}

#[test]
fn a_second_signal_ends_the_programs_too() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let mut worker = work(&aws, "", &["sh"], folder.path());
    aws.send("orders", "trap '' TERM HUP; echo $$ > program; sleep 1000");
    until("it begins", || read(&folder, "program").ends_with('\n'));
    signal("-HUP", &worker);
    let mut log = BufReader::new(worker.stdout.take().expect("it is piped")).lines();
    log.find(|line| line.as_ref().is_ok_and(|line| line.contains("SIGTERM")))
        .expect("it says so")
        .expect("it is text");
    signal("-TERM", &worker);
    Ran::end(worker).ended(1);
    until("the end of the program", || is_gone(&read(&folder, "program")));
    aws.skip(31);
    assert_eq!(counts(&aws, "orders").0, "1", "it comes back");
}

/// The program fills the pipe that nobody reads, so the command cannot write its last words.
#[test]
fn a_command_whose_output_nobody_reads_ends_after_a_second_signal() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let mut worker = Running(work(&aws, "", &["sh"], folder.path()));
    aws.send("orders", "for i in $(seq 50000); do echo line >&2; done; touch full; sleep 1000");
    until("the pipe is full", || folder.path().join("full").exists());
    signal("-TERM", &worker.0);
    let mut log = BufReader::new(worker.0.stdout.take().expect("it is piped")).lines();
    log.find(|line| line.as_ref().is_ok_and(|line| line.contains("SIGTERM")))
        .expect("it says so")
        .expect("it is text");
    signal("-TERM", &worker.0);
    assert_eq!(exit_code(worker), Some(1));
}

/// Skipped where nobody may create namespaces.
#[test]
fn as_process_1_it_leaves_no_zombies_of_canceled_programs() {
    let namespace = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child"];
    let may = Command::new("unshare").args(namespace).arg("true").stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        println!("skipped: unshare cannot create a namespace for processes");
        return;
    }
    let (aws, folder) = (Aws::with_orders(false), folder());
    let redrive = command(&aws, "orders", "", folder.path());
    let mut unshare = Command::new("unshare");
    unshare.args(namespace).arg(redrive.get_program()).args(redrive.get_args()).args(["--", "sh"]);
    unshare.current_dir(&folder).env("HOME", "/nonexistent").env("REDRIVE_METRICS", "off");
    // It cancels the program, which then starts no more.
    unshare.env("REDRIVE_TIME_LIMIT", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut worker = Running(unshare.spawn().expect("unshare runs"));
    aws.send("orders", "sleep 1000 & sleep 1000 & touch begun; sleep 1000");
    until("it begins", || folder.path().join("begun").exists());
    let redrive = children(&worker.0.id().to_string());
    let redrive = redrive.first().expect("it runs");
    until("the end of all", || children(redrive).is_empty());
    worker.0.kill().expect("it is ours");
}

/// Also those that nobody has waited for.
fn children(process: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn a_program_that_cannot_start_or_ignores_sigterm_loses_no_message() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").expect("it is ours");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let worker = logged(&aws, "", &["./script"], folder.path());
    aws.send("orders", "x");
    until("an outage", || read(&folder, "log").contains("message met an outage, to be retried"));
    stop(&aws, worker);
    assert!(read(&folder, "log").contains("could not be run: No such file or directory"));
    let aws = Aws::with_orders(false);
    let worker = logged(&aws, "--time-limit 1s", &["sh"], folder.path());
    aws.send("orders", "trap '' TERM; echo $$ > program; while :; do sleep 1; done");
    until("its failure", || read(&folder, "log").contains("\"error\":\"time limit of 1s\""));
    assert!(is_gone(&read(&folder, "program")));
    stop(&aws, worker);
}

/// Nobody reads its standard error, so the program fills the pipe.
#[test]
fn a_time_limit_ends_a_program_whose_output_nobody_reads() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let mut worker = logged(&aws, "--time-limit 1s", &["sh"], folder.path());
    aws.send("orders", "echo $$ > program; while :; do echo line >&2; done");
    until("its failure", || read(&folder, "log").contains("line (time limit of 1s)"));
    assert!(is_gone(&read(&folder, "program")));
    drop(worker.stderr.take());
    stop(&aws, worker);
}

/// Linux limits variables, so only its standard input has it.
#[test]
fn a_long_message_that_a_program_has_not_seen_becomes_a_dead_letter() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let program = r#"printf %s "$Message" | wc -c"#;
    let worker = work(&aws, "", &["sh", "-c", program], folder.path());
    aws.send("orders", &"x".repeat(70_000));
    let (reason, error, attempts) = note(&aws);
    assert_eq!((reason.as_str(), attempts), ("unread", 1));
    assert!(error.ends_with("read it from standard input"), "{error}");
    stop(&aws, worker);
    let worker = work(&aws, "", &["sh", "-c", "wc -c >> read; exit 0"], folder.path());
    aws.send("orders", &"x".repeat(70_000));
    until("it is done", || counts(&aws, "orders") == ("0".to_owned(), "0".to_owned()));
    assert!(read(&folder, "read").contains("70000"));
    stop(&aws, worker);
    // It read what it needs.
    let worker = work(&aws, "", &["sh", "-c", "read -r first; echo $first >> read"], folder.path());
    aws.send("orders", &format!("tea\n{}", "x".repeat(90_000)));
    until("it is done", || counts(&aws, "orders") == ("0".to_owned(), "0".to_owned()));
    assert!(read(&folder, "read").ends_with("tea\n"));
    stop(&aws, worker);
    assert_eq!(counts(&aws, "orders-dead").0, "0");
}

/// At once, and more than waits to be written.
#[test]
fn all_lines_of_a_program_are_written_as_long_as_somebody_reads_them() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    let mut worker = command(&aws, "orders", "--concurrency 4", folder.path());
    let output = File::create(folder.path().join("output")).expect("it is ours");
    worker.args(["--", "sh"]).stdout(Stdio::null()).stderr(output);
    let worker = Running(worker.spawn().expect("the command runs"));
    for _ in 0..4 {
        aws.send("orders", "seq 1 20000; seq 1 20000 >&2");
    }
    until("all is done", || counts(&aws, "orders") == ("0".to_owned(), "0".to_owned()));
    let written = read(&folder, "output");
    assert_eq!(written.lines().filter(|line| line.parse::<u32>().is_ok()).count(), 8 * 20_000);
    assert!(!written.contains("could not be written"));
    drop(worker);
}

#[test]
fn a_program_that_is_not_there_costs_no_delivery() {
    let (aws, folder) = (Aws::with_orders(false), folder());
    aws.send("orders", "x");
    for program in ["no-such-program", "./no-such-program", "/tmp"] {
        let ran = Ran::end(work(&aws, "", &[program], folder.path()));
        ran.refused(2, &format!("COMMAND is \"{program}\", allowed: a file that can be executed"));
    }
    assert_eq!(counts(&aws, "orders"), ("1".to_owned(), "0".to_owned()));
    let ran = Ran::end(work(&aws, "--exit 5=drop", &["sh"], folder.path()));
    ran.refused(2, "allowed: an exit code from 0 to 255");
    let ran = Ran::end(work(&aws, "--exit 5=done --exit 5=reject", &["sh"], folder.path()));
    ran.refused(2, "--exit is set twice for 5");
    let ran = Ran::end(work(&aws, "--concurrency 0", &["sh"], folder.path()));
    ran.refused(2, "allowed: 1 to 10000");
    for (name, value) in [("REDRIVE_LOG", "warning"), ("REDRIVE_CONCURRENCY", "0"), ("REDRIVE_BACKOFF", "5")]
    {
        let mut worker = command(&aws, "orders", "", folder.path());
        let worker = worker.env(name, value).args(["--", "sh"]).spawn();
        let ran = Ran::end(worker.expect("the command runs"));
        ran.refused(2, &format!("{name} is "));
    }
    assert_eq!(counts(&aws, "orders"), ("1".to_owned(), "0".to_owned()));
}

/// The program in Python that the page shows.
fn of_page() -> String {
    let page = std::fs::read_to_string(root().join("docs/any-language.md")).expect("it is there");
    let block = page.split("```python\n").nth(1).expect("it has a block");
    block.split("```").next().expect("the block ends").to_owned()
}

/// A program or an app that the page links to.
fn linked(file: &str) -> String {
    std::fs::read_to_string(root().join("examples/any").join(file)).expect("the page links to it")
}

#[test]
fn the_page_says_how_to_write_a_program() {
    let programs =
        [("python3", of_page()), ("node", linked("program/charge.js")), ("sh", linked("program/charge.sh"))];
    for (interpreter, code) in programs {
        let (aws, folder) = (Aws::with_orders(false), folder());
        std::fs::write(folder.path().join("charge"), code).expect("it is ours");
        let worker = work(&aws, "", &[interpreter, "charge"], folder.path());
        aws.send("orders", r#"{"id":"A-1","cents":450}"#);
        aws.send("orders", r#"{"id":"A-2","cents":0}"#);
        let error = "an order must cost something (exit code 3)".to_owned();
        assert_eq!(note(&aws), ("exit-3".to_owned(), error, 1), "{interpreter}");
        until("the end of both", || counts(&aws, "orders") == ("0".to_owned(), "0".to_owned()));
        let ran = stop(&aws, worker);
        assert!(ran.stderr.contains("charged") && ran.stderr.contains("in attempt 1"), "{ran:?}");
    }
}
