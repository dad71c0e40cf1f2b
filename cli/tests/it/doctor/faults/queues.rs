//! What goes wrong at the queue and its dead-letter queue.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[
    // There is a queue for dead letters, but no redrive policy that leads there.
    (
        "redrive-policy-missing",
        &[("      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 10 }\n", "")],
        "Orders feeds a function and has no RedrivePolicy.",
    ),
    // Three deliveries are used up by throttles alone.
    (
        "max-receive-count-low",
        &[
            ("maxReceiveCount: 10", "maxReceiveCount: 3"),
            (r#"REDRIVE_MAX_RECEIVE_COUNT: "10""#, r#"REDRIVE_MAX_RECEIVE_COUNT: "3""#),
        ],
        "The maxReceiveCount of Orders is 3.",
    ),
    // 2^attempt seconds for twenty deliveries are longer than a day.
    (
        "retries-outlive-retention",
        &[
            ("MessageRetentionPeriod: 345600", "MessageRetentionPeriod: 86400"),
            ("maxReceiveCount: 10", "maxReceiveCount: 20"),
            (r#"REDRIVE_MAX_RECEIVE_COUNT: "10""#, r#"REDRIVE_MAX_RECEIVE_COUNT: "20""#),
        ],
        "The waits between the 20 deliveries of a message add up to 237614 s, but Orders keeps it for 86400 s.",
    ),
    // Letters keep their age when they are moved.
    (
        "dead-letter-retention",
        &[("MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 345600")],
        "Dead keeps letters for 345600 s, but Orders keeps messages for 345600 s.",
    ),
    // A FIFO queue with a standard queue for its letters.
    (
        "dead-letter-queue-kind",
        &[("VisibilityTimeout: 180", "FifoQueue: true\n      VisibilityTimeout: 180")],
        "Orders is a FIFO queue, but Dead is a standard queue.",
    ),
    // The letters are to cross a border.
    (
        "dead-letter-queue-elsewhere",
        &[
            (
                "deadLetterTargetArn: !GetAtt Dead.Arn",
                r#"deadLetterTargetArn: !Sub "arn:aws:sqs:eu-west-1:${AWS::AccountId}:dead""#,
            ),
            (
                "REDRIVE_DEAD_LETTER_QUEUE_URL: !Ref Dead",
                r#"REDRIVE_DEAD_LETTER_QUEUE_URL: !Sub "https://sqs.eu-west-1.amazonaws.com/${AWS::AccountId}/dead""#,
            ),
            (
                "SQSSendMessagePolicy: { QueueName: !GetAtt Dead.QueueName }",
                r#"Statement:
            Effect: Allow
            Action: sqs:SendMessage
            Resource: !Sub "arn:aws:sqs:eu-west-1:${AWS::AccountId}:dead""#,
            ),
        ],
        "Orders is in eu-central-1, but its dead-letter queue dead is in eu-west-1.",
    ),
    // Whoever looks at a letter sends it on.
    (
        "dead-letter-queue-redrives",
        &[(
            "MessageRetentionPeriod: 1209600",
            r#"MessageRetentionPeriod: 1209600
      RedrivePolicy: { deadLetterTargetArn: "arn:aws:sqs:eu-west-1:123456789012:dead-dead", maxReceiveCount: 3 }"#,
        )],
        "Dead, the dead-letter queue of Orders, has a RedrivePolicy.",
    ),
    // The queue was renamed, the allow policy was not.
    (
        "allow-policy-refuses",
        &[(
            "MessageRetentionPeriod: 1209600",
            r#"MessageRetentionPeriod: 1209600
      RedriveAllowPolicy:
        redrivePermission: byQueue
        sourceQueueArns: [!Sub "arn:aws:sqs:${AWS::Region}:${AWS::AccountId}:invoices"]"#,
        )],
        "The RedriveAllowPolicy of Dead is byQueue with arn:aws:sqs:REGION:ACCOUNT:invoices, which excludes Orders.",
    ),
    // A dead-letter queue for invocations that never happen.
    (
        "function-dead-letter-queue",
        &[(
            "Timeout: 30\n",
            "Timeout: 30\n      DeadLetterQueue: { Type: SQS, TargetArn: !GetAtt Dead.Arn }\n",
        )],
        "Work names Dead as a dead-letter queue or destination.",
    ),
    // The function works on its own dead letters.
    (
        "dead-letters-return",
        &[
            (
                "MessageRetentionPeriod: 1209600",
                "VisibilityTimeout: 180\n      MessageRetentionPeriod: 1209600",
            ),
            (
                "        - SQSSendMessagePolicy",
                "        - SQSPollerPolicy: { QueueName: !GetAtt Dead.QueueName }\n        - SQSSendMessagePolicy",
            ),
            (
                "      Events:\n",
                r"      Events:
        Dead:
          Type: SQS
          Properties:
            Queue: !GetAtt Dead.Arn
            ScalingConfig: { MaximumConcurrency: 2 }
            FunctionResponseTypes: [ReportBatchItemFailures]
",
            ),
        ],
        "Dead, the dead-letter queue of Orders, feeds Work too.",
    ),
    // The function retries by sending the message again.
    (
        "sends-to-own-source",
        &[
            ("        Variables:\n", "        Variables:\n          ORDERS_QUEUE_URL: !Ref Orders\n"),
            (
                "        - SQSSendMessagePolicy",
                "        - SQSSendMessagePolicy: { QueueName: !GetAtt Orders.QueueName }\n        - SQSSendMessagePolicy",
            ),
        ],
        "The variable ORDERS_QUEUE_URL of Work is Orders, and Work may send to it.",
    ),
];
