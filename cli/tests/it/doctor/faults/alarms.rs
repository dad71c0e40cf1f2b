//! What goes wrong with alarms.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[
    // Dead letters of which nobody is told.
    (
        "dead-letter-alarm-missing",
        &[(
            r"  Letters:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/SQS
      MetricName: ApproximateNumberOfMessagesVisible
      Dimensions: [{ Name: QueueName, Value: !GetAtt Dead.QueueName }]
      Statistic: Maximum
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 1
      Period: 60
      EvaluationPeriods: 1
      TreatMissingData: notBreaching
      AlarmActions: [!Ref Pager]

",
            "",
        )],
        "No alarm uses a metric of Dead.",
    ),
    // A metric that does not count what a redrive policy moves.
    (
        "dead-letter-alarm-metric",
        &[("MetricName: ApproximateNumberOfMessagesVisible", "MetricName: NumberOfMessagesSent")],
        "Letters watches Dead only by NumberOfMessagesSent.",
    ),
    // The first letter wakes nobody.
    (
        "dead-letter-alarm-threshold",
        &[("GreaterThanOrEqualToThreshold", "GreaterThanThreshold")],
        "Letters goes off on Dead at Maximum GreaterThanThreshold 1.",
    ),
    // An alarm that tells nobody.
    (
        "alarm-without-action",
        &[("      AlarmActions: [!Ref Pager]\n\n  Failures:\n", "\n  Failures:\n")],
        "Letters has no AlarmActions.",
    ),
    // A metric of Lambda in the namespace of redrive.
    (
        "alarm-metric-unknown",
        &[("MetricName: WorkerErrors", "MetricName: Errors")],
        "Failures uses Errors in the namespace Redrive.",
    ),
    // The function publishes elsewhere.
    (
        "alarm-namespace",
        &[("URL: !Ref Dead\n", "URL: !Ref Dead\n          REDRIVE_METRICS_NAMESPACE: Shop\n")],
        "Failures uses WorkerErrors in the namespace Redrive, but the function publishes it in Shop.",
    ),
    // A URL where a name belongs.
    (
        "alarm-dimension",
        &[("Value: !GetAtt Orders.QueueName", "Value: !Ref Orders")],
        "Failures uses WorkerErrors with QueueName https://sqs.REGION.amazonaws.com/ACCOUNT/STACK-Orders.",
    ),
    // Metrics switched off, alarms left on.
    (
        "alarm-metrics-off",
        &[("URL: !Ref Dead\n", "URL: !Ref Dead\n          REDRIVE_METRICS: \"off\"\n")],
        "Failures uses WorkerErrors, but REDRIVE_METRICS is off.",
    ),
];
