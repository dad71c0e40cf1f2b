export const handler = async (event) => {
  const [record] = event.Records;
  const order = JSON.parse(record.body);
  if (order.cents === 0) throw new RangeError("an order must cost something");
  console.log("charged", order.id);
};
