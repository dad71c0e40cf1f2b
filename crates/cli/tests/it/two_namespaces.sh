# Two network namespaces with a cable between them, as containers have: in one the local SQS, in the other its clients, which call it
# `redrive`. Runs as root of a namespace of users: unshare --map-root-user --net --mount sh two_namespaces.sh REDRIVE ORDERS PYTHON FOLDER
set -eu
redrive=$1 orders=$2 python=$3 folder=$4
export AWS_ENDPOINT_URL=http://redrive:4566 AWS_REGION=eu-central-1 AWS_DEFAULT_REGION=eu-central-1
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_EC2_METADATA_DISABLED=true

unshare --net sleep 120 & other=$!
trap 'kill $other $(cat "$folder"/*.pid) 2> /dev/null || true' EXIT
ip link set lo up
ip link add client type veth peer name service
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set service netns $other
ip address add 10.99.0.2/24 dev client
ip link set client up
there() { nsenter --target $other --net "$@"; }
there ip link set lo up
there ip address add 10.99.0.1/24 dev service
there ip link set service up
printf '127.0.0.1 localhost\n10.99.0.1 redrive other\n' > "$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts

REDRIVE_LOCAL_LISTEN=0.0.0.0:4566 REDRIVE_LOCAL_ALLOW_HOST=redrive nsenter --target $other --net \
  "$redrive" local --empty --state "$folder/state" > "$folder/service.log" 2>&1 & echo $! > "$folder/service.pid"

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
