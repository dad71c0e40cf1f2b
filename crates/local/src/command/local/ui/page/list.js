// The messages, as rows.

import { $, h, s, say } from './dom.js';
import { draw } from './filter.js';
import { attempts, brief, standing, stateOf, waits } from './message.js';
import { Rows } from './rows.js';
import { ageScale, roundRun, timeScale } from './scale.js';
import { track } from './track.js';

/** Labels at the ends of the axis stay within it. */
function edge(index, at, ticks, width) {
  if (index === 0) return 'first';
  return index === ticks.length - 1 && at > width - 24 ? 'last' : '';
}

export class List {
  constructor({ choose, moved }) {
    this.view = $('messages');
    this.rows = new Rows(this.view, $('rows'), {
      key: ({ number }) => number,
      make: ({ number }) => this.make(number),
      paint: (row, message) => this.paint(row, message),
      drawn: () => this.scale && this.drawScale(),
    });
    this.choose = choose;
    this.moved = moved;
    this.measure();
    new ResizeObserver(() => this.measure()).observe(this.view);
    this.view.addEventListener('keydown', (event) => this.key(event));
    this.view.addEventListener('click', (event) => {
      const row = event.target.closest('.row');
      if (row) this.select(Number(row.dataset.number), true);
    });
  }

  /** Resets the list for another run. */
  forget() {
    this.rows.chosen = null;
    this.rows.clear();
  }

  measure() {
    this.rows.height = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'));
    this.width = Math.round($('scale').getBoundingClientRect().width);
    if (this.scale) this.rows.soon();
  }

  show({ shown, longest, until }, axis, now) {
    const { height, shown: before } = this.rows;
    const last = before.length > 0 && this.view.scrollTop + this.view.clientHeight >= before.length * height - 4;
    const grown = shown.length > before.length;
    this.rows.shown = shown;
    this.now = now;
    this.scale = this.scaleOf(axis, longest, until, now);
    $('empty').hidden = shown.length > 0;
    $('rows').style.height = `${shown.length * height}px`;
    // A view that shows the end keeps showing it.
    if (last && grown && this.view.scrollTop > 0) this.view.scrollTop = shown.length * height;
    this.rows.draw();
  }

  scaleOf(axis, longest, until, now) {
    if (axis === 'age') return ageScale(longest, this.width);
    if (axis === 'run') return timeScale(0, roundRun(until), this.width);
    const from = Math.max(0, now - Number(axis));
    return timeScale(from, from + Number(axis), this.width);
  }

  paint(row, message) {
    const { now } = this;
    const chosen = this.rows.chosen === message.number;
    if (row.chosen !== chosen) row.element.setAttribute('aria-selected', (row.chosen = chosen));
    const alive = !message.end && row.now !== now;
    if (row.message === message && row.key === this.scale.key && !alive) return;
    Object.assign(row, { message, now, key: this.scale.key });
    const [state, text] = [stateOf(message, now), standing(message, now)];
    row.element.setAttribute('aria-label', this.label(message, text));
    say(row.number, `#${message.number}`);
    say(row.body, brief(message.body));
    say(row.end, text);
    row.end.className = `end ${state}`;
    row.end.title = message.end?.error ?? text;
    const waited = waits(message);
    const title = waited ? `waits: ${waited}` : '';
    if (row.element.title !== title) row.element.title = title;
    row.track.replaceChildren(...track(message, now, this.scale).map(draw));
  }

  label(message, text) {
    const count = attempts(message);
    const tries = count === 1 ? '1 attempt' : `${count} attempts`;
    const waited = waits(message);
    return `Message ${message.number}, ${text}, ${tries}${waited ? `, waits: ${waited}` : ''}${message.group ? `, group ${message.group}` : ''}: ${[...brief(message.body)].slice(0, 60).join('')}`;
  }

  make(number) {
    const parts = { number: h('span', { class: 'number' }), body: h('span', { class: 'body' }), track: s('svg', { class: 'track', 'aria-hidden': 'true' }), end: h('span', { class: 'end' }) };
    const element = h('div', { class: 'row', role: 'option', id: `row-${number}`, 'data-number': number, 'aria-selected': 'false' }, ...Object.values(parts));
    return { element, ...parts, chosen: false };
  }

  drawScale() {
    const key = `${this.scale.key} ${this.view.clientHeight}`;
    if (this.drawn === key) return;
    this.drawn = key;
    const { ticks } = this.scale;
    const text = (tick, index) => s('text', { x: tick.at, y: 18, class: edge(index, tick.at, ticks, this.width) }, tick.text);
    $('scale').replaceChildren(...ticks.map(text));
    const left = $('scale').getBoundingClientRect().left - this.view.getBoundingClientRect().left;
    $('grid').setAttribute('class', 'grid');
    $('grid').replaceChildren(...ticks.map(({ at }) => s('line', { x1: left + at, x2: left + at, y1: 0, y2: this.view.clientHeight })));
  }

  select(number, open) {
    this.rows.chosen = number;
    this.rows.reveal();
    this.rows.draw();
    if (open) this.choose(number, false);
    else this.moved(number);
  }

  key(event) {
    const reached = this.rows.reached(event);
    if (event.key === 'Enter' && this.rows.at() >= 0) this.choose(this.rows.chosen, true);
    else if (!reached) return;
    else this.select(reached.number, false);
    event.preventDefault();
  }
}
