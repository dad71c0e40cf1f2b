//! `redrive doctor --template`: what is found is told, and nothing is found in what is ours. Each fault that is found has
//! its place in `cli/tests/doctor/faults.yaml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const FAULTLESS: &str = include_str!("../doctor/faultless.yaml");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

fn redrive(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.arg("doctor").args(arguments).current_dir(root()).output().expect("it runs and ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it prints text")
}

/// What is found, as JSON.
fn findings(arguments: &[&str]) -> (Value, i32) {
    let output = redrive(&[arguments, &["--json"]].concat());
    let report = serde_json::from_slice(&output.stdout);
    let report = report.unwrap_or_else(|_| panic!("{arguments:?}: {}", text(&output.stderr)));
    (report, output.status.code().expect("it was not killed"))
}

fn codes(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("a list");
    findings.iter().map(|finding| finding["code"].as_str().expect("a code")).collect()
}

/// A folder with a template that has one fault, a warning.
pub(crate) fn folder_with_a_short_timeout() -> TempDir {
    let template = FAULTLESS.replace(r#"180""#, r#"60""#).replace("Timeout: 180", "Timeout: 60");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("template.yaml"), template).expect("it can be written");
    folder
}

fn assert_faultless(template: &Path, parameters: &[&str]) -> Value {
    let path = template.to_string_lossy();
    let mut arguments = vec!["--template", &path, "--strict"];
    arguments.extend(parameters.iter().flat_map(|parameter| ["--parameter", parameter]));
    let (report, exit) = findings(&arguments);
    assert_eq!((codes(&report), exit), (vec![], 0), "{path} {parameters:?}: {report}");
    report["not_seen"].clone()
}

#[test]
fn nothing_is_found_in_the_faultless_template() {
    let template = root().join("cli/tests/doctor/faultless.yaml");
    assert_eq!(assert_faultless(&template, &[]), Value::Array(vec![]));
}

#[test]
fn nothing_is_found_in_our_templates_whatever_their_parameters() {
    // As `cargo lambda new` leaves them.
    let project = tempfile::tempdir().expect("a folder");
    for file in ["template.yaml", "Cargo.toml"] {
        let text = fs::read_to_string(root().join("templates/consumer").join(file)).expect("it is there");
        let text = text.replace("{{ project_name }}", "jobs").replace("{{ redrive }}", "\"1\"");
        fs::write(project.path().join(file), text).expect("it can be written");
    }
    for template in [root().join("template.yaml"), project.path().join("template.yaml")] {
        let unseen = assert_faultless(&template, &[]);
        let actions = "the actions of DeadLetterAlarm, the actions of DeadLetteredAlarm and 5 more: pass \
                       --parameter NotificationEmail=VALUE";
        assert_eq!(unseen, json!([actions]));
        let told = "NotificationEmail=me@example.com";
        assert_eq!(assert_faultless(&template, &[told]), Value::Array(vec![]));
        for (timeout, metrics) in [("3", "emf"), ("900", "off"), ("30", "cloudwatch")] {
            for fifo in ["true", "false"] {
                let (timeout, metrics) = (format!("FunctionTimeout={timeout}"), format!("Metrics={metrics}"));
                assert_faultless(&template, &[told, &format!("Fifo={fifo}"), &timeout, &metrics]);
            }
        }
        assert_faultless(
            &template,
            &["BatchSize=10000", "BatchingWindow=300", "FunctionTimeout=900", "MaxReceiveCount=5"],
        );
        assert_eq!(assert_faultless(&template, &[told, "Idempotency=on"]), Value::Array(vec![]));
    }
}

#[test]
fn nothing_is_found_in_the_template_for_existing_projects() {
    let folder = tempfile::tempdir().expect("a folder");
    let template = folder.path().join("template.yaml");
    fs::copy(root().join("deploy/function.yaml"), &template).expect("it can be copied");
    let page = fs::read_to_string(root().join("docs/deploying.md")).expect("the page is there");
    let toml: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    fs::write(folder.path().join("Cargo.toml"), toml[0]).expect("it can be written");
    assert_eq!(assert_faultless(&template, &[]), Value::Array(vec![]));
}

#[test]
fn a_report_about_functions_in_other_languages_advertises_nothing() {
    let (_folder, template) = crate::doctor_corpus::written("fix-plain.yaml");
    let output = redrive(&["--template", &template.to_string_lossy()]);
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(told.contains("batch-response-missing") && !told.contains("framework"), "{told}");
    let output = redrive(&["--json", "--template", &template.to_string_lossy()]);
    assert!(!text(&output.stdout).contains("with_redrive"));
}
