"""A function written by hand: it logs each message's group, and writes a letter whose note quotes it."""

import json
import os
import urllib.request

API = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"
AWS = os.environ["AWS_ENDPOINT_URL"]


def write_letter(record):
    arn, group = record["eventSourceARN"], record["attributes"]["MessageGroupId"]
    account, queue = arn.split(":")[-2:]
    note = {"reason": group, "error": group, "exception": group, "function": group, "attempts": 1, "source": arn}
    note |= {"message_id": record["messageId"], "failed_at": "2026-01-01T00:00:00Z"}
    letter = {
        "QueueUrl": f"{AWS}/{account}/{queue.replace('.fifo', '-dead.fifo')}",
        "MessageBody": record["body"],
        "MessageGroupId": group,
        "MessageDeduplicationId": record["messageId"],
        "MessageAttributes": {"redrive.dead-letter": {"DataType": "String", "StringValue": json.dumps(note)}},
    }
    headers = {"x-amz-target": "AmazonSQS.SendMessage", "content-type": "application/x-amz-json-1.0"}
    urllib.request.urlopen(urllib.request.Request(AWS, json.dumps(letter).encode(), headers)).close()


while True:
    with urllib.request.urlopen(f"{API}/next") as response:
        request_id, event = response.headers["lambda-runtime-aws-request-id"], json.load(response)
    for record in event["Records"]:
        print(f"{record['messageId']} of {record['attributes']['MessageGroupId']}", flush=True)
        write_letter(record)
    urllib.request.urlopen(urllib.request.Request(f"{API}/{request_id}/response", b"{}", method="POST")).close()
