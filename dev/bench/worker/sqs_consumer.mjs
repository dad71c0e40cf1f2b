// The worker with bbc/sqs-consumer: a consumer for each ten messages in hand. Usage: sqs_consumer.mjs one|ten

import { setTimeout as sleep } from "node:timers/promises";
import { Consumer } from "sqs-consumer";

const { QUEUE_URL, CONCURRENCY, HANDLER_MS, WARM_UP, MESSAGES } = process.env;
const wait = Number(HANDLER_MS);
const taken = new Map();
let handled = 0;

async function handle(message) {
  const order = JSON.parse(message.Body);
  if (wait > 0) await sleep(wait);
  if (order.fail) throw new Error("poison");
  count(Math.max(0, Date.now() - Number(message.Attributes.SentTimestamp)));
  return message;
}

/** How many messages took so many milliseconds from their sending to here. */
function count(milliseconds) {
  handled += 1;
  if (handled > Number(WARM_UP)) taken.set(milliseconds, (taken.get(milliseconds) ?? 0) + 1);
  if (handled === Number(MESSAGES)) console.log(JSON.stringify([...taken]));
}

/** Those that succeeded are deleted with one request. */
async function handleAll(messages) {
  const ends = await Promise.allSettled(messages.map(handle));
  return messages.filter((_, place) => ends[place].status === "fulfilled");
}

const handler = process.argv[2] === "ten" ? { handleMessageBatch: handleAll } : { handleMessage: handle };
for (let each = 0; each < Number(CONCURRENCY) / 10; each += 1) {
  const consumer = Consumer.create({
    queueUrl: QUEUE_URL,
    batchSize: 10,
    messageSystemAttributeNames: ["SentTimestamp"],
    ...handler,
  });
  for (const event of ["error", "processing_error", "timeout_error"]) {
    consumer.on(event, (error) => {
      console.error(error);
      process.exit(1);
    });
  }
  consumer.start();
}
