//! `redrive doctor` and resources that exist only with other values of a template's parameters.

use std::fs;

use serde_json::json;

use crate::support::{Ran, command};

/// A queue without a dead-letter queue, for a function, both on a condition.
fn template(parameters: &str, condition: &str) -> String {
    format!(
        "Parameters:
  Stage: {{Type: String, Default: dev{parameters}}}
Conditions:
  IsThere: {condition}
Resources:
  Orders: {{Type: AWS::SQS::Queue, Condition: IsThere, Properties: {{VisibilityTimeout: 180}}}}
  Work:
    Type: AWS::Serverless::Function
    Condition: IsThere
    Properties:
      Runtime: python3.13
      Handler: a.b
      CodeUri: .
      Timeout: 30
      Events:
        Queue: {{Type: SQS, Properties: {{Queue: !GetAtt Orders.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}}}
"
    )
}

fn doctor(text: &str, flags: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("t.yaml"), text).expect("it can be written");
    let line = [&["doctor", "t.yaml"], flags].concat();
    Ran::of(command(&line).current_dir(folder.path()))
}

#[test]
fn what_exists_with_a_value_that_the_template_names_is_checked_with_it() {
    for (parameters, condition) in [
        (", AllowedValues: [dev, prod]", "!Not [!Equals [!Ref Stage, dev]]"),
        ("", "!Equals [!Ref Stage, prod]"),
        ("", "!Or [!Equals [!Sub '${Stage}', prod], !Equals [!Ref Stage, prod]]"),
    ] {
        let ran = doctor(&template(parameters, condition), &[]);
        let code = i32::from(ran.stdout.starts_with("error"));
        ran.ended(code).stdout_has("redrive-policy-missing at t.yaml:6\n  With Stage=prod: Orders ");
        ran.stderr_has("note: also checked with Stage=prod: 2 resources exist only then\n");
        assert!(!ran.stderr.contains("no other problem") && !ran.stderr.contains("no problems"), "{ran:?}");
    }
    let sound = template("", "!Equals [!Ref Stage, prod]").replace("180}", "180, RedrivePolicy: {deadLetterTargetArn: 'arn:aws:sqs:eu-west-1:123456789012:d', maxReceiveCount: 5}}");
    doctor(&sound, &[]).ended(0).stderr_ends("no problems found in t.yaml\n");
}

#[test]
fn what_exists_only_with_a_value_that_nobody_names_is_counted_and_not_called_sound() {
    let text = template("", "!Not [!Equals [!Ref Stage, dev]]");
    let ran = doctor(&text, &[]);
    ran.told(
        0,
        "not checked: 2 resources (Orders, Work) exist only with another value of Stage: pass --parameter Stage=VALUE\n\
         no problems found in t.yaml, but 2 resources were not checked\n",
    );
    doctor(&text, &["--strict"])
        .ended(1)
        .stderr_ends("redrive: 0 errors, 0 warnings in t.yaml, but 2 resources were not checked\n");
    let json = doctor(&text, &["--json"]).json();
    assert_eq!(json["resources_not_checked"], json!(["Orders", "Work"]));
    // The command that was offered checks them.
    doctor(&text, &["--parameter", "Stage=VALUE"])
        .stdout_has("redrive-policy-missing at t.yaml:6\n  Orders ");
    // Who says which value it is has chosen.
    let chosen = doctor(&text, &["--parameter", "Stage=dev", "--strict"]);
    chosen.ended(0);
    assert!(!chosen.stderr.contains("not checked"), "{chosen:?}");
}

#[test]
fn a_condition_that_cannot_be_worked_out_is_not_called_sound() {
    let text = template("", "!Equals [!Ref Stage, prod]").replace(", Default: dev", "");
    let ran = doctor(&text, &[]);
    ran.ended(0).stderr_ends("in t.yaml, but 2 resources were not checked\n");
    ran.stderr_has("not checked: Orders and Work: Stage has no default: pass --parameter Stage=VALUE\n");
    doctor(&text, &["--strict"]).ended(1);
}
