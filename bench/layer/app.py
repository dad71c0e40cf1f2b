import json


def handler(event, context):
    failures = []
    for record in event["Records"]:
        if json.loads(record["body"])["fail"]:
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}
