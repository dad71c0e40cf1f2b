import json
import os
import sqlite3
from pathlib import Path

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
database = sqlite3.connect(os.environ["DATABASE"])
database.executescript(Path("../inserting/src/table.sql").read_text())


def record_handler(record: SQSRecord):
    order = json.loads(record.body)
    with database:
        database.execute("INSERT INTO orders (id, cents) VALUES (?, ?)", (order["orderId"], order["amountCents"]))


def handler(event, context):
    return process_partial_response(event=event, record_handler=record_handler, processor=processor, context=context)
