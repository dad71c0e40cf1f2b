// Shows all details of one message. Its content is always shown as text.

import { span, stamp } from './clock.js';
import { $, ask, h, s, say } from './dom.js';
import { draw } from './filter.js';
import { pretty } from './json.js';
import { standing, stateOf } from './message.js';
import { mark } from './track.js';

/** Most characters of a body that are shown. */
const LONGEST = 1 << 18;

export class Detail {
  constructor({ retried, copy, closed }) {
    this.element = $('detail');
    this.handlers = { retried, copy, closed };
    this.number = null;
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
    });
    addEventListener('resize', () => this.cover());
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
    if (this.cover() || focus) this.element.focus();
  }

  /** On a phone the details cover everything else, which then must not be reachable. */
  cover() {
    const covers = this.open && getComputedStyle(this.element).position === 'fixed';
    for (const each of document.querySelectorAll('.skip, header, main > section, footer')) each.inert = covers;
    return covers;
  }

  build(message) {
    this.verdict = h('p', { class: 'verdict' });
    this.actions = h('div', { class: 'actions' });
    this.attempts = h('tbody');
    this.more = h('div');
    this.logs = h('div');
    this.said = undefined;
    this.told = undefined;
    this.offered = undefined;
    const top = h('div', { class: 'top' },
      h('div', {}, h('h2', {}, `Message #${message.number}`), h('p', { class: 'id' }, message.id)),
      h('button', { type: 'button', class: 'plain', 'aria-label': 'Close', onclick: () => this.close() }, '✕'));
    const table = h('table', {}, h('thead', {}, h('tr', {}, ...['Attempt', 'At', 'Took', 'Then'].map((head) => h('th', { scope: 'col' }, head)))), this.attempts);
    const attempts = h('div', {}, h('h3', {}, 'Attempts'), table);
    this.element.replaceChildren(top, this.verdict, this.actions, this.more, attempts, this.logs);
  }

  /** Updates the view after the message changed or time passed. */
  refresh(message, now, changed) {
    const state = stateOf(message, now);
    this.verdict.className = `verdict ${state}`;
    const error = message.end?.error;
    say(this.verdict, `${standing(message, now)}${error ? `: ${error}` : ''}`);
    if (!changed) return;
    const earlier = message.earlier > 0 && h('tr', {}, h('td', { colspan: 4 }, `The first ${message.earlier} are no longer kept.`));
    this.attempts.replaceChildren(...[earlier, ...message.attempts.map((attempt) => this.attempt(attempt))].filter(Boolean));
    this.offer(message, state);
    this.load(message);
  }

  attempt({ attempt, at, ended, outcome, wait, invocation }) {
    const icon = s('svg', { viewBox: '0 0 16 14', 'aria-hidden': 'true' }, draw(mark(outcome, 8, 7)));
    const then = { running: 'running', done: 'done', dead: 'dead-lettered', throttled: 'throttled', client: 'with a client', released: 'released', failed: 'failed' }[outcome];
    const back = wait === undefined ? '' : `, back ${wait === 0 ? 'at once' : `in ${wait} s`}`;
    return h('tr', { title: invocation ? `invocation ${invocation}` : null },
      h('td', {}, icon, String(attempt)), h('td', {}, stamp(at)), h('td', {}, ended === undefined ? '' : span(ended - at)), h('td', {}, then + back));
  }

  /** Disables copying until the whole value is known. */
  offer(message, state) {
    const key = `${state === 'dead'} ${Boolean(this.said)}`;
    if (this.offered === key) return;
    this.offered = key;
    const retry = h('button', { type: 'button', class: 'primary', onclick: () => this.handlers.retried(message) }, 'Retry this dead letter');
    const copy = h('button', { type: 'button', disabled: !this.said, onclick: () => this.handlers.copy(this.said) }, 'Send a copy…');
    const focused = this.actions.contains(document.activeElement);
    this.actions.replaceChildren(...(state === 'dead' ? [retry, copy] : [copy]));
    // The button that had the focus may be gone.
    if (focused) this.element.focus();
  }

  async load(message) {
    const asked = (this.asked = (this.asked ?? 0) + 1);
    let details;
    try {
      details = await ask(`/message/${encodeURIComponent(message.id)}`);
    } catch (error) {
      details = { problem: error.message, logs: [] };
    }
    // The user has chosen another message since, or this one changed again.
    if (this.asked !== asked || !this.open) return;
    this.said = details.sent;
    this.offer(message, stateOf(message, Infinity));
    this.tell(details);
    this.list(details.logs, message.id);
  }

  /** Rebuilds the details only if they changed, so that a new attempt does not disturb a user who scrolls or selects text. */
  tell({ sent, note, problem }) {
    const key = JSON.stringify([Boolean(sent), note, problem]);
    if (this.told === key) return;
    this.told = key;
    const parts = [];
    if (problem) parts.push(h('p', { class: 'quiet' }, problem));
    if (note) parts.push(h('h3', {}, 'Note on the dead letter'), pairs(note));
    parts.push(...(sent ? sentParts(sent) : [h('p', { class: 'quiet' }, 'Its body is no longer kept.')]));
    this.more.replaceChildren(...parts);
  }

  list(logs, id) {
    const lines = logs.map((line) => logLine(line, id));
    this.logs.replaceChildren(
      h('h3', {}, `Log lines of this message (${lines.length})`),
      lines.length === 0 ? h('p', { class: 'quiet' }, 'None.') : h('ul', { class: 'logs' }, ...lines));
  }

  close() {
    this.forget();
    this.handlers.closed();
  }

  /** Resets the view for another run. */
  forget() {
    this.number = null;
    this.element.hidden = true;
    this.cover();
  }
}

function sentParts(sent) {
  const cut = sent.body.length > LONGEST;
  const body = cut ? `${sent.body.slice(0, LONGEST)}…` : pretty(sent.body);
  const parts = [h('h3', {}, cut ? 'Body (truncated)' : 'Body'), h('pre', { tabindex: 0, 'aria-label': 'Body' }, body)];
  const attributes = Object.entries(sent.attributes);
  const facts = { Queue: sent.queue, Group: sent.group_id, 'Deduplication id': sent.deduplication_id, Delay: sent.delay ? `${sent.delay} s` : null, Trace: sent.trace_header };
  parts.push(h('h3', {}, 'Sent as'), pairs(facts));
  if (attributes.length > 0) {
    parts.push(h('h3', {}, 'Attributes'), pairs(Object.fromEntries(attributes.map(([name, { type, value }]) => [type === 'String' ? name : `${name} (${type})`, value]))));
  }
  return parts;
}

function pairs(facts) {
  const rows = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return h('dl', {}, ...rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, typeof value === 'object' ? JSON.stringify(value) : String(value))]));
}

/** Splits a line of JSON into indentation and content, and returns other text unchanged. */
function logLine({ at, line }, id) {
  let [level, text] = ['', line];
  try {
    const { level: said, message, ...rest } = JSON.parse(line);
    const { timestamp, target, spans, span: current, ...fields } = rest;
    const own = Object.entries(fields).filter(([, value]) => typeof value !== 'object' && value !== id).map(([name, value]) => `${name}=${value}`);
    if (said) [level, text] = [said, [message, ...own].filter(Boolean).join(' ')];
  } catch {
    // The body is plain text.
  }
  return h('li', { class: level, title: line }, h('b', {}, `${stamp(at)} ${level} `), text);
}
