"""Sources of behavior: AWS's pages, and recordings of others from AWS."""

import pytest

_DOCS = "https://docs.aws.amazon.com"
_SQS = f"{_DOCS}/AWSSimpleQueueService/latest"
_CLOUDWATCH = f"{_DOCS}/AmazonCloudWatch/latest"
_MEASURED = "https://github.com/localstack/localstack/blob/8b9a79f05846835cf4dff63ab7eefdde9df83783/tests/aws/services"


def sqs(operation: str) -> str:
    return f"{_SQS}/APIReference/API_{operation}.html"


def sqs_guide(page: str) -> str:
    return f"{_SQS}/SQSDeveloperGuide/{page}.html"


def cloudwatch(operation: str) -> str:
    return f"{_CLOUDWATCH}/APIReference/API_{operation}.html"


def cloudwatch_guide(page: str) -> str:
    return f"{_CLOUDWATCH}/monitoring/{page}.html"


def lambda_(operation: str) -> str:
    return f"{_DOCS}/lambda/latest/api/API_{operation}.html"


def logs(operation: str) -> str:
    return f"{_DOCS}/AmazonCloudWatchLogs/latest/APIReference/API_{operation}.html"


def cloudformation(operation: str) -> str:
    return f"{_DOCS}/AWSCloudFormation/latest/APIReference/API_{operation}.html"


# Answers of AWS itself, recorded by the tests of LocalStack that are marked as validated against AWS.
MEASURED_SQS = f"{_MEASURED}/sqs/test_sqs.snapshot.json"
MEASURED_SQS_TESTS = f"{_MEASURED}/sqs/test_sqs.py"
MEASURED_MOVE_TASKS = f"{_MEASURED}/sqs/test_sqs_move_task.snapshot.json"
MEASURED_CLOUDWATCH = f"{_MEASURED}/cloudwatch/test_cloudwatch.snapshot.json"
MEASURED_CLOUDWATCH_TESTS = f"{_MEASURED}/cloudwatch/test_cloudwatch.py"

SEND = sqs("SendMessage")
RECEIVE = sqs("ReceiveMessage")
VISIBILITY = sqs_guide("sqs-visibility-timeout")
DEAD_LETTERS = sqs_guide("sqs-dead-letter-queues")
DEAD_LETTER_RETENTION = sqs_guide("setting-up-dead-letter-queue-retention")
DEAD_LETTER_REDRIVE = sqs_guide("sqs-configure-dead-letter-queue-redrive")
METADATA = sqs_guide("sqs-message-metadata")
MESSAGE_QUOTAS = sqs_guide("quotas-messages")
QUEUE_QUOTAS = sqs_guide("quotas-queues")
FIFO = sqs_guide("FIFO-queues-understanding-logic")
FAIR_QUEUES = sqs_guide("sqs-fair-queues")
LONG_POLLING = sqs_guide("sqs-short-and-long-polling")
QUEUE_METRICS = sqs_guide("sqs-available-cloudwatch-metrics")
DEAD_LETTER_ALARM = sqs_guide("dead-letter-queues-alarms-cloudwatch")
QUERY_PROTOCOL = sqs_guide("sqs-making-api-requests-xml")
JSON_PROTOCOL = sqs_guide("sqs-making-api-requests-json")
X_RAY = f"{_DOCS}/xray/latest/devguide/xray-services-sqs.html"
VISIBILITY_LIMIT = "https://github.com/aws/aws-sdk-net/issues/794"
MISSING_DATA = cloudwatch_guide("alarms-and-missing-data")
RPC_CBOR = "https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html"
_SMITHY = "https://github.com/smithy-lang/smithy/blob/28b3be5b935f36c4caa376e237e6afbe22be6e2b"
NULLS = f"{_SMITHY}/smithy-aws-protocol-tests/model/awsJson1_1/null.smithy"
QUERY_COMPATIBLE = "https://smithy.io/2.0/aws/protocols/aws-query-protocol.html"
# The recordings of SQS are older than this header, so they show answers without it.
QUERY_COMPATIBLE_CLIENTS = "https://github.com/boto/botocore/pull/3295"
COMMAND_LINE = "https://docs.aws.amazon.com/cli/latest/reference/sqs/index.html"


def source(*urls: str):
    return pytest.mark.source(*urls)
