use std::time::Duration;

use super::*;
use crate::MissingData;
use crate::command::properties::surroundings;

mod alarms;
mod properties;
mod unresolved;

const QUEUE: &str = "
Globals:
  Function:
    Timeout: 20
    Environment: {Variables: {A: global, B: global}}
Resources:
  Q: {Type: AWS::SQS::Queue}
  Work:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: work}}
    Properties:
      MemorySize: 512
      Environment: {Variables: {B: own}}
      Events:
        Api: {Type: HttpApi}
        Queue:
          Type: SQS
          Properties:
            Queue: !GetAtt Q.Arn
";

fn stack_of(source: &str) -> Stack {
    read(source, &[], &surroundings()).unwrap()
}

/// Reads a template with values for what only a deployment knows.
fn stack_with(source: &str, set: &[(&str, &str)]) -> Result<Stack> {
    let values = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    read(source, &[], &Surroundings { values, ..surroundings() })
}

fn error_of(source: &str) -> String {
    read(source, &[], &surroundings()).unwrap_err().to_string()
}

#[test]
fn a_dead_letter_queue_comes_before_its_source() {
    let stack = stack_of(
        "
Resources:
  Source:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: '3'}
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: letters}}
",
    );
    let names: Vec<_> = stack.queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["letters", "local-Source"]);
    let source = &stack.queues[1].attributes;
    assert_eq!(source["VisibilityTimeout"], "60");
    let policy: serde_json::Value = serde_json::from_str(&source["RedrivePolicy"]).unwrap();
    let arn = "arn:aws:sqs:us-east-1:000000000000:letters";
    assert_eq!(policy, serde_json::json!({"deadLetterTargetArn": arn, "maxReceiveCount": 3}));
}

#[test]
fn a_redrive_policy_must_be_whole_and_lead_somewhere() {
    let policy = |policy: &str| {
        error_of(&format!(
            "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      RedrivePolicy: {policy}"
        ))
    };
    let elsewhere = "{deadLetterTargetArn: 'arn:aws:sqs:eu-west-1:1:dead', maxReceiveCount: 3}";
    assert_eq!(
        policy(elsewhere),
        "line 5: Q: the dead-letter queue arn:aws:sqs:eu-west-1:1:dead is not in this template"
    );
    assert_eq!(policy("{deadLetterTargetArn: a}"), "line 5: Q: maxReceiveCount is missing");
    let zero = "{deadLetterTargetArn: a, maxReceiveCount: 0}";
    assert_eq!(policy(zero), "line 5: maxReceiveCount of Q is \"0\", allowed: 1 to 1000");
}

#[test]
fn a_property_that_no_queue_has_is_refused() {
    let template = "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties: {VisibilityTimeOut: 30}";
    assert_eq!(
        error_of(template),
        "line 4: Q: unknown property VisibilityTimeOut of an SQS queue; did you mean VisibilityTimeout?"
    );
}

#[test]
fn a_number_of_a_queue_out_of_its_range_is_refused_with_that_range() {
    for (property, expected) in [
        ("VisibilityTimeout: 50000", "VisibilityTimeout of Q is \"50000\", allowed: 0 to 43200"),
        ("DelaySeconds: 901", "DelaySeconds of Q is \"901\", allowed: 0 to 900"),
    ] {
        let template = format!("Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties: {{{property}}}");
        assert_eq!(error_of(&template), format!("line 4: {expected}"));
    }
}

#[test]
fn a_function_has_its_own_properties_before_the_globals() {
    let stack = stack_of(QUEUE);
    let [function] = &stack.functions[..] else { panic!("expected one function") };
    assert_eq!((function.timeout, function.memory_mb), (Duration::from_secs(20), 512));
    assert_eq!((function.environment["A"].as_str(), function.environment["B"].as_str()), ("global", "own"));
    assert_eq!(
        (stack.builds[0].binary.as_deref(), stack.builds[0].code.as_deref()),
        (Some("work"), Some("."))
    );
}

#[test]
fn globals_can_be_ignored_one_by_one_or_all() {
    let timeout = |ignored: &str| {
        let source = QUEUE.replace("    Metadata:", &format!("    IgnoreGlobals: {ignored}\n    Metadata:"));
        let function = stack_of(&source).functions.remove(0);
        (function.timeout.as_secs(), function.environment.len())
    };
    assert_eq!(timeout("[Timeout]"), (3, 2));
    assert_eq!(timeout("'*'"), (3, 1));
    assert_eq!(timeout("[Handler]"), (20, 2));
}

#[test]
fn plain_cloudformation_is_read_too() {
    let stack = stack_of(
        "
Resources:
  Q: {Type: AWS::SQS::Queue}
  Work:
    Type: AWS::Lambda::Function
    Properties: {Timeout: 9, ReservedConcurrentExecutions: 4, Code: work, Handler: worker}
  Other: {Type: AWS::Lambda::Function}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Q.Arn
      FunctionName: !GetAtt Work.Arn
      FunctionResponseTypes: [ReportBatchItemFailures]
  Stream:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {EventSourceArn: 'arn:aws:kinesis:us-east-1:1:stream/s', FunctionName: !Ref Other}
",
    );
    let [function] = &stack.functions[..] else { panic!("expected one function") };
    assert_eq!((stack.mappings[0].function.as_str(), function.name.as_str()), ("local-Work", "local-Work"));
    assert_eq!((function.timeout.as_secs(), function.reserved_concurrency), (9, Some(4)));
    assert!(stack.mappings[0].report_batch_item_failures);
    let build = &stack.builds[0];
    assert_eq!((build.code.as_deref(), build.handler.as_deref()), (Some("work"), Some("worker")));
    assert_eq!(stack.notes, ["Stream has no SQS queue as its source", "no queue feeds function Other"]);
}

#[test]
fn properties_that_cannot_be_reproduced_are_named() {
    let with = |property: &str| QUEUE.replace("      MemorySize: 512", &format!("      {property}"));
    let durable = error_of(&with("DurableConfig: {ExecutionTimeout: 60}"));
    assert_eq!(durable, "line 12: Work: functions with a DurableConfig cannot run here");
    let layered = stack_of(&with("Layers: [a]")).notes;
    assert_eq!(layered, ["event Api of Work is of type HttpApi", "Layers of function Work"]);
}

#[test]
fn a_mapping_has_the_defaults_of_lambda() {
    let stack = stack_of(QUEUE);
    let [mapping] = &stack.mappings[..] else { panic!("expected one mapping") };
    assert_eq!((mapping.queue.as_str(), mapping.function.as_str()), ("local-Q", "local-Work"));
    assert_eq!((mapping.batch_size, mapping.window, mapping.maximum_concurrency), (10, Duration::ZERO, None));
    assert!(mapping.enabled && !mapping.report_batch_item_failures && mapping.filters.is_empty());
}

#[test]
fn settings_that_lambda_refuses_are_refused() {
    for (properties, message) in [
        ("BatchSize: 10001", "line 20: BatchSize of Work is \"10001\", allowed: 1 to 10000"),
        (
            "BatchSize: 11",
            "line 20: BatchSize of Work is \"11\", allowed: 1 to 10 without a MaximumBatchingWindowInSeconds",
        ),
        (
            "ScalingConfig: {MaximumConcurrency: 1}",
            "line 20: MaximumConcurrency of Work is \"1\", allowed: 2 to 1000",
        ),
        (
            "ScalingConfig: {MaximumConcurrency: 2}\n            ProvisionedPollerConfig: {MinimumPollers: 2}",
            "line 20: Work: ScalingConfig and ProvisionedPollerConfig cannot be combined",
        ),
        (
            "FunctionResponseTypes: [Report]",
            "line 20: FunctionResponseTypes can only be ReportBatchItemFailures",
        ),
        ("Enabled: maybe", "line 20: Enabled of Work is \"maybe\", allowed: true, false"),
        (
            "MaximumRetryAttempts: 3",
            "line 20: Work: unknown property MaximumRetryAttempts of a mapping of an SQS queue",
        ),
        ("FilterCriteria: {Pattern: a}", "line 20: Work: FilterCriteria needs a list of Filters"),
        (
            "FilterCriteria: {Filters: [{Pattern: {body: [a]}}]}",
            "line 20: a filter needs a Pattern, which is a string",
        ),
        (
            "FilterCriteria: {Filters: [{Pattern: '{\"body\": {\"a\": 1}}'}]}",
            "line 20: Pattern: body.a: a value must be a list or an object",
        ),
        ("FilterCriteria: {Filters: [1, 2, 3, 4, 5, 6]}", "line 20: Work: 6 filters, allowed: at most 5"),
    ] {
        assert_eq!(error_of(&format!("{QUEUE}            {properties}\n")), message);
    }
    let elsewhere = QUEUE.replace("!GetAtt Q.Arn", "arn:aws:sqs:us-east-1:1:other");
    assert_eq!(
        error_of(&elsewhere),
        "line 19: Work: no such queue in this template: arn:aws:sqs:us-east-1:1:other"
    );
}

#[test]
fn filters_are_read() {
    let criteria =
        "FilterCriteria: {Filters: [{Pattern: '{\"body\": [\"a\"]}'}, {Pattern: '{\"body\": [\"b\"]}'}]}";
    let stack = stack_of(&format!("{QUEUE}            {criteria}\n"));
    let expected = ["a", "b"].map(|body| format!("{{\"body\": [\"{body}\"]}}").parse().unwrap());
    assert_eq!(stack.mappings[0].filters, expected);
}

#[test]
fn a_resource_that_does_something_else_is_named() {
    let others = "  Table: {Type: AWS::DynamoDB::Table}\n  Role: {Type: AWS::IAM::Role}\n";
    let stack = stack_of(&format!("{QUEUE}{others}"));
    assert_eq!(stack.notes.last().unwrap(), "Table is of type AWS::DynamoDB::Table");
    assert_eq!(stack.notes.len(), 2);
}

const OURS: &str = include_str!("../../../../../../template.yaml");

fn ours(parameters: &[(&str, &str)]) -> Result<Stack> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    read(OURS, &parameters.iter().map(owned).collect::<Vec<_>>(), &surroundings())
}

#[test]
fn our_template_gives_its_queues_and_function_all_their_settings() {
    let stack = ours(&[("MaxReceiveCount", "7"), ("FunctionTimeout", "60"), ("Fifo", "true")]).unwrap();
    let [dead, source] = &stack.queues[..] else { panic!("expected two queues") };
    assert_eq!((&*dead.name, &*source.name), ("local-orders-dead.fifo", "local-orders.fifo"));
    assert_eq!(source.attributes["VisibilityTimeout"], "660");
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let arn = |name: &str| format!("arn:aws:sqs:us-east-1:000000000000:{name}");
    let policy = serde_json::json!({"deadLetterTargetArn": arn(&dead.name), "maxReceiveCount": 7});
    assert_eq!(parsed(&source.attributes["RedrivePolicy"]), policy);
    let allowed = serde_json::json!({"redrivePermission": "byQueue", "sourceQueueArns": [arn(&source.name)]});
    assert_eq!(parsed(&dead.attributes["RedriveAllowPolicy"]), allowed);
    assert!([dead, source].iter().all(|queue| queue.attributes["FifoQueue"] == "true"));
    let ([function], [build], [mapping]) = (&stack.functions[..], &stack.builds[..], &stack.mappings[..])
    else {
        panic!("expected one function")
    };
    let url = "http://127.0.0.1:0/000000000000/local-orders-dead.fifo";
    assert_eq!(function.environment["REDRIVE_DEAD_LETTER_QUEUE_URL"], url);
    assert_eq!((function.timeout, build.binary.as_deref()), (Duration::from_secs(60), Some("orders")));
    assert!(mapping.report_batch_item_failures);
    let alarm = stack.alarms.iter().find(|alarm| alarm.name == "local-DeadLetter").unwrap();
    let description = alarm.description.as_deref().unwrap_or_default();
    assert!(description.contains("Type: redrive dlq list --stack local --region "), "{description}");
    assert_eq!((alarm.threshold, alarm.missing), (1.0, MissingData::NotBreaching));
    assert_eq!((alarm.period, alarm.datapoints_to_alarm), (Duration::from_secs(60), 1));
}

#[test]
fn our_template_says_that_no_table_remembers_messages_here() {
    let stack = ours(&[("Idempotency", "on")]).unwrap();
    let note = "IdempotencyTable is of type AWS::DynamoDB::Table, which has no stand-in here: messages that need its \
                records fail";
    assert!(stack.notes.iter().any(|it| it == note), "{:?}", stack.notes);
    let made_up = "made up: REDRIVE_IDEMPOTENCY_TABLE of OrdersFunction; pass --set IdempotencyTable=VALUE";
    assert_eq!(stack.warnings, [made_up]);
    assert_eq!(stack.functions[0].environment["REDRIVE_IDEMPOTENCY_TABLE"], "local-IdempotencyTable");
    let off = ours(&[]).unwrap();
    assert!(!off.functions[0].environment.contains_key("REDRIVE_IDEMPOTENCY_TABLE"));
}

#[test]
fn parameters_that_our_template_does_not_allow_are_refused() {
    for (parameters, message) in [
        (
            &[("FunctionTimeout", "31")][..],
            "FunctionTimeout is \"31\", allowed: 3, 10, 30, 60, 120, 300, 600, 900",
        ),
        (&[("BatchSize", "11")], "A BatchSize above 10 needs a BatchingWindow of at least 1 second."),
        (
            &[("BatchSize", "11"), ("BatchingWindow", "1"), ("Fifo", "true")],
            "A FIFO queue allows a BatchSize of at most 10.",
        ),
        (&[("BatchingWindow", "1"), ("Fifo", "true")], "A FIFO queue does not allow a BatchingWindow."),
    ] {
        assert_eq!(ours(parameters).unwrap_err().message, message);
    }
    assert!(ours(&[("BatchSize", "11"), ("BatchingWindow", "1")]).is_ok());
}
