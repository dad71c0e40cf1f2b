order=$(cat)
case $order in
*'"cents":0'*)
  echo "an order must cost something" >&2
  exit 3
  ;;
esac
echo "charged $order in attempt $ApproximateReceiveCount"
