// Reads letters from the command, and filters them.

import { stream } from './server.js';

export class Letters {
  constructor(path, { changed }) {
    this.path = path;
    this.changed = changed;
    this.reading = null;
    this.clear();
  }

  clear() {
    [this.all, this.groups, this.said, this.command] = [[], [], [], ''];
    [this.ended, this.error] = [null, null];
  }

  /** Reads them again, and stops an earlier reading. */
  async read(asked) {
    this.stop();
    this.clear();
    const reading = new AbortController();
    this.reading = reading;
    this.changed();
    try {
      await stream(this.path, asked, reading.signal, (lines) => {
        if (this.reading !== reading) return;
        lines.forEach((line) => this.take(line));
        this.changed();
      });
    } catch (error) {
      if (this.reading !== reading) return;
      this.error = error.message;
    }
    if (this.reading !== reading) return;
    if (this.ended === null) this.error ??= 'The list is incomplete: read it again.';
    else if (this.ended !== 0 && this.said.length === 0) this.error = `dlq list ended with exit code ${this.ended}.`;
    this.reading = null;
    this.changed();
  }

  take(line) {
    if (line.letter) this.all.push(line.letter);
    else if (line.said) this.said.push(line.said);
    else if (line.command) this.command = line.command;
    else if (line.groups) {
      this.groups = line.groups;
      this.ended = line.ended;
      this.groups.forEach((group, index) => group.letters.forEach((at) => (this.all[at].group = index)));
    }
  }

  stop() {
    this.reading?.abort();
    this.reading = null;
  }

  /** Returns the letters that have all these words, of a source and a group if given. */
  matching(source, group, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return this.all.filter((letter) => isOf(letter, source) && (group === null || letter.group === group) && words.every((word) => haystack(letter).includes(word)));
  }
}

/** Returns true if a letter goes back to this source. One without a source goes back to any. */
export const isOf = (letter, source) => !source || !letter.source || letter.source === source || letter.source === source.split(':').at(-1);

const found = new WeakMap();

function haystack(letter) {
  if (!found.has(letter)) {
    const attributes = Object.entries(letter.attributes ?? {}).map(([name, value]) => `${name} ${value.value ?? value}`);
    found.set(letter, [letter.id, letter.message_id, letter.reason, letter.error, letter.exception, letter.group_id, letter.function, letter.body, ...attributes].join(' ').toLowerCase());
  }
  return found.get(letter);
}

/** Returns the time of a letter's failure, as exactly as possible. */
export const failedAt = (letter) => Date.parse(letter.failed_at ?? letter.enqueued_at ?? letter.sent_at);
