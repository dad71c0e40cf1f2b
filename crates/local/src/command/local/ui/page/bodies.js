// What bodies say after the beginning that each row has: the server looks, word by word.

import { ask } from './dom.js';

/** So long nothing more is typed before it is asked, and before messages that came since are looked at, in milliseconds. */
const PAUSE = 150;

/** And so long if there was no answer. */
const PATIENCE = 2000;

/** Numbers of messages and of invocations are no part of bodies. */
const NO_BODY = /^(#\d+|inv:\d+;)$/;

export class Bodies {
  constructor(changed) {
    this.changed = changed;
    this.forget();
  }

  /** Another run, or nothing to look for. */
  forget() {
    this.words = new Map();
    this.last = 0;
    this.pause = PAUSE;
  }

  /** Whether the rest of this body says it, as far as is known. */
  say(word, { number, cut }) {
    return Boolean(cut && this.words.get(word)?.numbers.has(number));
  }

  /** How many bodies are not kept, so that only their beginning was looked at. */
  get gone() {
    return Math.max(0, ...[...this.words.values()].map(({ gone }) => gone));
  }

  get busy() {
    return this.timer !== undefined || this.asking;
  }

  /** Looks for these words in messages up to the last one whose body goes on. */
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

/** What is looked for, each of which a message must say. */
export function wordsOf(text) {
  return [...new Set(text.toLowerCase().split(/\s+/).filter(Boolean))];
}
