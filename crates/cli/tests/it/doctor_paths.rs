//! `redrive doctor` over files and folders, for people, for programs and for pull requests.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const FAULTLESS: &str = include_str!("../doctor/corpus/faultless.yaml");

/// A folder with three templates and a file that is none: one without fault, one with a warning, one with an error.
fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let warning = FAULTLESS.replace(r#""180""#, r#""60""#).replace("Timeout: 180", "Timeout: 60");
    let error = FAULTLESS.replace("FunctionResponseTypes: [ReportBatchItemFailures]", "Enabled: true");
    for (name, text) in [
        ("fine.yaml", FAULTLESS),
        ("deep/er/short.yml", &warning),
        ("wrong: 50%, a.yaml", &error),
        ("serverless.yml", "resources:\n  Resources: {Q: {Type: AWS::SQS::Queue}}\n"),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    folder
}

fn doctor(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.arg("doctor").args(arguments).current_dir(folder).output().expect("it runs and ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it prints text")
}

/// What it prints on stdout and on stderr, and its exit code.
fn told(folder: &Path, arguments: &[&str]) -> (String, String, i32) {
    let output = doctor(folder, arguments);
    (text(&output.stdout), text(&output.stderr), output.status.code().expect("it was not killed"))
}

#[test]
fn code_scanning_reads_the_findings_as_sarif() {
    let project = project();
    let path = project.path().join("wrong: 50%, a.yaml");
    let wrong = fs::read_to_string(&path).expect("it is there");
    let comment = "# redrive:accept=batch-response-missing: known\n";
    fs::write(&path, wrong.replacen("Properties:", &format!("Properties: {comment}"), 3))
        .expect("it is written");
    fs::write(project.path().join("broken.yaml"), "Resources:\n  Q: [AWS::SQS::Queue\n")
        .expect("it is written");
    let (stdout, _, exit) = told(project.path(), &[".", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&stdout).expect("it is JSON");
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("it is a list");
    // What a template accepts is not in it.
    assert_eq!((&log["version"], results.len(), exit), (&json!("2.1.0"), 1, 2));
    let rule = &run["tool"]["driver"]["rules"][results[0]["ruleIndex"].as_u64().expect("an index") as usize];
    assert_eq!(rule["id"], results[0]["ruleId"]);
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place, &json!({"artifactLocation": {"uri": "deep/er/short.yml"}, "region": {"startLine": 6}}));
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let why = invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().expect("a text");
    assert!(why.starts_with("broken.yaml: line "), "{why}");
}

#[test]
fn paths_are_escaped_for_code_scanning() {
    let (stdout, _, exit) = told(project().path(), &["wrong: 50%, a.yaml", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&stdout).expect("it is JSON");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], exit), (&json!("wrong%3A%2050%25,%20a.yaml"), 1));
}

#[test]
fn code_scanning_gets_no_links_from_a_template() {
    let folder = tempfile::tempdir().expect("a folder");
    let template = "Resources: {\"[x](https://example.com)\": {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 50000}}}";
    fs::write(folder.path().join("t.yaml"), template).expect("it can be written");
    let (stdout, _, _) = told(folder.path(), &["t.yaml", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&stdout).expect("it is JSON");
    let text = log["runs"][0]["results"][0]["message"]["text"].as_str().expect("a text");
    assert!(text.starts_with("VisibilityTimeout of [x] (https://example.com) is 50000"), "{text}");
}

/// A file of `/proc` has no size, and some have no end.
#[cfg(target_os = "linux")]
#[test]
fn a_link_to_what_has_no_end_is_an_empty_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("template.yaml");
    std::os::unix::fs::symlink("/proc/self/pagemap", &link).expect("it can be made");
    let (_, stderr, exit) = told(folder.path(), &["template.yaml"]);
    assert_eq!((stderr.lines().count(), exit), (1, 2), "{stderr}");
    assert!(!stderr.contains("could not read the template"), "it is read: {stderr}");
    let (_, stderr, exit) = told(folder.path(), &["."]);
    assert_eq!((stderr.contains("no template in it"), exit), (true, 2), "{stderr}");
}

#[test]
fn a_template_that_is_not_utf_8_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("latin.YAML"), b"Resources: {Q: {Type: AWS::SQS::Queue}} # \xe9")
        .expect("it is written");
    let (_, stderr, exit) = told(folder.path(), &["."]);
    assert!(stderr.starts_with("redrive: could not read the template latin.YAML"), "{stderr}");
    assert_eq!(exit, 2);
}

/// A search from each resource up to its name took minutes here.
#[test]
fn many_resources_in_one_line_behind_many_lines_are_read_in_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let resources: Vec<_> = (0..20_000).map(|number| format!("r{number}: {{Type: x}}")).collect();
    let template = "\n".repeat(450_000) + "Resources: {" + &resources.join(", ") + "}\n";
    fs::write(folder.path().join("template.yaml"), template).expect("it can be written");
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_redrive"));
    command
        .arg("doctor")
        .current_dir(folder.path())
        .timeout(std::time::Duration::from_secs(60))
        .assert()
        .code(0);
}
