// A function that does what the word in `do` of each message asks, with the other words as parameters.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

if (process.env.INIT === "raise") throw Object.assign(new Error("no settings"), { name: "ValueError" });
if (process.env.INIT === "exit") process.exit(7);
if (process.env.INIT === "import") await import("no-such-module");
if (process.env.INIT === "once") writeFileSync(process.env.MARKER, "", { flag: "wx" });

const named = (name, message) => Object.assign(new Error(message), { name });
const forever = () => new Promise((resolve) => setTimeout(resolve, 60_000));

export const handler = async (event, context) => {
  if (!event?.Records || event.Records[0].s3) return other(event, context);
  const results = [];
  for (const record of event.Records) results.push(await one(record, context, event.Records.length));
  const failed = event.Records.filter((_, at) => results[at] === "failed");
  if (failed.length) return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  return results.at(-1);
};

const other = (event, context) => {
  if (event === "raise") throw named("CardError", "é: no other event");
  if (event === "exit") process.exit(9);
  return { é: event, custom: context.clientContext?.custom ?? null, id: context.awsRequestId };
};

const one = async (record, context, of) => {
  const task = JSON.parse(record.body);
  const attempt = Number(record.attributes.ApproximateReceiveCount);
  if (attempt > (task.until ?? 99)) return null;
  switch (task.do) {
    case "tell": {
      const told = {
        id: context.awsRequestId,
        arn: context.invokedFunctionArn,
        trace: process.env._X_AMZN_TRACE_ID,
        left: context.getRemainingTimeInMillis(),
        pid: process.pid,
        of,
      };
      process.stdout.write(`told ${JSON.stringify(told)}\n`);
      return null;
    }
    case "succeed":
      return task.result;
    case "compare":
      if (task.text !== 'é😀\u2028"\\') throw named("ValueError", task.text);
      return;
    case "raise":
      throw named(task.type ?? "Exception", task.message ?? "failed");
    case "hang":
      return forever();
    case "fork":
      spawn("sleep", ["47"]);
      return forever();
    case "exit":
    case "quit":
      return process.exit(task.code);
    case "kill":
      process.kill(process.pid, task.signal);
      return forever();
    case "orphan":
      spawn("sleep", ["47"]);
      return process.exit(1);
    case "panic":
      setTimeout(() => { throw named("PanicError", "outside"); });
      return forever();
    case "recurse": {
      const recurse = () => 1 + recurse();
      return recurse();
    }
    case "print":
      process.stdout.write("x".repeat(task.bytes) + "\n");
      return;
    case "unserializable":
      return 1n;
    case "huge":
      return "x".repeat(task.bytes);
    case "report":
      return "failed";
    default:
      throw named("ValueError", `nobody can ${task.do}`);
  }
};

// Answers piece by piece.
export const streamed = globalThis.awslambda?.streamifyResponse(async (event, stream) => {
  const pieces = event.Records ? JSON.parse(event.Records[0].body).pieces : event.pieces;
  for (const [at, piece] of pieces.entries()) {
    if (piece === "raise") throw named("CardError", pieces[at + 1] ?? "in the middle");
    stream.write(piece);
  }
  stream.end();
});
