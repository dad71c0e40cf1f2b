//! Our templates as AWS's own tools see them, and as the function's metrics need them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::running::{built, root};
use crate::support::{Ran, local};

/// Runs in `tools/` with the Python of `make test`, and must succeed.
fn python(arguments: &[&str]) {
    let python = root().join("target/venv/bin/python");
    assert!(python.exists(), "the Python tools are not installed yet: run `make test` once");
    let output = Command::new(python).args(arguments).current_dir(root().join("tools")).output();
    let output = output.expect("the venv's Python runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn our_templates_are_valid_for_both_kinds_of_queues() {
    python(&[
        "check_template.py",
        "../template.yaml",
        "../deploy/worker.yaml",
        "../templates/any/worker.yaml",
        "../templates/any/template.yaml",
    ]);
}

#[test]
fn the_templates_for_apps_are_those_of_workers_with_a_container_more() {
    python(&["any_templates.py", "--check"]);
}

/// So that the check cannot quietly become a formality.
#[test]
fn the_linters_see_wrong_values_put_into_the_templates() {
    python(&["-m", "unittest", "test_check_template"]);
}

/// The metrics of ours that the dashboard shows, a widget's first with its namespace and the others below it.
fn shown() -> BTreeSet<String> {
    let template = fs::read_to_string(root().join("template.yaml")).expect("the template is there");
    let mut shown = BTreeSet::new();
    let mut namespace = String::new();
    for line in template.lines().map(str::trim).filter(|line| line.starts_with("[\"")) {
        let words: Vec<&str> = line.split('"').collect();
        if words[1] != "." {
            namespace = words[1].to_owned();
        }
        if namespace == "Redrive" {
            shown.insert(words[3].to_owned());
        }
    }
    shown
}

#[test]
fn the_dashboard_shows_what_the_binary_emits_and_nothing_else() {
    let flags =
        "--speed max --until-idle --json --show-output --send events/standard.json --parameter Metrics=emf";
    let ran = Ran::of(&mut local(&root(), &format!("{flags} --binary {}", built("orders").display())));
    let written = ran
        .ended(0)
        .json_lines()
        .into_iter()
        .filter_map(|event| serde_json::from_str::<Value>(event["line"].as_str()?).ok());
    let mut emitted = BTreeSet::new();
    for line in written {
        let directives = line["_aws"]["CloudWatchMetrics"].as_array().into_iter().flatten();
        for metric in directives.flat_map(|directive| directive["Metrics"].as_array().into_iter().flatten()) {
            emitted.extend(metric["Name"].as_str().map(str::to_owned));
        }
    }
    assert_eq!(shown(), emitted);
}
