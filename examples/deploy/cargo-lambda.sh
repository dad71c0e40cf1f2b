#!/bin/sh
# Creates two queues, deploys the function `receipts` with cargo-lambda, and creates its event source mapping, but no alarms.
# Set ROLE_ARN to a role with the permissions in permissions/function.json. `redrive doctor --function receipts` lists what is
# missing.
set -eu

DEAD_LETTERS=$(aws sqs create-queue --queue-name receipts-dead --output text --query QueueUrl \
  --attributes MessageRetentionPeriod=1209600)
DEAD_LETTERS_ARN=$(aws sqs get-queue-attributes --queue-url "$DEAD_LETTERS" --output text \
  --attribute-names QueueArn --query Attributes.QueueArn)
QUEUE=$(aws sqs create-queue --queue-name receipts --output text --query QueueUrl --attributes \
  "{\"VisibilityTimeout\": \"180\", \"RedrivePolicy\": \"{\\\"deadLetterTargetArn\\\": \\\"$DEAD_LETTERS_ARN\\\", \\\"maxReceiveCount\\\": 10}\"}")
QUEUE_ARN=$(aws sqs get-queue-attributes --queue-url "$QUEUE" --output text \
  --attribute-names QueueArn --query Attributes.QueueArn)

cargo lambda build --release --arm64
cargo lambda deploy receipts --timeout 30 --iam-role "$ROLE_ARN" \
  --env-var "REDRIVE_DEAD_LETTER_QUEUE_URL=$DEAD_LETTERS" \
  --env-var REDRIVE_MAX_RECEIVE_COUNT=10 --env-var REDRIVE_VISIBILITY_TIMEOUT=180

# Without the last option, Lambda deletes failed messages.
aws lambda create-event-source-mapping --function-name receipts --event-source-arn "$QUEUE_ARN" \
  --batch-size 10 --scaling-config MaximumConcurrency=10 --function-response-types ReportBatchItemFailures
