//! Templates with several functions and queues, SAM's and plain ones, run by the real command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Two functions with a queue each; what Warehouse gets may come from Shop.
const SAM: &str = "
Transform: AWS::Serverless-2016-10-31
Globals:
  Function: {Runtime: provided.al2023, Handler: bootstrap, Timeout: 5}
Resources:
  Orders: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub '${AWS::StackName}-orders'}}
  Parcels: {Type: AWS::SQS::Queue, Properties: {QueueName: parcels}}
  Shop:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        Orders:
          Type: SQS
          Properties:
            Queue: !GetAtt Orders.Arn
            FilterCriteria: {Filters: [{Pattern: '{\"body\": [{\"anything-but\": \"unwanted\"}]}'}]}
  Warehouse:
    Type: AWS::Serverless::Function
    Properties:
      Events: {Parcels: {Type: SQS, Properties: {Queue: !GetAtt Parcels.Arn}}}
";

const PLAIN: &str = "
Resources:
  Dead: {Type: AWS::SQS::Queue}
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2}
  Shop:
    Type: AWS::Lambda::Function
    Properties: {Runtime: provided.al2023, Handler: bootstrap, Code: shop, Timeout: 5}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Orders.Arn
      FunctionName: !Ref Shop
      FunctionResponseTypes: [ReportBatchItemFailures]
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmName: dead
      Namespace: AWS/SQS
      MetricName: ApproximateNumberOfMessagesVisible
      Dimensions: [{Name: QueueName, Value: !GetAtt Dead.QueueName}]
      Statistic: Maximum
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 1
      Period: 60
      EvaluationPeriods: 1
";

/// A function that does what its messages say; redrive-local's own tests have the list.
fn puppet() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_redrive")).with_file_name("puppet");
    assert!(path.exists(), "the test function is not built yet: run `make test`, or cargo test --workspace");
    path
}

/// A directory with a template and messages.
struct Project(TempDir);

impl Project {
    fn new(template: &str, messages: &str) -> Self {
        let directory = TempDir::new().expect("there is room for a directory");
        std::fs::write(directory.path().join("template.yaml"), template).expect("the directory is ours");
        std::fs::write(directory.path().join("messages.jsonl"), messages).expect("the directory is ours");
        Self(directory)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
        command
            .current_dir(self.0.path())
            .args(["local", "--speed", "max", "--until-idle", "--send", "messages.jsonl"])
            .args(arguments)
            .timeout(Duration::from_secs(60));
        command
    }

    fn events(&self, arguments: &[&str]) -> Vec<Value> {
        let assert = self.command(arguments).arg("--json").assert().success();
        let output = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
        output.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }

    fn refusal(&self, arguments: &[&str]) -> String {
        let assert = self.command(arguments).assert().code(2);
        String::from_utf8_lossy(&assert.get_output().stderr).trim_end().to_owned()
    }
}

fn given(events: &[Value], function: &str) -> u64 {
    let started =
        events.iter().filter(|event| event["kind"] == "invocation_started" && event["function"] == function);
    started.filter_map(|event| event["messages"].as_u64()).sum()
}

fn binaries() -> [String; 4] {
    let puppet = puppet();
    let of = |name: &str| format!("{name}={}", puppet.display());
    ["--binary".to_owned(), of("Shop"), "--binary".to_owned(), of("redrive-Warehouse")]
}

#[test]
fn messages_find_their_queues_and_queues_their_functions() {
    let messages = "{\"body\": \"ok\", \"queue\": \"orders\"}\n\
                    {\"body\": \"unwanted\", \"queue\": \"redrive-orders\"}\n\
                    {\"body\": \"ok\", \"queue\": \"parcels\"}\n\
                    {\"body\": \"send parcels\"}\n";
    let project = Project::new(SAM, messages);
    let binaries = binaries();
    let mut arguments: Vec<&str> = binaries.iter().map(String::as_str).collect();
    arguments.extend(["--queue", "orders"]);
    let events = project.events(&arguments);
    assert_eq!((given(&events, "redrive-Shop"), given(&events, "redrive-Warehouse")), (2, 2));
    let totals = events.last().expect("there are totals");
    assert_eq!(
        (&totals["messages"], &totals["done"], &totals["filtered_out"]),
        (&5.into(), &4.into(), &1.into())
    );
}

#[test]
fn what_several_functions_write_carries_their_names() {
    let project = Project::new(SAM, "{\"body\": \"ok\", \"queue\": \"parcels\"}\n");
    let binaries = binaries();
    let mut arguments: Vec<&str> = binaries.iter().map(String::as_str).collect();
    arguments.push("--show-output");
    let assert = project.command(&arguments).assert().success();
    let stderr = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(stderr.contains(" redrive-Warehouse: started "), "{stderr}");
    assert!(!stderr.contains("redrive-Shop: "), "{stderr}");
}

#[test]
fn a_message_must_say_where_it_goes_and_a_binary_whose_it_is() {
    let project = Project::new(SAM, "{\"body\": \"ok\"}\n");
    assert_eq!(
        project.refusal(&[]),
        "redrive: messages.jsonl: line 1: several queues feed functions, choose one with \"queue\" or --queue: \
         redrive-orders, parcels"
    );
    let project = Project::new(SAM, "{\"body\": \"ok\", \"queue\": \"letters\"}\n");
    assert_eq!(
        project.refusal(&[]),
        "redrive: messages.jsonl: line 1: no queue letters in template.yaml; there are: redrive-orders, parcels"
    );
    let project = Project::new(SAM, "");
    assert_eq!(
        project.refusal(&["--binary", "x"]),
        "redrive: --binary x: which of 2 functions? Give --binary FUNCTION=x; there are: Shop, Warehouse"
    );
    assert_eq!(
        project.refusal(&["--binary", "Office=x"]),
        "redrive: --binary Office=x: no function Office; there are: Shop, Warehouse"
    );
}

#[test]
fn a_function_that_cargo_cannot_build_needs_a_binary() {
    let python = SAM.replace("provided.al2023", "python3.13");
    assert_eq!(
        Project::new(&python, "").refusal(&[]),
        "redrive: Shop: Runtime python3.13 cannot be built here, give --binary Shop=PATH"
    );
}

#[test]
fn plain_cloudformation_runs_with_the_bootstrap_beside_it() {
    let project = Project::new(PLAIN, "{\"body\": \"ok\"}\n{\"body\": \"fail\"}\n");
    let code = project.0.path().join("shop");
    std::fs::create_dir(&code).expect("the directory is ours");
    std::os::unix::fs::symlink(puppet(), code.join("bootstrap")).expect("the directory is ours");
    let events = project.events(&[]);
    let totals = events.last().expect("there are totals");
    assert_eq!(totals["dead_lettered"], serde_json::json!({"redrive policy": 1}));
    assert_eq!((&totals["done"], given(&events, "redrive-Shop")), (&1.into(), 3));
    let mut alarms = events.iter().filter(|event| event["kind"] == "alarm");
    assert_eq!(alarms.next_back().expect("there is an alarm")["state"], "ALARM");
}
