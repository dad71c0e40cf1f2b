// examples/deploy/function.yaml for the CDK. Build the function first: cargo lambda build --release --arm64
import { Duration, RemovalPolicy, Stack, StackProps } from "aws-cdk-lib";
import { ComparisonOperator, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Architecture, Code, Function, Runtime } from "aws-cdk-lib/aws-lambda";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";

const TIMEOUT = 30;
const VISIBILITY_TIMEOUT = 6 * TIMEOUT; // and the batching window, if there is one
const MAX_RECEIVE_COUNT = 10;

export class WorkStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);

    const deadLetters = new Queue(this, "DeadLetters", {
      retentionPeriod: Duration.days(14),
      removalPolicy: RemovalPolicy.RETAIN,
    });
    const queue = new Queue(this, "Queue", {
      visibilityTimeout: Duration.seconds(VISIBILITY_TIMEOUT),
      retentionPeriod: Duration.days(7),
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: MAX_RECEIVE_COUNT },
    });

    const work = new Function(this, "Work", {
      code: Code.fromAsset("target/lambda/my-jobs"),
      handler: "bootstrap",
      runtime: Runtime.PROVIDED_AL2023,
      architecture: Architecture.ARM_64,
      timeout: Duration.seconds(TIMEOUT),
      environment: {
        REDRIVE_DEAD_LETTER_QUEUE_URL: deadLetters.queueUrl,
        REDRIVE_MAX_RECEIVE_COUNT: `${MAX_RECEIVE_COUNT}`,
        REDRIVE_VISIBILITY_TIMEOUT: `${VISIBILITY_TIMEOUT}`,
      },
    });
    work.addEventSource(
      new SqsEventSource(queue, { batchSize: 10, maxConcurrency: 10, reportBatchItemFailures: true }),
    );
    deadLetters.grantSendMessages(work);
    work.addToRolePolicy(
      new PolicyStatement({
        actions: ["cloudwatch:PutMetricData"],
        resources: ["*"],
        conditions: { StringEquals: { "cloudwatch:namespace": "Redrive" } },
      }),
    );

    const alarm = deadLetters
      .metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1), statistic: "Maximum" })
      .createAlarm(this, "DeadLetter", {
        alarmDescription:
          `The stack ${this.stackName} has dead letters. They can wait until morning, ` +
          `but it is urgent if their number grows. ` +
          `Type: redrive dlq list --stack ${this.stackName} --region ${this.region} --logs`,
        threshold: 1,
        evaluationPeriods: 1,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      });
    alarm.addAlarmAction(new SnsAction(new Topic(this, "Pager"))); // subscribe those who handle dead letters
  }
}
