//! Checks redrive's template against the function's metrics. AWS's own tools check it in `make check ONLY=tools`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::running::{built, root};
use crate::support::{Ran, local};

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
