//! What breaks the rules: the text, what it becomes, and a part of what is said.

use super::Rule;
use super::names::stacks_do_not_collide;
use super::rules::*;

pub(super) const ALL: &[(Rule, &str, &str, &str)] = &[
    (
        nothing_is_found,
        "FunctionResponseTypes: [ReportBatchItemFailures]",
        "Enabled: true",
        "batch-response-missing",
    ),
    (nothing_is_found, r#""30": { Seconds: 480 }"#, r#""30": { Seconds: 479 }"#, "visibility-too-short"),
    (
        nothing_is_found,
        "MessageRetentionPeriod: 1209600",
        "MessageRetentionPeriod: 604800",
        "dead-letter-retention",
    ),
    (nothing_is_found, "redrivePermission: byQueue", "redrivePermission: denyAll", "allow-policy-refuses"),
    (
        nothing_is_found,
        r#"- !Sub "arn:${AWS::Partition}:sqs:"#,
        r#"- !Sub "arn:${AWS::Partition}:sns:"#,
        "allow-policy-refuses",
    ),
    (
        the_function_knows_its_queues,
        "REDRIVE_VISIBILITY_TIMEOUT: !Find",
        "VISIBILITY_TIMEOUT: !Find",
        "VISIBILITY_TIMEOUT is Absent, not 318",
    ),
    (
        the_function_knows_its_queues,
        "REDRIVE_MAX_RECEIVE_COUNT: !Ref MaxReceiveCount",
        "REDRIVE_MAX_RECEIVE_COUNT: 5",
        r#"MAX_RECEIVE_COUNT is There("5"), not 20"#,
    ),
    (
        the_function_knows_its_queues,
        "maxReceiveCount: !Ref MaxReceiveCount",
        "maxReceiveCount: 5",
        "the redrive policies are",
    ),
    (
        the_function_knows_its_queues,
        "redrivePermission: byQueue",
        "redrivePermission: allowAll",
        "the redrive allow policy is",
    ),
    (
        the_function_knows_its_queues,
        "      FifoQueue: !If [IsFifo, true, !Ref AWS::NoValue]\n",
        "",
        "with Fifo=true",
    ),
    (
        the_dead_letter_alarm_goes_off_at_the_first_letter,
        "Threshold: 1\n",
        "Threshold: 2\n",
        "threshold: Some(2.0)",
    ),
    (
        the_dead_letter_alarm_goes_off_at_the_first_letter,
        "Condition: AlarmsOnDeadLetters\n",
        "\n",
        r#"with ("AlarmOnDeadLetters", "false")"#,
    ),
    (
        the_dead_letter_alarm_goes_off_at_the_first_letter,
        "    Condition: HasMetrics\n",
        "",
        r#"with ("Metrics", "off")"#,
    ),
    (
        alarms_stand_on_metrics_that_are_published,
        "MetricName: DeadLettered",
        "MetricName: Lettered",
        "Lettered",
    ),
    (
        alarms_tell_the_address_if_there_is_one,
        "AlarmActions: !If [HasNotificationEmail, [!Ref AlarmTopic], !Ref AWS::NoValue]",
        "ActionsEnabled: true",
        "has AlarmActions None",
    ),
    (
        alarms_tell_the_address_if_there_is_one,
        "    Condition: HasNotificationEmail",
        "",
        "there must be a topic with an address and none without",
    ),
    (alarms_lead_to_their_runbook_entry, "#deadlettered", "#dead", "does not end with #deadlettered"),
    (alarms_lead_to_their_runbook_entry, "-QueueAge", "-Age", "the runbook has no entry #age"),
    (
        alarms_lead_to_their_runbook_entry,
        "## Throttles",
        "## Throttled",
        "the runbook has no entry #throttles",
    ),
    (permissions_are_the_least, "sqs:ChangeMessageVisibility", "sqs:*", "the role may"),
    (
        permissions_are_the_least,
        r#"Condition: { StringEquals: { "cloudwatch:namespace": Redrive } }"#,
        "Condition: {}",
        "the role may",
    ),
    (
        stacks_do_not_collide,
        r#"!Sub "${AWS::StackName}-orders-dead"]"#,
        "!Sub orders-dead]",
        "two stacks have AWS::SQS::Queue orders-dead",
    ),
    (
        stacks_do_not_collide,
        "-orders-dead.fifo",
        "-orders-dead",
        "standard and FIFO have AWS::SQS::Queue stack-orders-dead",
    ),
    (
        stacks_do_not_collide,
        r#""${AWS::StackName}-${AWS::Region}""#,
        r#""${AWS::StackName}-all""#,
        "two regions have AWS::CloudWatch::Dashboard",
    ),
    (
        stacks_do_not_collide,
        r#"LogGroupName: !Sub "/aws/lambda/${AWS::StackName}-orders""#,
        "LogGroupName: orders",
        "two stacks have AWS::Logs::LogGroup orders",
    ),
    (
        letters_outlive_the_stack,
        "    DeletionPolicy: Retain\n",
        "",
        "DeadLetterQueue has no DeletionPolicy: Retain",
    ),
    (parameters_say_what_they_take, "    MaxValue: 1000000\n", "", "parameter ErrorThreshold has no range"),
    (
        parameters_say_what_they_take,
        "    Description: Processor the function",
        "    #",
        "parameter Architecture has no description",
    ),
    (
        what_is_shown_can_be_read,
        "  DeadLetterQueueUrl:\n",
        "  DeadLetters:\n",
        "there is no output DeadLetterQueueUrl",
    ),
    (
        what_is_shown_can_be_read,
        r#""x": 16, "y": 12, "width": 8"#,
        r#""x": 16, "y": 12, "width": 9"#,
        "is wider than the dashboard",
    ),
    (what_is_shown_can_be_read, r#""x": 16, "y": 12"#, r#""x": 8, "y": 12"#, "covers another widget"),
];
