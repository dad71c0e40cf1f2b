//! What goes wrong in the function: its variables, its rights, its build.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[
    // The queue gives ten deliveries, the function believes in five.
    (
        "max-receive-count-differs",
        &[(r#"REDRIVE_MAX_RECEIVE_COUNT: "10""#, r#"REDRIVE_MAX_RECEIVE_COUNT: "5""#)],
        "REDRIVE_MAX_RECEIVE_COUNT of Work is 5, but the maxReceiveCount of Orders is 10.",
    ),
    // Nobody told the function how many deliveries there are.
    (
        "max-receive-count-unknown",
        &[("          REDRIVE_MAX_RECEIVE_COUNT: \"10\"\n", "")],
        "Work has no REDRIVE_MAX_RECEIVE_COUNT; the maxReceiveCount of Orders is 10.",
    ),
    // Rejected messages go to a queue that nobody watches.
    (
        "dead-letter-url-differs",
        &[
            (
                "URL: !Ref Dead",
                r#"URL: !Sub "https://sqs.${AWS::Region}.amazonaws.com/${AWS::AccountId}/old-dead""#,
            ),
            (
                "SQSSendMessagePolicy: { QueueName: !GetAtt Dead.QueueName }",
                "SQSSendMessagePolicy: { QueueName: old-dead }",
            ),
        ],
        "REDRIVE_DEAD_LETTER_QUEUE_URL of Work is https://sqs.REGION.amazonaws.com/ACCOUNT/old-dead, \
         but the redrive policy of Orders names STACK-Dead.",
    ),
    // Nobody told the function where dead letters end.
    (
        "dead-letter-url-missing",
        &[("          REDRIVE_DEAD_LETTER_QUEUE_URL: !Ref Dead\n", "")],
        "Work has no REDRIVE_DEAD_LETTER_QUEUE_URL, but Orders has a dead-letter queue.",
    ),
    // The queue was changed, the variable was not.
    (
        "visibility-variable-differs",
        &[(r#"REDRIVE_VISIBILITY_TIMEOUT: "180""#, r#"REDRIVE_VISIBILITY_TIMEOUT: "30""#)],
        "REDRIVE_VISIBILITY_TIMEOUT of Work is 30, but the visibility timeout of Orders is 180 s.",
    ),
    // A word that redrive does not take.
    (
        "setting-refused",
        &[("URL: !Ref Dead\n", "URL: !Ref Dead\n          REDRIVE_ON_PANIC: ignore\n")],
        r#"Work: REDRIVE_ON_PANIC is "ignore"; allowed is "dead-letter" or "retry"."#,
    ),
    // Misspelled, and without effect.
    (
        "setting-unknown",
        &[("URL: !Ref Dead\n", "URL: !Ref Dead\n          REDRIVE_MAX_RECIEVE_COUNT: \"5\"\n")],
        "Work sets the unknown variable REDRIVE_MAX_RECIEVE_COUNT.",
    ),
    // A role of its own, and DeleteMessage was forgotten.
    (
        "permission-poll",
        &[
            (
                r"      Policies:
        - SQSPollerPolicy: { QueueName: !GetAtt Orders.QueueName }
        - SQSSendMessagePolicy: { QueueName: !GetAtt Dead.QueueName }
        - CloudWatchPutMetricPolicy: {}
",
                "      Role: !GetAtt Rights.Arn\n",
            ),
            (
                "  Letters:\n",
                r#"  Rights:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      Policies:
        - PolicyName: work
          PolicyDocument:
            Statement:
              - { Effect: Allow, Action: ["sqs:ReceiveMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"], Resource: !GetAtt Orders.Arn }
              - { Effect: Allow, Action: "sqs:SendMessage", Resource: !GetAtt Dead.Arn }
              - { Effect: Allow, Action: "cloudwatch:PutMetricData", Resource: "*" }

  Letters:
"#,
            ),
        ],
        "The role of Work does not allow sqs:DeleteMessage for Orders.",
    ),
    // AWS's managed policy knows no backoff.
    (
        "permission-change-visibility",
        &[("SQSPollerPolicy: { QueueName: !GetAtt Orders.QueueName }", "AWSLambdaSQSQueueExecutionRole")],
        "The role of Work does not allow sqs:ChangeMessageVisibility for Orders.",
    ),
    // Dead letters that cannot be written.
    (
        "permission-send-dead-letters",
        &[("        - SQSSendMessagePolicy: { QueueName: !GetAtt Dead.QueueName }\n", "")],
        "The role of Work does not allow sqs:SendMessage for Dead.",
    ),
    // Metrics that nobody may publish.
    (
        "permission-put-metrics",
        &[("        - CloudWatchPutMetricPolicy: {}\n", "")],
        "The role of Work does not allow cloudwatch:PutMetricData for the namespace Redrive.",
    ),
    // A key that the role may not use.
    (
        "permission-key",
        &[("VisibilityTimeout: 180", "VisibilityTimeout: 180\n      KmsMasterKeyId: alias/orders")],
        "The role of Work does not allow kms:Decrypt for the key of Orders.",
    ),
    // Its Cargo.toml ends the process at a panic.
    (
        "panic-abort",
        &[("CodeUri: build/", "CodeUri: panic-abort/")],
        r#"The release profile of Work sets panic = "abort"."#,
    ),
];
