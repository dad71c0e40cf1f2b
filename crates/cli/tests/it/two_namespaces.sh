# Two network namespaces with a cable between them, as containers have: in one the local SQS, in the other a command, for which the
# SQS is http://redrive:4566. Runs as root of a namespace of users:
# unshare --map-root-user --net --mount sh two_namespaces.sh REDRIVE FOLDER COMMAND [ARGUMENT]...
set -eu
redrive=$1 folder=$2
shift 2
export AWS_ENDPOINT_URL=http://redrive:4566 AWS_REGION=eu-central-1 AWS_DEFAULT_REGION=eu-central-1
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_EC2_METADATA_DISABLED=true

unshare --net sleep 120 & other=$!
trap 'kill $other $(cat "$folder/service.pid") 2> /dev/null || true' EXIT
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
timeout 100 "$@"
