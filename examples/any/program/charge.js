const order = JSON.parse(require("fs").readFileSync(0, "utf8"));
if (order.cents === 0) {
  console.error("an order must cost something");
  process.exit(3);
}
console.log("charged", order.id, "in attempt", process.env.ApproximateReceiveCount);
