import json


def handler(event, context):
    [record] = event["Records"]
    order = json.loads(record["body"])
    if order["cents"] == 0:
        raise ValueError("an order must cost something")
    print("charged", order["id"])
