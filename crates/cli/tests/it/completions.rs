//! `redrive completions`: prints scripts that shells accept.

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
