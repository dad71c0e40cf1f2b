// Everything that the page has received, by number.

import { NUMBERS } from './charts.js';
import { haystack } from './message.js';

/** Items with rising numbers. The oldest are dropped, and gaps do not last long. */
class Shelf {
  constructor() {
    this.first = 1;
    this.things = [];
  }

  put(thing) {
    const index = thing.number - this.first;
    if (index >= 0) this.things[index] = thing;
  }

  get(number) {
    return this.things[number - this.first];
  }

  dropBefore(first) {
    if (first > this.first) {
      this.things.splice(0, first - this.first);
      this.first = first;
    }
  }
}

/** Most samples that are kept. Beyond the limit every other one is dropped, as on the server. */
const MOST_SAMPLES = 1000;

export class Store {
  constructor() {
    this.clear();
  }

  clear() {
    this.setup = { queues: [], thresholds: {} };
    this.messages = new Shelf();
    this.invocations = new Shelf();
    this.alarms = new Map();
    this.notices = [];
    this.samples = [];
    this.lastCut = 0;
  }

  /** Applies an update, and returns the alarms that have changed. */
  apply(update) {
    if (update.setup) {
      this.clear();
      this.setup = update.setup;
    }
    for (const message of update.messages) {
      message.text = haystack(message);
      this.messages.put(message);
      if (message.cut) this.lastCut = Math.max(this.lastCut, message.number);
    }
    update.invocations.forEach((invocation) => this.invocations.put(invocation));
    this.messages.dropBefore(update.first[0]);
    this.invocations.dropBefore(update.first[1]);
    this.notices.push(...update.notices);
    update.samples.forEach((sample) => this.sample(sample));
    const news = update.alarms.filter((alarm) => {
      const before = this.alarms.get(alarm.name);
      return before !== undefined && before.state !== alarm.state;
    });
    update.alarms.forEach((alarm) => this.alarms.set(alarm.name, alarm));
    return news;
  }

  sample(sample) {
    const same = (other) => NUMBERS.every((name) => other?.[name] === sample[name]);
    if (same(this.samples.at(-1)) && same(this.samples.at(-2))) this.samples.pop();
    this.samples.push(sample);
    if (this.samples.length > MOST_SAMPLES) this.samples = this.samples.filter((_, index) => index % 2 === 0);
  }
}
