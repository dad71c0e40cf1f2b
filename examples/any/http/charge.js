const http = require("http");

function charge(request, body) {
  const order = JSON.parse(body);
  if (order.cents === 0) return [422, "an order must cost something"];
  console.log("charged", order.id, "in attempt", request.headers["x-aws-sqsd-receive-count"]);
  return [200, ""];
}

const server = http.createServer(async (request, response) => {
  try {
    const parts = [];
    for await (const part of request) parts.push(part);
    const [status, text] = charge(request, Buffer.concat(parts).toString());
    response.writeHead(status).end(text);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
server.listen(process.env.PORT ?? 8080, "127.0.0.1");
