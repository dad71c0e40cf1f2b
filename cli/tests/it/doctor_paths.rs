//! `redrive doctor` over files and folders, for people, for programs and for pull requests.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::running;

const FAULTLESS: &str = include_str!("../doctor/faultless.yaml");

/// A folder in which three templates lie among other files: one without fault, one with a warning, one with an error.
fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let warning = FAULTLESS.replace(r#""180""#, r#""60""#).replace("Timeout: 180", "Timeout: 60");
    let error = FAULTLESS.replace("FunctionResponseTypes: [ReportBatchItemFailures]", "Enabled: true");
    for (name, text) in [
        ("fine.yaml", FAULTLESS),
        ("deep/er/short.yml", &warning),
        ("wrong: 50%, a.yaml", &error),
        ("serverless.yml", "resources:\n  Resources: {Q: {Type: AWS::SQS::Queue}}\n"),
        ("notes.json", r#"{"about": "AWS::SQS::Queue"}"#),
        ("serverless-state.json", r#"{"service": {"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}}"#),
        (".github/workflow.yml", "jobs: {a: {run: 'grep \"Resources\" AWS::Lambda::Function'}}"),
        ("node_modules/x/template.yaml", &error),
        ("README.md", FAULTLESS),
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
fn a_folder_is_all_templates_in_it_and_nothing_else() {
    let project = project();
    let (stdout, stderr, exit) = told(project.path(), &["."]);
    assert_eq!(exit, 1, "{stderr}");
    let titles: Vec<_> = stdout.lines().filter(|line| line.contains(" at ")).collect();
    assert_eq!(
        titles,
        [
            "warning visibility-too-short at deep/er/short.yml:6",
            "error batch-response-missing at wrong: 50%, a.yaml:35",
        ]
    );
    assert!(stderr.ends_with("redrive: 1 error, 1 warning in 3 templates\n"), "{stderr}");
    let (_, stderr, exit) = told(project.path(), &["fine.yaml", "deep"]);
    assert_eq!((stderr.as_str(), exit), ("0 errors, 1 warning in 2 templates\n", 0));
}

#[test]
fn manifests_in_a_folder_are_read_if_they_have_a_worker_and_charts_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = fs::read_to_string(running::root().join("deploy/worker.k8s.yaml")).expect("it is there");
    let counting = ours.replace("scaleOnInFlight: \"false\"", "scaleOnInFlight: \"true\"");
    for (name, text) in [
        ("worker.yaml", counting.as_str()),
        ("chart.yaml", &counting.replace("name: orders", "name: {{ .Release.Name }}")),
        ("other.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: orders}\n"),
        ("kustomization.yaml", "configMapGenerator: [{name: a, literals: [REDRIVE_QUEUE_URL=x]}]\n"),
    ] {
        fs::write(folder.path().join(name), text).expect("it can be written");
    }
    let (stdout, stderr, exit) = told(folder.path(), &["."]);
    let line = 1 + ours.lines().take_while(|line| !line.contains("type: aws-sqs-queue")).count();
    assert!(stdout.starts_with(&format!("warning scales-on-in-flight at worker.yaml:{line}\n")), "{stdout}");
    assert!(exit == 0 && stderr.ends_with("0 errors, 1 warning in worker.yaml\n"), "{stderr}");
    assert!(
        stderr.contains("not checked: chart.yaml: this is a template of a Helm chart; run `helm"),
        "{stderr}"
    );
    assert!(
        stderr.contains("not checked: kustomization.yaml: this is a kustomization; run `kubectl"),
        "{stderr}"
    );
    // A manifest may hold the templates of others.
    let rules =
        counting.replacen("  name: orders\n", "  name: orders\n  annotations: {a: '{{ $value }}'}\n", 1);
    fs::write(folder.path().join("worker.yaml"), rules).expect("it can be written");
    assert!(told(folder.path(), &["."]).0.starts_with("warning scales-on-in-flight at worker.yaml:"));
}

#[test]
fn what_cannot_be_read_does_not_hide_the_rest() {
    let project = project();
    for name in ["broken.yaml", "deep/broken.yaml"] {
        fs::write(project.path().join(name), "Resources:\n  Q: [AWS::SQS::Queue\n")
            .expect("it can be written");
    }
    let (stdout, stderr, exit) = told(project.path(), &[".", "--json"]);
    let subjects: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let found: Vec<_> = subjects.iter().map(|it| (it["errors"].clone(), it["warnings"].clone())).collect();
    assert_eq!(found, [(0, 1), (0, 0), (1, 0)].map(|(errors, warnings)| (json!(errors), json!(warnings))));
    let lines: Vec<_> = stderr.lines().collect();
    assert!(lines[0].starts_with("not checked: serverless.yml: "), "{stderr}");
    assert!(lines[1].starts_with("redrive: broken.yaml: line "), "{stderr}");
    assert!(lines[2].starts_with("redrive: deep/broken.yaml: line "), "{stderr}");
    assert_eq!(lines[3], "redrive: 1 error, 1 warning in 3 templates; 2 files could not be read");
    assert_eq!((lines.len(), exit), (4, 2));
}

#[test]
fn only_some_codes_or_all_but_some_are_told() {
    let project = project();
    let exit = |more: &[&str]| told(project.path(), &[&["wrong: 50%, a.yaml"], more].concat()).2;
    assert_eq!(exit(&["--only", "batch-response-missing"]), 1);
    assert_eq!(exit(&["--only", "mapping-disabled"]), 0);
    assert_eq!(exit(&["--except", "batch-response-missing"]), 0);
    assert_eq!(exit(&["--only", "mapping-disabled", "--except", "mapping-disabled"]), 2);
    assert_eq!(exit(&["--only", "mapping"]), 2);
}

#[test]
fn a_comment_accepts_a_finding_with_its_reason() {
    let project = project();
    let path = project.path().join("wrong: 50%, a.yaml");
    let wrong = fs::read_to_string(&path).expect("it is there");
    let comment = "  # redrive:accept=batch-response-missing: one message a batch\n";
    let accepted = wrong.replacen("  Work:\n", &format!("{comment}  Work:\n"), 1);
    fs::write(&path, &accepted).expect("it can be written");
    let (stdout, stderr, exit) = told(project.path(), &["--strict", "--template", "wrong: 50%, a.yaml"]);
    assert_eq!((stdout.as_str(), exit), ("", 0));
    assert_eq!(
        stderr,
        "accepted: batch-response-missing at wrong: 50%, a.yaml:36: one message a batch\nno problems found \
         in wrong: 50%, a.yaml\n"
    );
    let report: Value =
        serde_json::from_str(&told(project.path(), &["wrong: 50%, a.yaml", "--json"]).0).unwrap();
    assert_eq!(report["accepted"][0]["reason"], "one message a batch");
    // Elsewhere it accepts nothing, and says so.
    let elsewhere = wrong.replacen("  Dead:\n", &format!("{comment}  Dead:\n"), 1);
    fs::write(&path, elsewhere).expect("it can be written");
    let (_, stderr, exit) = told(project.path(), &["wrong: 50%, a.yaml"]);
    assert_eq!(exit, 1);
    assert!(
        stderr.starts_with("accepted, but not found: batch-response-missing at wrong: 50%, a.yaml:"),
        "{stderr}"
    );
    let report: Value =
        serde_json::from_str(&told(project.path(), &["wrong: 50%, a.yaml", "--json"]).0).unwrap();
    assert_eq!(report["accepted_but_not_found"][0]["code"], "batch-response-missing");
    fs::write(&path, accepted.replace(": one message a batch", "")).expect("it can be written");
    let (_, stderr, exit) = told(project.path(), &["wrong: 50%, a.yaml"]);
    assert_eq!(exit, 2);
    assert!(stderr.contains("is invalid: write redrive:accept=CODE: REASON"), "{stderr}");
}

#[test]
fn github_shows_findings_beside_their_lines() {
    let (stdout, _, exit) = told(project().path(), &[".", "--format", "github"]);
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!((lines.len(), exit), (2, 1));
    assert!(
        lines[0].starts_with("::warning file=deep/er/short.yml,line=6,title=visibility-too-short::The vis")
    );
    assert!(
        lines[1].starts_with("::error file=wrong%3A 50%25%2C a.yaml,line=35,title=batch-response-missing::")
    );
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
fn a_path_that_cannot_be_read_does_not_hide_the_others() {
    let project = project();
    fs::create_dir(project.path().join("empty")).expect("it can be made");
    fs::write(project.path().join("latin.YAML"), b"Resources: {Q: {Type: AWS::SQS::Queue}} # \xe9")
        .expect("it is written");
    let (stdout, stderr, exit) =
        told(project.path(), &["deep", "empty", "latin.YAML", ".", "deep/er/short.yml"]);
    assert_eq!((stdout.matches(" at ").count(), exit), (2, 2), "{stdout}");
    let lines: Vec<_> = stderr.lines().collect();
    assert!(lines[1].starts_with("redrive: could not read the folder empty: no template in it"), "{stderr}");
    assert!(lines[2].starts_with("redrive: could not read the template latin.YAML"), "{stderr}");
    assert_eq!(lines[3], "redrive: 1 error, 1 warning in 3 templates; 2 files could not be read");
    assert_eq!(lines.len(), 4, "{stderr}");
}

#[test]
fn some_paths_are_left_out() {
    let project = project();
    let (stdout, stderr, exit) = told(
        project.path(),
        &[".", "--exclude", "deep", "--exclude", "wrong: 50%, a.yaml", "--exclude", "serverless.yml"],
    );
    assert_eq!((stdout.as_str(), stderr.as_str(), exit), ("", "no problems found in fine.yaml\n", 0));
}

#[test]
fn a_parameter_goes_to_the_templates_that_declare_it() {
    let project = project();
    let declares = "Parameters: {Stage: {Type: String}}\n".to_owned() + FAULTLESS;
    fs::write(project.path().join("staged.yaml"), declares).expect("it can be written");
    let (_, stderr, exit) = told(project.path(), &["fine.yaml", "staged.yaml", "--parameter", "Stage=prod"]);
    assert_eq!((stderr.as_str(), exit), ("no problems found in 2 templates\n", 0));
    let (_, stderr, exit) = told(project.path(), &["fine.yaml", "staged.yaml", "--parameter", "Stge=prod"]);
    assert_eq!((stderr.as_str(), exit), ("redrive: no parameter \"Stge\" in any of 2 templates\n", 2));
}

#[test]
fn what_goes_together_is_said() {
    let project = project();
    fs::create_dir(project.path().join("empty")).expect("it can be made");
    for (arguments, said) in [
        (&["empty"][..], "could not read the folder empty: no template in it"),
        (&["nowhere"], "could not read the template nowhere"),
        (&["--stack", "shop", "--format", "sarif"], "SARIF reports findings in files only"),
        (&["--exclude", "deep"], "required"),
        (&[".", "--stack", "shop"], "cannot be used with"),
        (&[".", "--format", "json", "--json"], "cannot be used with"),
    ] {
        let (stdout, stderr, exit) = told(project.path(), arguments);
        assert_eq!((stdout.as_str(), exit), ("", 2), "{arguments:?}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

#[test]
fn what_must_be_generated_first_is_said_with_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let (terraform, serverless) =
        ("terraform show -json plan > plan.json", "run `serverless package` and check ");
    for (name, text) in [
        ("main.tf", "resource \"aws_sqs_queue\" \"orders\" {\n}\n"),
        ("more.tf", "resource \"aws_sqs_queue\" \"more\" {\n}\n"),
        ("serverless.yml", "service: shop\nprovider: {name: aws}\nfunctions: {a: {events: [{sqs: x}]}}\n"),
    ] {
        fs::write(folder.path().join(name), text).expect("it can be written");
    }
    for (arguments, said) in [
        (&["doctor", "main.tf"][..], terraform),
        (&["doctor", "--template", "serverless.yml"], serverless),
        (&["schedule", "--template", "main.tf"], terraform),
        (&["local", "--template", "serverless.yml"], serverless),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
        let output = command.args(arguments).current_dir(folder.path()).output().expect("it ends");
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(said), "{arguments:?}: {stderr}");
    }
    let (_, stderr, exit) = told(folder.path(), &["."]);
    let lines: Vec<_> = stderr.lines().collect();
    assert!(
        lines[0].starts_with("not checked: main.tf: this is Terraform code; run `terraform plan "),
        "{stderr}"
    );
    assert!(lines[1].starts_with("not checked: serverless.yml: "), "{stderr}");
    assert!(lines[2].ends_with("no template in it") && lines.len() == 3 && exit == 2, "{stderr}");
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
