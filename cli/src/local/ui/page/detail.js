// One message with all that is known of it. Whatever a message says is text.

import { span, stamp } from './clock.js';
import { $, ask, h, s, say } from './dom.js';
import { draw } from './filter.js';
import { standing, stateOf } from './message.js';
import { mark } from './track.js';

export class Detail {
  constructor({ retried, copy, closed }) {
    this.element = $('detail');
    this.handlers = { retried, copy, closed };
    this.number = null;
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
    });
  }

  get open() {
    return this.number !== null;
  }

  async show(message, now, focus) {
    this.number = message.number;
    this.element.hidden = false;
    this.build(message);
    this.refresh(message, now, true);
    this.element.scrollTop = 0;
    if (focus) this.element.focus();
  }

  build(message) {
    this.verdict = h('p', { class: 'verdict' });
    this.actions = h('div', { class: 'actions' });
    this.attempts = h('tbody');
    this.more = h('div');
    this.logs = h('div');
    this.said = undefined;
    const top = h('div', { class: 'top' },
      h('div', {}, h('h2', {}, `Message #${message.number}`), h('p', { class: 'id' }, message.id)),
      h('button', { type: 'button', class: 'plain', 'aria-label': 'Close', onclick: () => this.close() }, '✕'));
    const table = h('table', {}, h('thead', {}, h('tr', {}, ...['Attempt', 'At', 'Took', 'Then'].map((head) => h('th', { scope: 'col' }, head)))), this.attempts);
    const attempts = h('div', {}, h('h3', {}, 'Attempts'), table);
    this.element.replaceChildren(top, this.verdict, this.actions, this.more, attempts, this.logs);
  }

  /** The message has changed, or time has passed. */
  refresh(message, now, changed) {
    const state = stateOf(message, now);
    this.verdict.className = `verdict ${state}`;
    const error = message.end?.error;
    say(this.verdict, `${standing(message, now)}${error ? `: ${error}` : ''}`);
    if (!changed) return;
    this.attempts.replaceChildren(...message.attempts.map((attempt) => this.attempt(attempt)));
    this.offer(message, state);
    this.load(message);
  }

  attempt({ attempt, at, ended, outcome, wait, invocation }) {
    const icon = s('svg', { viewBox: '0 0 16 14', 'aria-hidden': 'true' }, draw(mark(outcome, 8, 7)));
    const then = { running: 'running', done: 'done', dead: 'dead-lettered', throttled: 'throttled', client: 'with a client', failed: 'failed' }[outcome];
    const back = wait === undefined ? '' : `, back ${wait === 0 ? 'at once' : `in ${wait} s`}`;
    return h('tr', { title: invocation ? `invocation ${invocation}` : null },
      h('td', {}, icon, String(attempt)), h('td', {}, stamp(at)), h('td', {}, ended === undefined ? '' : span(ended - at)), h('td', {}, then + back));
  }

  offer(message, state) {
    const key = `${message.number} ${state}`;
    if (this.offered === key) return;
    this.offered = key;
    const retry = h('button', { type: 'button', class: 'primary', onclick: () => this.handlers.retried(message) }, 'Retry this dead letter');
    const copy = h('button', { type: 'button', onclick: () => this.handlers.copy(this.said, message) }, 'Send a copy…');
    this.actions.replaceChildren(...(state === 'dead' ? [retry, copy] : [copy]));
  }

  async load(message) {
    let details;
    try {
      details = await ask(`/message/${encodeURIComponent(message.id)}`);
    } catch (error) {
      details = { problem: error.message, logs: [] };
    }
    if (this.number !== message.number) return;
    this.said = details.sent;
    const parts = [];
    if (details.problem) parts.push(h('p', { class: 'quiet' }, details.problem));
    if (details.note) parts.push(h('h3', {}, 'Note on the dead letter'), pairs(details.note));
    parts.push(...(details.sent ? sentParts(details.sent) : [h('p', { class: 'quiet' }, 'Its body is not kept any more.')]));
    this.more.replaceChildren(...parts);
    const lines = details.logs.map((line) => logLine(line, message.id));
    this.logs.replaceChildren(
      h('h3', {}, `Log lines that name it (${lines.length})`),
      lines.length === 0 ? h('p', { class: 'quiet' }, 'None.') : h('ul', { class: 'logs' }, ...lines));
  }

  close() {
    this.number = null;
    this.offered = null;
    this.element.hidden = true;
    this.handlers.closed();
  }
}

function sentParts(sent) {
  const parts = [h('h3', {}, sent.cut ? 'Body, its beginning' : 'Body'), h('pre', { tabindex: 0, 'aria-label': 'Body' }, pretty(sent.body))];
  const attributes = Object.entries(sent.attributes);
  const facts = { Queue: sent.queue, Group: sent.group_id, 'Deduplication id': sent.deduplication_id, Delay: sent.delay ? `${sent.delay} s` : null, Trace: sent.trace_header };
  parts.push(h('h3', {}, 'Sent as'), pairs(facts));
  if (attributes.length > 0) {
    parts.push(h('h3', {}, 'Attributes'), pairs(Object.fromEntries(attributes.map(([name, { value }]) => [name, value]))));
  }
  return parts;
}

/** JSON with line breaks; anything else as it is. */
function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function pairs(facts) {
  const rows = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return h('dl', {}, ...rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, typeof value === 'object' ? JSON.stringify(value) : String(value))]));
}

/** A line of JSON by its level and what it says; anything else as it is. */
function logLine({ at, line }, id) {
  let [level, text] = ['', line];
  try {
    const { level: said, message, ...rest } = JSON.parse(line);
    const { timestamp, target, spans, span: current, ...fields } = rest;
    const own = Object.entries(fields).filter(([, value]) => typeof value !== 'object' && value !== id).map(([name, value]) => `${name}=${value}`);
    if (said) [level, text] = [said, [message, ...own].filter(Boolean).join(' ')];
  } catch {
    // It is text.
  }
  return h('li', { class: level, title: line }, h('b', {}, `${stamp(at)} ${level} `), text);
}
