//! `--edit`: sends an edited letter, or leaves it unchanged.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::letters::{DEAD, ORDERS, bodies, take, with_letters, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::running::signal_to;
use crate::support::{Aws, REGION, Ran, command_at, on};
use crate::terminal::Terminal;

fn edit(aws: &Aws, editor: &str) -> Ran {
    let mut command = command_at(&aws.url, "dlq retry --queue orders --edit --yes");
    Ran::of(command.env_remove("VISUAL").env("EDITOR", editor))
}

#[test]
fn an_edited_letter_goes_as_it_was_edited() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 3);
    edit(&aws, "sed -i s/1/100/")
        .printed(0, "1 sent from orders-dead to orders, 2 unchanged in the editor\n");
    let sent = take(&aws, ORDERS);
    assert_eq!(sent[0].body.as_deref(), Some("{\"n\":100}"));
    let origin = sent[0].message_attributes.as_ref().unwrap()["redrive.origin"].string_value().unwrap();
    assert_eq!(origin, "{\"message_id\":\"m1\",\"redrives\":1}");
    assert_eq!(bodies(&aws, DEAD), ["{\"n\":0}", "{\"n\":2}"]);
}

#[test]
fn without_a_terminal_an_edited_letter_needs_yes() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 1);
    // In a session of its own it has no terminal, wherever the tests run.
    without_a_terminal(&aws, "--edit").told(
        2,
        "redrive: not a terminal, cannot confirm: pass --yes to send the letters that the editor changes\n",
    );
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (1, 0)));
    without_a_terminal(&aws, "--edit --dry-run").ended(0);
    without_a_terminal(&aws, "--edit --yes").ended(0);
    assert_eq!(bodies(&aws, ORDERS), ["{\"n\":7}"]);
}

fn without_a_terminal(aws: &Aws, more: &str) -> Ran {
    let mut command = std::process::Command::new("setsid");
    command.args(["--wait", env!("CARGO_BIN_EXE_redrive"), "dlq", "retry", "--queue", "orders"]);
    command.args(more.split(' ')).args(["--endpoint-url", &aws.url, "--region", REGION]);
    command.env("REDRIVE_JOURNAL", "off");
    command.env_remove("VISUAL").env("EDITOR", "sed -i s/0/7/").stdin(std::process::Stdio::null());
    Ran::new(&command.output().expect("setsid is there"))
}

#[test]
fn the_editor_shows_which_letter_it_is_and_why_it_is_here() {
    let aws = with_letters(1, &["panic"]);
    let folder = tempfile::tempdir().expect("a folder");
    let seen = folder.path().join("seen");
    let id = aws.redrive("dlq list --queue orders --json").json()["id"].as_str().expect("an id").to_owned();
    edit(&aws, &format!(r#"sh -c 'cp "$0" {}'"#, seen.display()))
        .printed(0, "0 sent from orders-dead to orders, 1 unchanged in the editor\n");
    let text = std::fs::read_to_string(&seen).expect("it was copied");
    let lines: Vec<&str> = text.lines().take(4).collect();
    assert_eq!(lines[0], format!("// letter {id}: panic: card refused"), "{text}");
    assert_eq!(
        (lines[1], lines[2]),
        ("// Lines that begin with // before the document are ignored.", "{"),
        "{text}"
    );
}

#[test]
fn an_editor_that_fails_leaves_the_letter() {
    let aws = with_letters(1, &["panic"]);
    for (editor, expected) in [
        ("false", "the editor false failed (exit status: 1)"),
        ("rm", "could not read the edited letter"),
        ("truncate -s 5", "cannot be sent as edited: EOF while parsing"),
        ("sed -i s/body/words/", "unknown field `words`"),
    ] {
        edit(&aws, editor).ended(1).stderr_has(expected);
        assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (1, 0)), "{editor}");
    }
}

#[test]
fn without_an_editor_no_letter_after_the_first_is_tried() {
    let aws = with_letters(3, &["panic"]);
    let ran = edit(&aws, "no-such-editor");
    assert_eq!((ran.code, aws.counts(ORDERS), aws.counts(DEAD)), (1, (0, 0), (3, 0)), "{ran:?}");
    let expected = "could not run the editor no-such-editor (exit status: 127): set VISUAL or EDITOR";
    // The shell was asked once.
    ran.stderr_count(expected, 1).stderr_count("not found", 1);
}

/// The command in a terminal, with this editor and a folder for its files.
fn editing(aws: &Aws, editor: &str, folder: &Path) -> Terminal {
    let command = Terminal::command(&aws.url, "dlq retry --edit --queue orders");
    Terminal::run(command.env("TMPDIR", folder).env("VISUAL", editor))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("it is there");
    files.map(|file| file.expect("it can be read").path()).collect()
}

#[test]
fn ctrl_c_at_the_question_ends_it() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 3);
    let folder = tempfile::tempdir().expect("a folder");
    let mut terminal = editing(&aws, "sed -i s/body/boddy/", folder.path());
    terminal.expect_end("Edit it again? [Y/n]");
    terminal.interrupt();
    terminal.ends(130);
    terminal.shows("1 interrupted");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (3, 0)));
    assert!(files(folder.path()).is_empty());
}

#[test]
fn no_file_is_left_after_two_interrupts_and_nobody_else_may_read_it() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 1);
    let folder = tempfile::tempdir().expect("a folder");
    let editor = r#"sh -c 'trap "echo one" INT; echo "it is open"; while :; do sleep 1; done'"#;
    let mut terminal = editing(&aws, editor, folder.path());
    terminal.expect("it is open");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let [own] = &files(folder.path())[..] else { panic!("one folder") };
    let [file] = &files(own)[..] else { panic!("one file") };
    assert_eq!((mode(own), mode(file)), (0o700, 0o600));
    terminal.interrupt();
    terminal.expect("one");
    // Two that come at once count as one, so the second is repeated if nothing comes of it.
    let is_left = || !files(folder.path()).is_empty();
    for _ in 0..3 {
        terminal.interrupt();
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_left() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        if !is_left() {
            break;
        }
    }
    terminal.ends(130);
    assert!(!is_left(), "it holds what the letter holds");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (1, 0)));
}

#[test]
fn an_edit_that_could_not_be_sent_is_kept() {
    for (editor, is_sent) in [("sed -i s/0/100/", true), ("sed -i s/body/boddy/", false)] {
        let aws = Aws::with_orders(false);
        write_many(&aws, 1);
        let proxy =
            Proxy::start(&aws.url, on("SendMessageBatch", Fate::Refused(400, "AccessDeniedException")));
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = command_at(&proxy.url, "dlq retry --queue orders --edit --yes");
        let ran = Ran::of(command.env("TMPDIR", folder.path()).env("VISUAL", editor));
        let [own] = &files(folder.path())[..] else { panic!("one folder: {ran:?}") };
        let [file] = &files(own)[..] else { panic!("one file") };
        ran.ended(1).stderr_has(format!(" as you edited it is in {}\n", file.display()));
        let text = std::fs::read_to_string(file).expect("it is there");
        assert!(text.contains(if is_sent { "100" } else { "boddy" }), "{text}");
        let mode = std::fs::metadata(file).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode, aws.counts(DEAD)), (0o600, (1, 0)));
    }
}

/// As Emacs and others leave it beside a file.
const BACKUP: &str = r#"sh -c 'cp "$0" "$0~"; cp "$0" "${0%/*}/.swp"; sed -i s/0/7/ "$0"'"#;

#[test]
fn backups_of_an_editor_are_removed_with_the_file() {
    for (editor, code) in [(BACKUP.to_owned(), 0), (format!("{BACKUP} && false"), 1)] {
        let aws = Aws::with_orders(false);
        write_many(&aws, 1);
        // A shell that read the path as part of the command would fail over it.
        let folder = tempfile::Builder::new().prefix("a 'b\" $(false); ").tempdir().expect("a folder");
        let mut command = command_at(&aws.url, "dlq retry --queue orders --edit --yes");
        command.env("TMPDIR", folder.path()).env("VISUAL", &editor);
        Ran::of(&mut command).ended(code);
        assert_eq!(files(folder.path()), [] as [PathBuf; 0], "{editor}");
    }
}

#[test]
fn sigterm_ends_the_editor_too() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 1);
    let folder = tempfile::tempdir().expect("a folder");
    let editor = r#"sh -c 'cp "$0" "$0~"; stty -echo; echo "parent=$PPID."; while :; do sleep 1; done'"#;
    let mut terminal = editing(&aws, editor, folder.path());
    terminal.expect("parent=");
    let screen = terminal.screen();
    // A shell may stand between them.
    let pid = screen.split("parent=").nth(1).and_then(|rest| rest.split('.').next()).expect("it was said");
    let pid = redrive_above(pid);
    signal_to("-TERM", &pid);
    terminal.ends(143);
    assert!(files(folder.path()).is_empty());
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (1, 0)));
}

/// This process or one above it, whichever is the command.
fn redrive_above(pid: &str) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).expect("it runs");
    if name.trim() == "redrive" {
        return pid.to_owned();
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has a parent");
    redrive_above(parent.trim())
}

#[test]
fn a_slip_in_the_editor_can_be_mended_in_the_next_try() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 1);
    // The first time it breaks the document, the second time it mends it.
    let editor = r#"sh -c 'if grep -q body "$0"; then sed -i s/body/boddy/ "$0"; else sed -i "s/boddy/body/; s/0/7/" "$0"; fi'"#;
    let folder = tempfile::tempdir().expect("a folder");
    let mut terminal = editing(&aws, editor, folder.path());
    terminal.expect("Edit it again? [Y/n]");
    terminal.enter("");
    terminal.ends(0);
    assert_eq!(bodies(&aws, ORDERS), ["{\"n\":7}"]);
}
