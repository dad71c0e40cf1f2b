//! Hostile output of functions, and hostile letters and alarms, in `redrive local` and `redrive queue status`.

use std::path::Path;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::types::StateValue;
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use serde_json::json;

use super::{assert_harmless, assert_text, hostile, redrive};
use crate::support::running::{built, free_port, wait_for};
use crate::support::{Ran, local};
use crate::terminal::Terminal;

const TEMPLATE: &str = "
Transform: AWS::Serverless-2016-10-31
Resources:
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: orders-dead}}
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: orders
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2}
  Shop:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Handler: bootstrap
      Timeout: 5
      Events: {Orders: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn}}}
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmName: dead
      Namespace: Nowhere
      MetricName: Nothing
      Statistic: Maximum
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 1
      Period: 60
      EvaluationPeriods: 1
      TreatMissingData: ignore
";

/// A folder with the template, and messages that have the puppet print, throw and write a letter.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let text = json!(hostile()).to_string();
    let bodies = [format!("say {text}"), format!("letter {text}"), format!("throw {text}")];
    let lines = bodies.map(|body| json!({ "body": body }).to_string() + "\n").concat();
    std::fs::write(folder.path().join("template.yaml"), TEMPLATE).expect("it is ours");
    std::fs::write(folder.path().join("messages.jsonl"), lines).expect("it is ours");
    folder
}

fn line(more: &[&str]) -> Vec<String> {
    let puppet = built("puppet");
    let puppet = puppet.to_str().expect("it is text");
    let line = ["--binary", puppet, "--send", "messages.jsonl", "--speed", "max", "--show-output"];
    line.iter().chain(more).map(|&word| word.to_owned()).collect()
}

/// The command in a terminal, in this folder.
fn terminal(folder: &Path, line: &[String]) -> Terminal {
    let words: Vec<&str> = std::iter::once("local").chain(line.iter().map(String::as_str)).collect();
    Terminal::run(redrive(&words).current_dir(folder))
}

#[test]
fn the_output_of_functions_and_the_contents_of_letters_are_text() {
    let folder = project();
    for more in [&["--until-idle"][..], &["--until-idle", "--json"]] {
        let line = line(more);
        let ran = Ran::of(&mut local(folder.path(), &line));
        assert_text(ran.ended(0));
        let mut terminal = terminal(folder.path(), &line);
        terminal.ends(0);
        assert_harmless(&terminal.written());
    }
    let ran = Ran::of(&mut local(folder.path(), &line(&["--until-idle"])));
    for what in ["dead-lettered", "function "] {
        let mut lines = ran.stdout.lines();
        assert!(lines.any(|line| line.contains(what) && line.contains("FAKE")), "{what}: {ran:#?}");
    }
    assert!(ran.stderr.contains("\\u{1b}]52;"), "it is printed: {ran:#?}");
}

#[test]
fn why_an_alarm_rings_is_text() {
    let (folder, port) = (project(), free_port());
    let mut terminal = terminal(folder.path(), &line(&["--port", &port.to_string()]));
    wait_for(port);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let set = client(port).set_alarm_state().alarm_name("dead").state_value(StateValue::Alarm);
        set.state_reason(hostile()).send().await.expect("it is set");
    });
    terminal.expect_written("ALARM");
    terminal.interrupt();
    terminal.ends(0);
    let written = terminal.written();
    let alarm = written.lines().find(|line| line.contains("ALARM")).expect("it is told");
    assert!(alarm.contains("FAKE"), "{alarm:?}");
    assert_harmless(&written);
}

fn client(port: u16) -> Client {
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "tests")))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(format!("http://127.0.0.1:{port}"));
    Client::new(&config.build())
}
