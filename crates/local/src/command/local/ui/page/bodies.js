// Searches bodies beyond the beginning that rows contain. The server searches word by word.

import { ask } from './dom.js';

/** Pause after the last key before the server is asked, and before newer messages are searched, in milliseconds. */
const PAUSE = 150;

/** The pause after a missing answer, in milliseconds. */
const PATIENCE = 2000;

/** Numbers of messages and of invocations do not appear in bodies. */
const NO_BODY = /^(#\d+|inv:\d+;)$/;

export class Bodies {
  constructor(changed) {
    this.changed = changed;
    this.forget();
  }

  /** Resets the search for another run, or without words. */
  forget() {
    this.words = new Map();
    this.last = 0;
    this.pause = PAUSE;
  }

  /** Returns true if the rest of this body is known to contain the word. */
  say(word, { number, cut }) {
    return Boolean(cut && this.words.get(word)?.numbers.has(number));
  }

  /** Number of bodies that are not kept, of which only the beginning was searched. */
  get gone() {
    return Math.max(0, ...[...this.words.values()].map(({ gone }) => gone));
  }

  get busy() {
    return this.timer !== undefined || this.asking;
  }

  /** Searches for these words in messages up to the last one with a longer body. */
  look(text, last) {
    const words = wordsOf(text).filter((word) => !NO_BODY.test(word));
    const before = this.words;
    const none = () => ({ numbers: new Set(), to: 0, gone: 0 });
    const news = words.length !== before.size || words.some((word) => !before.has(word));
    if (news) this.words = new Map(words.map((word) => [word, before.get(word) ?? none()]));
    this.last = last;
    if (this.timer === undefined && this.open().length > 0) this.timer = setTimeout(() => this.ask(), this.pause);
  }

  open() {
    return [...this.words].filter(([, { to }]) => to < this.last);
  }

  async ask() {
    this.timer = undefined;
    if (this.asking) return;
    this.asking = true;
    try {
      for (const [word, known] of this.open()) {
        const { numbers, gone, to } = await ask('/search', { word, after: known.to });
        numbers.forEach((number) => known.numbers.add(number));
        known.gone += gone;
        known.to = Math.max(to, known.to);
      }
      this.pause = PAUSE;
    } catch {
      this.pause = PATIENCE;
    }
    this.asking = false;
    this.changed();
  }
}

/** Returns the words, all of which a message must contain. */
export function wordsOf(text) {
  return [...new Set(text.toLowerCase().split(/\s+/).filter(Boolean))];
}
