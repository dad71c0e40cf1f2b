"""A function that does what the word in `do` of each message asks, with the other words as parameters."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

if os.environ.get("INIT") == "raise":
    raise ValueError("no settings")
if os.environ.get("INIT") == "exit":
    sys.exit(7)
if os.environ.get("INIT") == "import":
    import no_such_module  # noqa: F401
if os.environ.get("INIT") == "once":
    with open(os.environ["MARKER"], "x"):
        pass
if os.environ.get("INIT") == "restore":
    from snapshot_restore_py import register_after_restore

    register_after_restore(lambda: open(os.environ["MARKER"], "x").close())
if os.environ.get("INIT") == "slow":
    if os.path.exists(os.environ["MARKER"]):
        time.sleep(3)
    open(os.environ["MARKER"], "w").close()


class CardError(Exception):
    pass


def handler(event, context):
    if not isinstance(event, dict) or "Records" not in event or "s3" in event["Records"][0]:
        return other(event, context)
    results = [one(record, context, len(event["Records"])) for record in event["Records"]]
    failed = [record["messageId"] for record, result in zip(event["Records"], results) if result == "failed"]
    if failed:
        return {"batchItemFailures": [{"itemIdentifier": id} for id in failed]}
    return results[-1]


def other(event, context):
    if event == "raise":
        raise CardError("é: no other event")
    if event == "exit":
        os._exit(9)
    custom = context.client_context.custom if context.client_context else None
    return {"é": event, "custom": custom, "id": context.aws_request_id}


def one(record, context, of):
    task = json.loads(record["body"])
    attempt = int(record["attributes"]["ApproximateReceiveCount"])
    if attempt > task.get("until", 99):
        return None
    match task["do"]:
        case "tell":
            told = {
                "id": context.aws_request_id,
                "arn": context.invoked_function_arn,
                "trace": os.environ.get("_X_AMZN_TRACE_ID"),
                "left": context.get_remaining_time_in_millis(),
                "pid": os.getpid(),
                "of": of,
            }
            print("told " + json.dumps(told))
            return None
        case "succeed":
            return task.get("result")
        case "compare":
            if task["text"] != "é😀\u2028\"\\":
                raise ValueError(task["text"])
        case "raise":
            error = type(task.get("type", "Exception"), (Exception,), {})
            raise error(task.get("message", "failed"))
        case "hang":
            time.sleep(60)
        case "fork":
            subprocess.Popen(["sleep", "47"])
            time.sleep(60)
        case "exit":
            sys.exit(task["code"])
        case "quit":
            os._exit(task["code"])
        case "kill":
            os.kill(os.getpid(), getattr(signal, task["signal"]))
            time.sleep(60)
        case "orphan":
            subprocess.Popen(["sleep", "47"])
            os._exit(1)
        case "panic":
            threading.Thread(target=os._exit, args=[1]).start()
            time.sleep(60)
        case "recurse":
            return one(record, context, of)
        case "print":
            print("x" * task["bytes"])
        case "unserializable":
            return {1, 2}
        case "huge":
            return "x" * task["bytes"]
        case "report":
            return "failed"
        case word:
            raise ValueError(f"nobody can {word}")
