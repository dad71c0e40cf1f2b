//! template.yaml as AWS's own tools see it: SAM's validation, and cfn-lint on the CloudFormation it becomes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the check on a template with the Python of `make test`.
fn check(template: &Path) -> Output {
    let python = root().join("target/venv/bin/python");
    assert!(python.exists(), "the Python tools are not installed yet: run `make test` once");
    Command::new(python)
        .arg(root().join("tools/check_template.py"))
        .arg(template)
        .output()
        .expect("the venv's Python runs")
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn our_template_is_valid_for_both_kinds_of_queues() {
    let output = check(&root().join("template.yaml"));
    assert!(output.status.success(), "{}", told(&output));
}

/// What only the translated template shows, so that the check cannot quietly become a formality.
#[test]
fn a_wrong_value_is_found() {
    let source = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    let wrong = source.replace("[ReportBatchItemFailures]", "[ReportItemFailures]");
    assert_ne!(source, wrong);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("template.yaml");
    std::fs::write(&path, wrong).unwrap();
    let output = check(&path);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("E3030"), "{}", told(&output));
}
