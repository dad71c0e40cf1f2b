"""Sends dead letters back as such scripts usually do: receive, send, delete. Usage: plain.py ENDPOINT FROM TO

Letters of which the reason is not `panic` stay. Their visibility timeout brings them back.
"""

import json
import sys

import boto3


def main() -> None:
    endpoint, dead, to = sys.argv[1:]
    sqs = boto3.client("sqs", endpoint_url=endpoint)
    while True:
        received = sqs.receive_message(
            QueueUrl=dead, MaxNumberOfMessages=10, WaitTimeSeconds=1, MessageAttributeNames=["All"]
        )
        letters = received.get("Messages", [])
        if not letters:
            return
        for letter in letters:
            attributes = letter.get("MessageAttributes", {})
            note = json.loads(attributes.get("redrive.dead-letter", {}).get("StringValue", "{}"))
            if note.get("reason") != "panic":
                continue
            sqs.send_message(QueueUrl=to, MessageBody=letter["Body"], MessageAttributes=attributes)
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=letter["ReceiptHandle"])


if __name__ == "__main__":
    main()
