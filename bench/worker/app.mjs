// A trivial app: answers each request with 204, and prints its port first. Usage: node app.mjs http|http2
const { createServer } = await import(`node:${process.argv[2]}`);

const server = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(204).end());
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
