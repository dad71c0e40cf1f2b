//! From a template's resources to what redrive-local runs. Pure.

mod alarms;
mod functions;
mod mappings;
mod others;
mod queues;

pub(crate) use functions::with_globals;
use redrive_local::{AlarmConfig, FunctionConfig, MappingConfig, QueueConfig, StackConfig};

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
    /// What CloudFormation says of it, but for its name and the template's text.
    pub(crate) said: StackConfig,
    /// What the template asks for that has no effect here.
    pub(crate) notes: Vec<String>,
}

/// How a function's executable is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// The function's logical id.
    pub(crate) function: String,
    /// What AWS calls it.
    pub(crate) name: String,
    /// `CodeUri` or `Code`, relative to the template's directory; none if it is not a path.
    pub(crate) code: Option<String>,
    /// `Metadata.BuildMethod`.
    pub(crate) method: Option<String>,
    /// The Cargo target, if the template names one (`Metadata.BuildProperties.Binary`).
    pub(crate) binary: Option<String>,
    pub(crate) handler: Option<String>,
    pub(crate) runtime: Option<String>,
}

impl Stack {
    /// The queues that feed functions, each once.
    pub(crate) fn sources(&self) -> Vec<&str> {
        let fed = |name: &str| self.mappings.iter().any(|mapping| mapping.queue == name);
        self.queues.iter().map(|queue| queue.name.as_str()).filter(|name| fed(name)).collect()
    }
}

/// Collects what has no effect here.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: String) {
        self.0.push(note);
    }
}

/// Reads what can be run: queues, functions with an SQS event, and alarms on single metrics.
///
/// # Errors
/// A property that AWS would refuse or that cannot be kept here, and a template with nothing to run.
pub(crate) fn stack(resolver: &Resolver<'_>) -> Result<Stack, TemplateError> {
    let mut notes = Notes::default();
    let queues = queues::read(resolver)?;
    let (functions, builds, mappings) = functions::read(resolver, &queues, &mut notes)?;
    let alarms = alarms::read(resolver, &mut notes)?;
    others::read(resolver, &mut notes)?;
    let (outputs, unknown) = resolver.outputs()?;
    for key in unknown {
        notes.add(format!("output {key}"));
    }
    let (parameters, resources) = (resolver.parameters(), resolver.deployed()?);
    let said = StackConfig { parameters, outputs, resources, ..StackConfig::default() };
    Ok(Stack { queues, functions, builds, mappings, alarms, said, notes: notes.0 })
}

#[cfg(test)]
mod tests {
    use crate::template::tests::{error_of, stack_of};

    pub(super) const QUEUE: &str = "
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
