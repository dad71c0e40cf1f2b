// An app whose messages are JavaScript. Usage: node app.js PORT http|http2
const { appendFileSync, existsSync } = require("fs");
const [port, protocol] = process.argv.slice(2);
const log = (line) => appendFileSync("log", `${line}\n`);
const server = require(protocol).createServer((request, response) => {
  const answer = (status, body = "", headers = {}) => response.writeHead(status, headers).end(body);
  if (request.method === "GET") {
    answer(existsSync("ready") ? 204 : 503);
    return;
  }
  let text = "";
  request.on("data", (part) => (text += part));
  request.on("end", () => {
    const event = text.startsWith('{"Records"') ? JSON.parse(text) : undefined;
    const attempt = request.headers["x-aws-sqsd-receive-count"] ?? event.Records[0].attributes.ApproximateReceiveCount;
    eval(event ? event.Records.map(({ body }) => body).find((body) => body !== "bad") ?? "answer(500)" : text);
  });
});
server.on(protocol === "http" ? "connection" : "session", () => log("connected"));
server.listen(Number(port), "127.0.0.1");
