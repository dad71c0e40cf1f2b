// Draws invocations as bars, the latest on the right: messages up, time down.

import { span, stamp } from './clock.js';
import { $, h, s, say } from './dom.js';
import { draw } from './filter.js';

const [UP, DOWN, LEFT] = [44, 20, 58];

/** Returns the width of a bar with its space. Fewer bars are wider. */
const [NARROW, WIDE] = [9, 18];

function pitch(count, width) {
  return Math.max(NARROW, Math.min(WIDE, Math.floor((width - LEFT) / Math.max(1, count))));
}

/** Returns the start of the first bar, which is at the left until there is no room left. */
const begin = (count, width) => Math.min(LEFT, width - count * pitch(count, width));

/** Computes what to draw of these invocations. Pure. */
export function bars(invocations, chosen, width) {
  const most = Math.max(1, ...invocations.map(({ messages }) => messages));
  const slowest = Math.max(100, ...invocations.map(({ duration_ms: ms }) => ms ?? 0));
  // A batch of two seconds and one of two milliseconds must both be visible.
  const depth = (ms) => Math.max(1, DOWN * Math.log1p(ms) / Math.log1p(slowest));
  const wide = pitch(invocations.length, width);
  const left = begin(invocations.length, width);
  const drawn = [
    ['line', { class: 'axis', x1: LEFT, x2: width, y1: UP + 5.5, y2: UP + 5.5 }],
    ['text', { x: 0, y: 12 }, `${most} ${most === 1 ? 'message' : 'msgs'}`],
    ['text', { x: 0, y: UP + DOWN + 6 }, span(slowest / 1000)],
  ];
  invocations.forEach((invocation, index) => {
    const x = left + index * wide;
    const { messages, failed, duration_ms: ms, trouble } = invocation;
    const height = (count) => Math.max(count > 0 ? 3 : 0, UP * count / most);
    const [bad, all] = [height(failed), height(messages)];
    const poor = trouble ? 'trouble' : 'poor';
    if (ms === undefined) {
      drawn.push(['rect', { class: 'running', x, y: UP + 5 - all, width: wide - 2, height: all, rx: 1.5 }]);
    } else {
      drawn.push(['rect', { class: 'good', x, y: UP + 5 - all, width: wide - 2, height: Math.max(0, all - bad), rx: 1.5 }]);
      drawn.push(['rect', { class: poor, x, y: UP + 5 - bad, width: wide - 2, height: bad, rx: 1.5 }]);
      drawn.push(['rect', { class: 'spent', x, y: UP + 6, width: wide - 2, height: depth(ms), rx: 1.5 }]);
    }
    if (invocation.number === chosen) {
      drawn.push(['rect', { class: 'chosen', x: x - 1.5, y: 1, width: wide + 1, height: UP + DOWN + 7, rx: 3 }]);
    }
  });
  return drawn;
}

/** Returns the latest invocations that fit. */
export function latest(shelf, width) {
  const room = Math.max(1, Math.floor((width - LEFT) / NARROW));
  return shelf.things.filter(Boolean).slice(-room);
}

export function describe({ number, function: name, at, messages, failed, duration_ms: ms, trouble }) {
  const count = `${messages} message${messages === 1 ? '' : 's'}${failed ? `, ${failed} failed` : ''}`;
  const time = ms === undefined ? 'running' : span(ms / 1000);
  return `Invocation ${number} of ${name || '?'} at ${stamp(at)}: ${count}, ${time}${trouble ? `, ${trouble}` : ''}`;
}

export class Invocations {
  constructor({ pick }) {
    this.chosen = null;
    this.text = h('span');
    this.button = h('button', { type: 'button', hidden: true, onclick: () => pick(this.chosen) }, 'Its messages');
    this.count = h('span');
    this.svg = s('svg', { tabindex: 0, role: 'slider', 'aria-label': 'Invocations, choose with the arrow keys' });
    $('invocations').append(h('div', { class: 'bars' }, h('h2', {}, 'Invocations: batch size up, duration down ', this.count), h('span', { class: 'reading' }, this.text, this.button), this.svg));
    this.svg.addEventListener('click', (event) => this.point(event));
    this.svg.addEventListener('keydown', (event) => this.key(event, pick));
  }

  show(store) {
    const width = Math.round(this.svg.getBoundingClientRect().width);
    this.shelf = store.invocations;
    this.shown = latest(this.shelf, width);
    const total = this.shelf.first + this.shelf.things.length - 1;
    say(this.count, total > this.shown.length ? `(the latest ${this.shown.length} of ${total})` : '');
    this.svg.replaceChildren(...bars(this.shown, this.chosen, width).map(draw));
    const one = this.shelf.get(this.chosen);
    const text = one ? describe(one) : '';
    say(this.text, text);
    this.button.hidden = !one;
    const numbers = this.shown.map(({ number }) => number);
    this.svg.setAttribute('aria-valuemin', numbers[0] ?? 0);
    this.svg.setAttribute('aria-valuemax', numbers.at(-1) ?? 0);
    this.svg.setAttribute('aria-valuenow', this.chosen ?? numbers.at(-1) ?? 0);
    this.svg.setAttribute('aria-valuetext', text || 'none chosen');
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const [count, width] = [this.shown.length, Math.round(box.width)];
    const index = Math.floor((event.clientX - box.left - begin(count, width)) / pitch(count, width));
    this.choose(this.shown[index]?.number ?? null);
  }

  key(event, pick) {
    const index = this.shown.findIndex(({ number }) => number === this.chosen);
    const last = this.shown.length - 1;
    const to = { ArrowLeft: index < 0 ? last : index - 1, ArrowRight: index < 0 ? last : index + 1, Home: 0, End: last }[event.key];
    if (event.key === 'Enter' && index >= 0) pick(this.chosen);
    else if (to === undefined || last < 0) return;
    else this.choose(this.shown[Math.min(Math.max(to, 0), last)].number);
    event.preventDefault();
  }

  choose(number) {
    this.chosen = number;
    this.show({ invocations: this.shelf });
  }
}
