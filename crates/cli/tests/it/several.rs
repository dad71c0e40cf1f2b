//! Runs templates with several functions and queues, SAM's and plain ones, with the real command.

use serde_json::Value;
use tempfile::TempDir;

use crate::support::running::built;
use crate::support::{Ran, local};

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

/// A directory with a template and messages.
struct Project(TempDir);

impl Project {
    fn new(template: &str, messages: &str) -> Self {
        let directory = TempDir::new().expect("there is room for a directory");
        std::fs::write(directory.path().join("template.yaml"), template).expect("the directory is ours");
        std::fs::write(directory.path().join("messages.jsonl"), messages).expect("the directory is ours");
        Self(directory)
    }

    fn run(&self, line: &str) -> Ran {
        let flags = "--speed max --until-idle --send messages.jsonl";
        Ran::of(&mut local(self.0.path(), &format!("{flags} {line}")))
    }

    fn events(&self, line: &str) -> Vec<Value> {
        self.run(&format!("{line} --json")).ended(0).json_lines()
    }
}

fn given(events: &[Value], function: &str) -> u64 {
    let started =
        events.iter().filter(|event| event["kind"] == "invocation_started" && event["function"] == function);
    started.filter_map(|event| event["messages"].as_u64()).sum()
}

fn binaries() -> String {
    let puppet = built("puppet");
    format!("--binary Shop={0} --binary redrive-Warehouse={0}", puppet.display())
}

#[test]
fn messages_find_their_queues_and_queues_their_functions() {
    let messages = "{\"body\": \"ok\", \"queue\": \"orders\"}\n\
                    {\"body\": \"unwanted\", \"queue\": \"redrive-orders\"}\n\
                    {\"body\": \"ok\", \"queue\": \"parcels\"}\n\
                    {\"body\": \"send parcels\"}\n";
    let project = Project::new(SAM, messages);
    let events = project.events(&format!("{} --queue orders", binaries()));
    assert_eq!((given(&events, "redrive-Shop"), given(&events, "redrive-Warehouse")), (2, 2));
    let totals = events.last().expect("there are totals");
    assert_eq!(
        (&totals["messages"], &totals["done"], &totals["filtered_out"]),
        (&5.into(), &4.into(), &1.into())
    );
}

#[test]
fn the_output_of_several_functions_carries_their_names() {
    let project = Project::new(SAM, "{\"body\": \"ok\", \"queue\": \"parcels\"}\n");
    let ran = project.run(&format!("{} --show-output", binaries()));
    ran.ended(0).stderr_has(" redrive-Warehouse: started ");
    assert!(!ran.stderr.contains("\n          redrive-Shop: "), "{ran:?}");
}

#[test]
fn a_message_must_say_where_it_goes_and_a_binary_whose_it_is() {
    let python = SAM.replace("provided.al2023", "python3.13");
    for (template, messages, flags, expected) in [
        (
            SAM,
            "{\"body\": \"ok\"}\n",
            "",
            "messages.jsonl: line 1: several queues feed functions, choose one with \"queue\" or --queue: redrive-orders, parcels",
        ),
        (
            SAM,
            "{\"body\": \"ok\", \"queue\": \"letters\"}\n",
            "",
            "messages.jsonl: line 1: no queue letters in template.yaml; known: redrive-orders, parcels",
        ),
        (
            SAM,
            "",
            "--binary x",
            "--binary x: which of 2 functions? Pass --binary FUNCTION=x; known: Shop, Warehouse",
        ),
        (SAM, "", "--binary Office=x", "--binary Office=x: no function Office; known: Shop, Warehouse"),
        (&python, "", "", "Shop: Runtime python3.13 cannot be built here, pass --binary Shop=PATH"),
    ] {
        Project::new(template, messages).run(flags).told(2, format!("redrive: {expected}\n"));
    }
}

#[test]
fn plain_cloudformation_runs_with_the_bootstrap_beside_it() {
    let project = Project::new(PLAIN, "{\"body\": \"ok\"}\n{\"body\": \"fail\"}\n");
    let code = project.0.path().join("shop");
    std::fs::create_dir(&code).expect("the directory is ours");
    std::os::unix::fs::symlink(built("puppet"), code.join("bootstrap")).expect("the directory is ours");
    let events = project.events("");
    let totals = events.last().expect("there are totals");
    assert_eq!(totals["dead_lettered"], serde_json::json!({"redrive policy": 1}));
    assert_eq!((&totals["done"], given(&events, "redrive-Shop")), (&1.into(), 3));
    let mut alarms = events.iter().filter(|event| event["kind"] == "alarm");
    assert_eq!(alarms.next_back().expect("there is an alarm")["state"], "ALARM");
}

#[test]
fn alarms_that_are_not_evaluated_are_named_once_at_the_start() {
    let more = "
  Math: {Type: AWS::CloudWatch::Alarm, Properties: {Metrics: [{Id: a, Expression: 1 + 1}]}}
  Both: {Type: AWS::CloudWatch::CompositeAlarm, Properties: {AlarmRule: ALARM(dead)}}
";
    let code = format!("{PLAIN}{more}");
    let project = Project::new(&code.replace("Code: shop", "Code: ."), "{\"body\": \"ok\"}\n");
    std::os::unix::fs::symlink(built("puppet"), project.0.path().join("bootstrap"))
        .expect("the directory is ours");
    let ran = project.run("");
    let told = ran.ended(0).stderr.matches("Math").count() + ran.stdout.matches("Math").count();
    assert_eq!(told, 1, "{}", ran.stderr);
    ran.stderr_has(" left out  alarms Math (metric math), Both (composite)\n");
}
