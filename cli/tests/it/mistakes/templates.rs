//! What goes wrong with templates: `redrive local` and `redrive doctor`.

use super::made::{Mistake, typed};

/// In which the doctor finds nothing.
pub(super) const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Parameters:
  MaxReceiveCount: {Type: Number, Default: 5, MinValue: 1, MaxValue: 20}
Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 180
      RedrivePolicy: {deadLetterTargetArn: !GetAtt OrdersDead.Arn, maxReceiveCount: !Ref MaxReceiveCount}
  OrdersDead:
    Type: AWS::SQS::Queue
    Properties: {MessageRetentionPeriod: 1209600}
  OrdersDeadAlarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/SQS
      MetricName: ApproximateNumberOfMessagesVisible
      Dimensions: [{Name: QueueName, Value: !GetAtt OrdersDead.QueueName}]
      Statistic: Maximum
      Period: 60
      EvaluationPeriods: 1
      Threshold: 1
      ComparisonOperator: GreaterThanOrEqualToThreshold
      TreatMissingData: notBreaching
      AlarmActions: ['arn:aws:sns:eu-west-1:123456789012:on-call']
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Handler: bootstrap
      CodeUri: .
      Timeout: 30
      Events:
        Orders:
          Type: SQS
          Properties:
            Queue: !GetAtt Orders.Arn
            FunctionResponseTypes: [ReportBatchItemFailures]
";

pub(super) fn local() -> Vec<Mistake> {
    vec![
        typed("redrive local --template shop.yaml"),
        typed("redrive local").template("VisibilityTimeout: 180", "VisibiltyTimeout: 180"),
        typed("redrive local").template("VisibilityTimeout: 180", "VisibilityTimeout: 50000"),
        typed("redrive local").template("!GetAtt OrdersDead.Arn", "!GetAtt OrdersDed.Arn"),
        typed("redrive local --parameter MaxReceiveCount=21"),
        typed("redrive local --parameter Stage=prod"),
        typed("redrive local --speed fast"),
        typed("redrive local --send messages.jsonl")
            .file("messages.jsonl", "{\"body\": \"x\", \"queue\": \"invoices\"}"),
        typed("redrive local --binary target/bootstrap"),
        typed("redrive local --endpoint-url http://127.0.0.1:1 --yes"),
    ]
}

pub(super) fn doctor() -> Vec<Mistake> {
    vec![
        typed("redrive doctor shop.yaml"),
        typed("redrive doctor --explain visibility"),
        typed("redrive doctor").template("VisibilityTimeout: 180", "VisibilityTimeout: 30").finding("visibility-too-short"),
        typed("redrive doctor")
            .template(
                "      RedrivePolicy: {deadLetterTargetArn: !GetAtt OrdersDead.Arn, maxReceiveCount: !Ref MaxReceiveCount}\n",
                "",
            )
            .finding("redrive-policy-missing"),
        typed("redrive doctor")
            .template("            FunctionResponseTypes: [ReportBatchItemFailures]\n", "")
            .finding("batch-response-missing"),
        typed("redrive doctor")
            .template("      AlarmActions: ['arn:aws:sns:eu-west-1:123456789012:on-call']\n", "")
            .finding("alarm-without-action"),
    ]
}
