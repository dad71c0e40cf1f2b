"""The same as plain.py, ten at a time: the careful version of the script. Usage: batched.py ENDPOINT FROM TO"""

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
        wanted = {}
        for letter in letters:
            attributes = letter.get("MessageAttributes", {})
            note = json.loads(attributes.get("redrive.dead-letter", {}).get("StringValue", "{}"))
            if note.get("reason") == "panic":
                wanted[letter["MessageId"]] = letter
        if not wanted:
            continue
        sent = sqs.send_message_batch(
            QueueUrl=to,
            Entries=[
                {"Id": id, "MessageBody": letter["Body"], "MessageAttributes": letter.get("MessageAttributes", {})}
                for id, letter in wanted.items()
            ],
        )
        done = [entry["Id"] for entry in sent.get("Successful", [])]
        if done:
            sqs.delete_message_batch(
                QueueUrl=dead,
                Entries=[{"Id": id, "ReceiptHandle": wanted[id]["ReceiptHandle"]} for id in done],
            )


if __name__ == "__main__":
    main()
