//! From a template's resources to what redrive-local runs. Pure.

mod alarms;
mod functions;
mod queues;

use redrive_local::{AlarmConfig, FunctionConfig, MappingConfig, QueueConfig};

use super::document::TemplateError;
use super::resolve::Resolver;

/// The part of a template that runs on a laptop.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Dead-letter queues before the queues that name them.
    pub(crate) queues: Vec<QueueConfig>,
    /// Their commands are still empty: see [`Build`].
    pub(crate) functions: Vec<FunctionConfig>,
    /// How each function's executable is made, in the same order.
    pub(crate) builds: Vec<Build>,
    pub(crate) mappings: Vec<MappingConfig>,
    pub(crate) alarms: Vec<AlarmConfig>,
}

/// How a function's executable is made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// The function's logical id.
    pub(crate) function: String,
    /// `CodeUri`, relative to the template's directory.
    pub(crate) code: String,
    /// The Cargo target, if the template names one (`Metadata.BuildProperties.Binary`).
    pub(crate) binary: Option<String>,
}

/// Reads what can be run: queues, functions with an SQS event, and alarms on single metrics.
///
/// # Errors
/// A property that AWS would refuse, and a template with nothing to run.
pub(crate) fn stack(resolver: &Resolver<'_>) -> Result<Stack, TemplateError> {
    let queues = queues::read(resolver)?;
    let (functions, builds, mappings) = functions::read(resolver, &queues)?;
    Ok(Stack { queues, functions, builds, mappings, alarms: alarms::read(resolver)? })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::template::tests::{error_of, stack_of};

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

    #[test]
    fn a_function_has_its_own_properties_before_the_globals() {
        let stack = stack_of(QUEUE);
        let [function] = &stack.functions[..] else { panic!("expected one function") };
        assert_eq!((function.timeout, function.memory_mb), (Duration::from_secs(20), 512));
        assert_eq!(
            (function.environment["A"].as_str(), function.environment["B"].as_str()),
            ("global", "own")
        );
        assert_eq!((stack.builds[0].binary.as_deref(), stack.builds[0].code.as_str()), (Some("work"), "."));
    }

    #[test]
    fn a_mapping_has_the_defaults_of_lambda() {
        let stack = stack_of(QUEUE);
        let [mapping] = &stack.mappings[..] else { panic!("expected one mapping") };
        assert_eq!((mapping.queue.as_str(), mapping.function.as_str()), ("local-Q", "local-Work"));
        assert_eq!(
            (mapping.batch_size, mapping.window, mapping.maximum_concurrency),
            (10, Duration::ZERO, 5)
        );
        assert!(mapping.enabled && !mapping.report_batch_item_failures);
    }

    #[test]
    fn plain_cloudformation_is_read_too() {
        let stack = stack_of(
            "
Resources:
  Q: {Type: AWS::SQS::Queue}
  Work: {Type: AWS::Lambda::Function, Properties: {Timeout: 9}}
  Other: {Type: AWS::Lambda::Function}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Q.Arn
      FunctionName: !GetAtt Work.Arn
      FunctionResponseTypes: [ReportBatchItemFailures]
",
        );
        assert_eq!(stack.functions.len(), 1);
        assert_eq!(
            (stack.mappings[0].function.as_str(), stack.functions[0].name.as_str()),
            ("local-Work", "local-Work")
        );
        assert!(stack.mappings[0].report_batch_item_failures);
    }

    #[test]
    fn what_lambda_refuses_is_refused() {
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
                "FunctionResponseTypes: [Report]",
                "line 20: FunctionResponseTypes allows ReportBatchItemFailures only",
            ),
            ("Enabled: maybe", "line 20: Enabled of Work is \"maybe\", allowed: true, false"),
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
    fn an_alarm_needs_one_metric_and_words_that_cloudwatch_knows() {
        let alarm = |properties: &str| {
            format!(
                "Resources:\n  A:\n    Type: AWS::CloudWatch::Alarm\n    Properties: {{Statistic: Sum, Namespace: N, \
                 MetricName: M, Threshold: 1, Period: 60, EvaluationPeriods: 2, ComparisonOperator: GreaterThanThreshold{properties}}}"
            )
        };
        let stack =
            stack_of(&alarm(", TreatMissingData: breaching, Dimensions: [{Name: QueueName, Value: q}]"));
        let [read] = &stack.alarms[..] else { panic!("expected one alarm") };
        assert_eq!((read.datapoints_to_alarm, read.missing), (2, redrive_local::MissingData::Breaching));
        assert_eq!(read.dimensions["QueueName"], "q");
        let wrong = error_of(&alarm(", TreatMissingData: good"));
        assert_eq!(
            wrong,
            "line 4: TreatMissingData of A is \"good\", allowed: missing, notBreaching, breaching, ignore"
        );
    }
}
