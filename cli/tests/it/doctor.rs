//! `redrive doctor --template`: what is found is told, and nothing is found in what is ours. Each fault that is found has
//! its place in `cli/tests/doctor/faults.yaml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const FAULTLESS: &str = include_str!("../doctor/faultless.yaml");
const ABORTING: &str = "[package]\nname = \"work\"\n\n[workspace]\n\n[profile.release]\npanic = \"abort\"\n";

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

/// A folder with a template that has one fault, an error: the process ends at a panic.
fn folder_with_an_abort() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("template.yaml"), FAULTLESS).expect("it can be written");
    fs::create_dir(folder.path().join("build")).expect("it can be made");
    fs::write(folder.path().join("build/Cargo.toml"), ABORTING).expect("it can be written");
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
        let actions = "the actions of DeadLetterAlarm, the actions of DeadLetteredAlarm and 4 more: pass \
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

/// CloudFormation refuses a queue that refers to itself, but not one that names itself; SQS takes both since August 2024.
#[test]
fn a_queue_that_is_its_own_dead_letter_queue_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.yaml");
    let source = "Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: orders
      RedrivePolicy: {deadLetterTargetArn: !Sub 'arn:aws:sqs:${AWS::Region}:${AWS::AccountId}:orders', maxReceiveCount: 10}
";
    fs::write(&path, source).expect("it can be written");
    let (report, exit) = findings(&["--template", &path.to_string_lossy()]);
    let found = report["findings"].as_array().expect("a list");
    let what =
        found.iter().find(|finding| finding["code"] == "dead-letters-return").map(|finding| &finding["what"]);
    assert_eq!((what, exit), (Some(&json!("Orders is its own dead-letter queue.")), 1), "{report}");
}

#[test]
fn a_finding_says_what_where_why_and_how_to_fix_it() {
    let folder = folder_with_a_short_timeout();
    let path = folder.path().join("template.yaml").display().to_string();
    let output = redrive(&["--template", &path, "--strict"]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = text(&output.stdout);
    for part in [
        &format!("warning visibility-too-short at {path}:6"),
        "The visibility timeout of Orders is 60 s; 6 x the timeout of Work (30 s) plus the batching window (0 s) is 180 s.",
        "why:  ",
        "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
        "fix:  Set VisibilityTimeout to 6 times",
    ] {
        assert!(stdout.contains(part), "{stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "no colors into a pipe");
    assert_eq!(text(&output.stderr), format!("redrive: 0 errors, 1 warning in {path}\n"));
    let folder = folder_with_an_abort();
    let (report, _) = findings(&["--template", &folder.path().join("template.yaml").to_string_lossy()]);
    let file = folder.path().join("build/Cargo.toml");
    assert_eq!(report["findings"][0]["place"], json!({"id": "Work", "file": file, "line": 7}));
    assert_eq!((&report["errors"], &report["warnings"]), (&json!(1), &json!(0)));
    let explained = text(&redrive(&["--explain", "visibility-too-short"]).stdout);
    assert!(
        explained.starts_with("## visibility-too-short\n\nThe visibility timeout leaves no time"),
        "{explained}"
    );
}

#[test]
fn an_error_fails_a_warning_only_if_strict_and_neither_if_ignored() {
    let faults = [
        (folder_with_a_short_timeout(), "visibility-too-short", 0),
        (folder_with_an_abort(), "panic-abort", 1),
    ];
    for (folder, code, exit) in faults {
        let path = folder.path().join("template.yaml");
        let template = ["--template", path.to_str().expect("it is text")];
        let exit_of = |more: &[&str]| {
            let (report, exit) = findings(&[&template, more].concat());
            (codes(&report).join(" "), exit)
        };
        assert_eq!(exit_of(&[]), (code.to_owned(), exit));
        assert_eq!(exit_of(&["--strict"]), (code.to_owned(), 1));
        assert_eq!(exit_of(&["--strict", "--except", code]), (String::new(), 0));
    }
}

#[test]
fn without_a_queue_that_feeds_a_function_this_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let template =
        "Resources: {Page: {Type: AWS::Serverless::Function, Properties: {Events: {Get: {Type: HttpApi}}}}}";
    fs::write(folder.path().join("t.yaml"), template).expect("it can be written");
    let path = folder.path().join("t.yaml").display().to_string();
    let output = redrive(&["--template", &path]);
    let expected =
        format!("no queue feeds a function or a worker in {path}, and no other problem was found\n");
    assert_eq!((text(&output.stderr), output.status.code()), (expected, Some(0)));
}

#[test]
fn a_queue_that_is_not_known_may_feed_a_function() {
    let folder = tempfile::tempdir().expect("a folder");
    let imported = "the export q of another stack is known only at deployment";
    let unknown = [
        (
            "Work.Q",
            "Resources: {Work: {Type: AWS::Serverless::Function, Properties: {Events: {Q: {Type: SQS, Properties: \
             {Queue: !ImportValue q, FunctionResponseTypes: [ReportBatchItemFailures]}}}}}}",
            imported,
        ),
        (
            "Map",
            "Resources: {Map: {Type: AWS::Lambda::EventSourceMapping, Properties: {EventSourceArn: !ImportValue q}}}",
            imported,
        ),
        (
            "aws_lambda_event_source_mapping.map",
            r#"{"format_version": "1.2", "terraform_version": "1.9.0", "planned_values": {"root_module": {"resources": [{"address":
            "aws_lambda_event_source_mapping.map", "mode": "managed", "type": "aws_lambda_event_source_mapping", "name": "map",
            "values": {"function_name": "work"}}]}}, "resource_changes": [{"address": "aws_lambda_event_source_mapping.map",
            "mode": "managed", "type": "aws_lambda_event_source_mapping", "name": "map", "change": {"actions": ["create"],
            "before": null, "after": {"function_name": "work"}, "after_unknown": {"event_source_arn": true}}}]}"#,
            "known only after apply",
        ),
    ];
    for (mapping, template, why) in unknown {
        let file = folder.path().join("t.yaml");
        fs::write(&file, template).expect("it can be written");
        let path = file.display().to_string();
        let output = redrive(&["--template", &path]);
        let told = text(&output.stderr);
        let expected = format!("no problems found in {path}, but the queue of {mapping} is not known\n");
        assert!(told.ends_with(&expected) && told.contains(why), "{told}");
        assert_eq!(output.status.code(), Some(0));
    }
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

#[test]
fn what_cannot_be_read_or_meant_is_wrong_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, source: &str| {
        let path = folder.path().join(name);
        fs::write(&path, source).expect("it can be written");
        path.to_string_lossy().into_owned()
    };
    let (broken, none) = (file("broken.yaml", "a: [1"), file("none.yaml", "a: 1"));
    for (arguments, said) in [
        (&["--template", "nowhere.yaml"][..], "could not read the template nowhere.yaml"),
        (&["--template", &broken], "broken.yaml: line"),
        (&["--template", &none], "no Resources: this is not a CloudFormation template"),
        (&["--parameter", "FunctionTimeout=31"], "FunctionTimeout is \"31\", allowed: 3, 10, 30"),
        (&["--parameter", "Nothing=1"], "no parameter Nothing"),
        (&["--parameter", "BatchSize=11"], "A BatchSize above 10 needs a BatchingWindow"),
        (&["--explain", "nothing"], "no such code: see redrive doctor --list"),
        (&["--only", "visibility-to-short"], "no such code; did you mean visibility-too-short?"),
        (&["--template", "template.yaml", "--stack", "shop"], "cannot be used with"),
    ] {
        let output = redrive(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
