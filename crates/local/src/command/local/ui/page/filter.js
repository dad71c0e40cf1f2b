// Selects and sorts the messages that are shown. Pure except for the controls at the end.

import { Bodies, wordsOf } from './bodies.js';
import { $, h, s, say } from './dom.js';
import { STATES, stateOf, trouble } from './message.js';
import { mark } from './track.js';

const NAMES = { gone: 'Gone', queued: 'Queued', running: 'Running', waiting: 'Waiting', done: 'Done', dead: 'Dead', lost: 'Lost', retried: 'Retried' };

/** Most groups in the list. With more, the text filter must do. */
const MOST_GROUPS = 200;

/**
 * Returns the messages that pass a filter, their number in each state, the longest life, and the end of the last one.
 */
export function select(messages, filter, now) {
  const counts = Object.fromEntries(STATES.map((state) => [state, 0]));
  const shown = [];
  const groups = new Map();
  let [longest, until] = [0, 0];
  const words = wordsOf(filter.text);
  for (const message of messages) {
    if (message === undefined) continue;
    const state = stateOf(message, now);
    if (message.group) groups.set(message.group, (groups.get(message.group) ?? 0) + 1);
    const fits = words.every((word) => message.text.includes(word) || filter.bodies.say(word, message)) && (!filter.group || message.group === filter.group);
    if (!fits) continue;
    counts[state] += 1;
    if (filter.states.size > 0 && !filter.states.has(state)) continue;
    const last = message.attempts.at(-1);
    const end = message.end?.at ?? Math.max(now, (last?.ended ?? now) + (last?.wait ?? 0));
    longest = Math.max(longest, end - message.at);
    until = Math.max(until, end);
    shown.push(filter.order === 'trouble' ? { message, rank: trouble(message, state) } : message);
  }
  if (filter.order === 'latest') shown.reverse();
  const sorted = filter.order === 'trouble'
    ? shown.sort((a, b) => b.rank - a.rank || a.message.number - b.message.number).map(({ message }) => message)
    : shown;
  return { shown: sorted, counts, groups, longest, until };
}

/** The filter's controls. */
export class Filter {
  constructor(changed) {
    this.text = '';
    this.group = '';
    this.states = new Set();
    this.order = 'sent';
    this.axis = 'age';
    this.changed = changed;
    this.bodies = new Bodies(changed);
    this.buttons = new Map();
    $('filters').addEventListener('submit', (event) => event.preventDefault());
    $('text').addEventListener('input', () => this.set({ text: $('text').value }));
    $('order').addEventListener('change', () => this.set({ order: $('order').value }));
    $('axis').addEventListener('change', () => this.set({ axis: $('axis').value }));
    $('groups').querySelector('select').addEventListener('change', (event) => this.set({ group: event.target.value }));
    // A browser that goes back has kept the input.
    Object.assign(this, { text: $('text').value, order: $('order').value, axis: $('axis').value });
  }

  set(values) {
    Object.assign(this, values);
    if ($('text').value !== this.text) $('text').value = this.text;
    this.changed();
  }

  /** Resets the filter, because another run has other messages and groups. */
  forget() {
    this.group = '';
    this.bodies.forget();
  }

  toggle(state) {
    if (!this.states.delete(state)) this.states.add(state);
    this.changed();
  }

  only(state, text) {
    this.states = new Set([state]);
    this.set({ text });
  }

  show({ counts, groups }) {
    for (const state of STATES) {
      const button = this.buttons.get(state) ?? this.button(state);
      const optional = ['gone', 'lost', 'retried'].includes(state);
      button.hidden = optional && counts[state] === 0 && !this.states.has(state);
      button.setAttribute('aria-pressed', this.states.has(state));
      say(button.querySelector('em'), String(counts[state]));
    }
    this.showGroups(groups);
  }

  button(state) {
    const icon = s('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, draw(mark(state, 8, 8)));
    const button = h('button', { type: 'button', 'data-state': state, onclick: () => this.toggle(state) }, icon, `${NAMES[state]} `, h('em'));
    $('outcomes').append(button);
    this.buttons.set(state, button);
    return button;
  }

  showGroups(groups) {
    const choice = $('groups').querySelector('select');
    const names = [...groups.keys()].slice(0, MOST_GROUPS).sort();
    $('groups').hidden = names.length === 0;
    const key = names.join('\n');
    if (this.named === key || document.activeElement === choice) return;
    this.named = key;
    const option = (value, text) => h('option', { value, selected: value === this.group }, text);
    choice.replaceChildren(option('', 'all'), ...names.map((name) => option(name, name)));
  }
}

/** Makes an element of what `track` and `mark` describe. */
export function draw([tag, attributes, text]) {
  return s(tag, attributes, text);
}
