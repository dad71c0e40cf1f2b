# What clients do that call the local SQS by its name, and what a page in a browser may not do. Runs below two_namespaces.sh.
# Usage: clients_by_name.sh ORDERS PYTHON FOLDER
set -eu
orders=$1 python=$2 folder=$3
trap 'kill $(cat "$folder/worker.pid") 2> /dev/null || true' EXIT

"$python" - << PYTHON
import time, urllib.error, urllib.request, boto3

def status(url, **headers):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5).status
    except urllib.error.HTTPError as refusal:
        return refusal.code
    except OSError:
        return None

deadline = time.monotonic() + 30
while status("http://redrive:4566/health") != 200:
    assert time.monotonic() < deadline, "it does not answer"
    time.sleep(0.05)
# A page in a browser: by a name that is not allowed, as after rebinding, and by the allowed one without a signature.
create = "/?Action=CreateQueue&QueueName=evil"
for name in ("other", "10.99.0.1", "redrive"):
    assert status(f"http://{name}:4566{create}") == 403, name
assert status(f"http://redrive:4566{create}", Origin="http://redrive:4566") == 403
sqs = boto3.client("sqs")
url = sqs.create_queue(QueueName="orders")["QueueUrl"]
assert url == "http://redrive:4566/000000000000/orders", url
for number in range(10):
    sqs.send_message(QueueUrl=url, MessageBody='{"order_id": "A-%d", "lines": [{"sku": "tea", "quantity": 1}]}' % number)
PYTHON

"$(dirname "$python")/aws" --endpoint-url "$AWS_ENDPOINT_URL" sqs get-queue-url --queue-name orders > /dev/null

REDRIVE_QUEUE_URL=http://redrive:4566/000000000000/orders REDRIVE_METRICS=off "$orders" > "$folder/worker.log" 2>&1 & echo $! > "$folder/worker.pid"

"$python" - << PYTHON
import time, boto3
sqs = boto3.client("sqs")
names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
deadline = time.monotonic() + 30
[url] = sqs.list_queues()["QueueUrls"]
assert url == "http://redrive:4566/000000000000/orders", url
while any(map(int, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values())):
    assert time.monotonic() < deadline, "messages are left"
    time.sleep(0.1)
PYTHON
grep -c '"message":"charged"' "$folder/worker.log"
