//! `redrive completions` and `redrive man`: what shells and readers take.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{Ran, command};

#[test]
fn each_shell_that_is_here_takes_its_completions() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    for (shell, check) in
        [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute"), ("elvish", ""), ("powershell", "")]
    {
        let ran = Ran::of(&mut command(&format!("completions {shell}")));
        ran.told(0, "");
        for word in ["status", "attach", "send", "dead-letter-queue"] {
            assert!(ran.stdout.contains(word), "{shell} completes no {word}");
        }
        let script = folder.path().join(shell);
        fs::write(&script, &ran.stdout).expect("it is ours");
        if check.is_empty() {
            continue;
        }
        // A shell that is not installed cannot say anything.
        let checked = Command::new(shell).arg(check).arg(&script).stderr(Stdio::inherit()).status();
        if let Ok(status) = checked {
            assert!(status.success(), "{shell} does not take its completions");
        }
    }
    assert_eq!(Ran::of(&mut command("completions tcsh")).code, 2);
}

#[test]
fn bash_completes_verbs() {
    let ran = Ran::of(&mut command("completions bash"));
    let script = format!(
        "{}\nCOMP_WORDS=(redrive queue st) COMP_CWORD=2\n_redrive redrive st queue\necho \"${{COMPREPLY[@]}}\"",
        ran.stdout
    );
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash is there");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "status");
}

#[test]
fn there_is_a_manual_page_for_each_verb() {
    Ran::of(&mut command("man")).stdout_has(".TH redrive 1");
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let pages = folder.path().join("man1");
    Ran::of(&mut command(&["man", pages.to_str().expect("it is text")])).ended(0);
    for (page, example) in
        [("redrive.1", "redrive"), ("redrive-send.1", "jq"), ("redrive-queue-attach.1", "orders.fifo")]
    {
        let text = fs::read_to_string(pages.join(page)).expect("there is such a page");
        assert!(text.contains(example), "{page} has no example: {text}");
    }
    assert!(!pages.join("redrive-help-send.1").exists(), "nobody reads how to ask for help on send");
    Ran::of(&mut command("man /dev/null/man")).refused(1, "");
}
