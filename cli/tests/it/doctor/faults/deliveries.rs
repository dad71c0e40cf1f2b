//! What goes wrong between the queue and the function: mappings, visibility, concurrency, FIFO.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[
    // The mapping does not ask for partial batch responses.
    (
        "batch-response-missing",
        &[("            FunctionResponseTypes: [ReportBatchItemFailures]\n", "")],
        "Work.Orders has no ReportBatchItemFailures in its FunctionResponseTypes.",
    ),
    // The mapping was switched off and forgotten.
    (
        "mapping-disabled",
        &[("BatchSize: 10\n", "BatchSize: 10\n            Enabled: false\n")],
        "Work.Orders has Enabled: false.",
    ),
    // Large batches without a window to collect them in.
    (
        "batch-size-refused",
        &[("BatchSize: 10\n", "BatchSize: 100\n")],
        "The batch size of Work.Orders is 100, but it has no batching window.",
    ),
    // Two functions that each want every message.
    (
        "queue-shared",
        &[(
            "            FunctionResponseTypes: [ReportBatchItemFailures]\n",
            r"            FunctionResponseTypes: [ReportBatchItemFailures]

  Audit:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.13
      Handler: audit.handler
      CodeUri: audit/
      Timeout: 30
      Events:
        Orders:
          Type: SQS
          Properties:
            Queue: !GetAtt Orders.Arn
            FunctionResponseTypes: [ReportBatchItemFailures]
",
        )],
        "Orders feeds both Work and Audit.",
    ),
    // Messages of another kind are deleted without a word.
    (
        "filter-deletes",
        &[(
            "BatchSize: 10\n",
            r#"BatchSize: 10
            FilterCriteria: { Filters: [{ Pattern: '{"body": {"kind": ["order"]}}' }] }
"#,
        )],
        r#"Work.Orders deletes messages that do not match {"body": {"kind": ["order"]}}."#,
    ),
    // Messages come back while they are in work.
    (
        "visibility-below-timeout",
        &[
            ("VisibilityTimeout: 180", "VisibilityTimeout: 20"),
            (r#"REDRIVE_VISIBILITY_TIMEOUT: "180""#, r#"REDRIVE_VISIBILITY_TIMEOUT: "20""#),
        ],
        "The visibility timeout of Orders is 20 s, but a delivery may take 30 s: \
         the timeout of Work (30 s) plus the batching window (0 s).",
    ),
    // Twice the timeout is not six times.
    (
        "visibility-too-short",
        &[
            ("VisibilityTimeout: 180", "VisibilityTimeout: 60"),
            (r#"REDRIVE_VISIBILITY_TIMEOUT: "180""#, r#"REDRIVE_VISIBILITY_TIMEOUT: "60""#),
        ],
        "The visibility timeout of Orders is 60 s; \
         6 x the timeout of Work (30 s) plus the batching window (0 s) is 180 s.",
    ),
    // Ten batches at a time, of which five are throttled.
    (
        "reserved-below-maximum",
        &[("Timeout: 30\n", "Timeout: 30\n      ReservedConcurrentExecutions: 5\n")],
        "Work has a reserved concurrency of 5, but its mappings may run 10 batches at a time.",
    ),
    // Pollers that know nothing of the reserved concurrency.
    (
        "reserved-without-maximum",
        &[
            ("Timeout: 30\n", "Timeout: 30\n      ReservedConcurrentExecutions: 5\n"),
            ("            ScalingConfig: { MaximumConcurrency: 10 }\n", ""),
        ],
        "Work has a reserved concurrency of 5, but Work.Orders has no MaximumConcurrency.",
    ),
    // A FIFO queue has no batching window.
    (
        "fifo-batching-window",
        &[
            ("VisibilityTimeout: 180", "FifoQueue: true\n      VisibilityTimeout: 185"),
            ("MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 1209600\n      FifoQueue: true"),
            (r#"REDRIVE_VISIBILITY_TIMEOUT: "180""#, r#"REDRIVE_VISIBILITY_TIMEOUT: "185""#),
            ("BatchSize: 10\n", "BatchSize: 10\n            MaximumBatchingWindowInSeconds: 5\n"),
        ],
        "Work.Orders has a batching window of 5 s, but Orders is a FIFO queue.",
    ),
    // The tenth message of a group has no delivery left when nine before it have failed.
    (
        "fifo-batch-burns-deliveries",
        &[
            ("VisibilityTimeout: 180", "FifoQueue: true\n      VisibilityTimeout: 180"),
            ("maxReceiveCount: 10", "maxReceiveCount: 5"),
            ("MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 1209600\n      FifoQueue: true"),
            (r#"REDRIVE_MAX_RECEIVE_COUNT: "10""#, r#"REDRIVE_MAX_RECEIVE_COUNT: "5""#),
        ],
        "Work.Orders takes batches of 10 from Orders, whose messages get 5 deliveries.",
    ),
];
