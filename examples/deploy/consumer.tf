variable "name" { default = "orders" }
variable "package" { default = "target/lambda/orders/bootstrap.zip" }
variable "timeout" { default = 30 }
variable "visibility_timeout" { default = 180 } # 6 x the timeout + the batching window
variable "max_receive_count" { default = 10 }
variable "idempotency" { default = false } # whether a table remembers handled messages, for redrive-dynamodb

resource "aws_sqs_queue" "queue" {
  name                       = var.name
  visibility_timeout_seconds = var.visibility_timeout
  message_retention_seconds  = 604800
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters.arn
    maxReceiveCount     = var.max_receive_count
  })
}

resource "aws_sqs_queue" "dead_letters" {
  name                      = "${var.name}-dead"
  message_retention_seconds = 1209600 # longer than the queue's

  lifecycle {
    prevent_destroy = true # what is in it cannot be made again
  }
}

# A resource of its own: each queue names the other.
resource "aws_sqs_queue_redrive_allow_policy" "dead_letters" {
  queue_url = aws_sqs_queue.dead_letters.url
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.queue.arn]
  })
}

resource "aws_lambda_function" "function" {
  function_name    = var.name
  role             = aws_iam_role.function.arn
  filename         = var.package
  source_code_hash = filebase64sha256(var.package)
  runtime          = "provided.al2023"
  architectures    = ["arm64"]
  handler          = "bootstrap"
  memory_size      = 256
  timeout          = var.timeout

  environment {
    variables = {
      REDRIVE_DEAD_LETTER_QUEUE_URL = aws_sqs_queue.dead_letters.url
      REDRIVE_MAX_RECEIVE_COUNT     = var.max_receive_count
      REDRIVE_VISIBILITY_TIMEOUT    = var.visibility_timeout
      REDRIVE_IDEMPOTENCY_TABLE     = var.idempotency ? aws_dynamodb_table.idempotency[0].name : "" # empty counts as absent
    }
  }
}

resource "aws_lambda_event_source_mapping" "queue" {
  event_source_arn        = aws_sqs_queue.queue.arn
  function_name           = aws_lambda_function.function.arn
  batch_size              = 10
  function_response_types = ["ReportBatchItemFailures"] # without it Lambda deletes failed messages
  depends_on              = [aws_iam_role_policy.function, aws_iam_role_policy.idempotency]

  scaling_config {
    maximum_concurrency = 10
  }
}

resource "aws_cloudwatch_log_group" "function" {
  name              = "/aws/lambda/${var.name}"
  retention_in_days = 30
}

resource "aws_iam_role" "function" {
  name = var.name
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "function" {
  name   = var.name
  role   = aws_iam_role.function.name
  policy = data.aws_iam_policy_document.function.json
}

data "aws_iam_policy_document" "function" {
  statement {
    actions   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]
    resources = [aws_sqs_queue.queue.arn]
  }

  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.dead_letters.arn]
  }

  statement {
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.function.arn}:*"]
  }

  statement {
    actions   = ["cloudwatch:PutMetricData"]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "cloudwatch:namespace"
      values   = ["Redrive"]
    }
  }
}

resource "aws_dynamodb_table" "idempotency" {
  count = var.idempotency ? 1 : 0

  name         = "${var.name}-idempotency"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"

  attribute {
    name = "id"
    type = "S"
  }

  ttl {
    attribute_name = "expiration"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  lifecycle {
    prevent_destroy = true # without its records, messages that come back are handled again
  }
}

resource "aws_iam_role_policy" "idempotency" {
  count = var.idempotency ? 1 : 0

  name   = "${var.name}-idempotency"
  role   = aws_iam_role.function.name
  policy = data.aws_iam_policy_document.idempotency[0].json
}

data "aws_iam_policy_document" "idempotency" {
  count = var.idempotency ? 1 : 0

  statement {
    actions   = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:GetItem"]
    resources = [aws_dynamodb_table.idempotency[0].arn]
  }
}

resource "aws_sns_topic" "pager" {
  name = "${var.name}-pager" # subscribe those who handle dead letters
}

locals {
  of_queue        = { QueueName = aws_sqs_queue.queue.name }
  of_dead_letters = { QueueName = aws_sqs_queue.dead_letters.name }
  of_function     = { FunctionName = aws_lambda_function.function.function_name }

  # namespace, metric, statistic, dimensions, and the value above which the alarm goes off
  alarms = {
    DeadLetter     = ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", local.of_dead_letters, 0]
    DeadLettered   = ["Redrive", "DeadLettered", "Sum", local.of_queue, 0]
    WorkerErrors   = ["Redrive", "WorkerErrors", "Sum", local.of_queue, 10]
    Outage         = ["Redrive", "Outages", "Sum", local.of_queue, 0]
    Throttles      = ["AWS/Lambda", "Throttles", "Sum", local.of_function, 5]
    FunctionErrors = ["AWS/Lambda", "Errors", "Sum", local.of_function, 0]
    QueueAge       = ["AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", local.of_queue, 3600]
  }
}

resource "aws_cloudwatch_metric_alarm" "alarm" {
  for_each = local.alarms

  alarm_name          = "${var.name}-${each.key}"
  namespace           = each.value[0]
  metric_name         = each.value[1]
  statistic           = each.value[2]
  dimensions          = each.value[3]
  threshold           = each.value[4]
  comparison_operator = "GreaterThanThreshold"
  # An outage is one that lasts: in two of three periods of five minutes.
  period              = each.key == "Outage" ? 300 : 60
  evaluation_periods  = each.key == "Outage" ? 3 : 1
  datapoints_to_alarm = each.key == "Outage" ? 2 : 1
  treat_missing_data  = "notBreaching" # an idle queue has no data
  alarm_actions       = [aws_sns_topic.pager.arn]
  ok_actions          = [aws_sns_topic.pager.arn]
}

output "queue_url" { value = aws_sqs_queue.queue.url }
output "dead_letter_queue_url" { value = aws_sqs_queue.dead_letters.url }
output "function_name" { value = aws_lambda_function.function.function_name }
