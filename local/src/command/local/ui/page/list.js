// The rows: only those in view are elements, however many there are.

import { $, h, s, say } from './dom.js';
import { draw } from './filter.js';
import { attempts, brief, standing, stateOf, waits } from './message.js';
import { ageScale, roundRun, timeScale } from './scale.js';
import { track } from './track.js';

/** So many rows above and below the view are kept ready. */
const SPARE = 6;

/** Labels at the ends of the axis stay within it. */
function edge(index, at, ticks, width) {
  if (index === 0) return 'first';
  return index === ticks.length - 1 && at > width - 24 ? 'last' : '';
}

export class List {
  constructor({ choose, moved }) {
    this.view = $('messages');
    this.rows = new Map();
    this.shown = [];
    this.chosen = null;
    this.choose = choose;
    this.moved = moved;
    this.measure();
    new ResizeObserver(() => this.measure()).observe(this.view);
    this.view.addEventListener('scroll', () => this.soon());
    this.view.addEventListener('keydown', (event) => this.key(event));
    this.view.addEventListener('click', (event) => {
      const row = event.target.closest('.row');
      if (row) this.select(Number(row.dataset.number), true);
    });
  }

  /** Another run. */
  forget() {
    this.chosen = null;
    this.rows.forEach(({ element }) => element.remove());
    this.rows.clear();
  }

  measure() {
    this.height = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'));
    this.width = Math.round($('scale').getBoundingClientRect().width);
    this.visible = Math.ceil(this.view.clientHeight / this.height);
    this.stale = true;
    this.soon();
  }

  /** Draws at the next frame. */
  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.now !== undefined) this.draw(this.now);
    });
  }

  show({ shown, longest, until }, axis, now) {
    const last = this.shown.length > 0 && this.view.scrollTop + this.view.clientHeight >= this.shown.length * this.height - 4;
    const grown = shown.length > this.shown.length;
    this.shown = shown;
    this.now = now;
    this.scale = this.scaleOf(axis, longest, until, now);
    $('rows').style.height = `${shown.length * this.height}px`;
    // Whoever looks at the end goes on looking at it.
    if (last && grown && this.view.scrollTop > 0) this.view.scrollTop = shown.length * this.height;
    this.draw(now);
  }

  scaleOf(axis, longest, until, now) {
    if (axis === 'age') return ageScale(longest, this.width);
    if (axis === 'run') return timeScale(0, roundRun(until), this.width);
    const from = Math.max(0, now - Number(axis));
    return timeScale(from, from + Number(axis), this.width);
  }

  draw(now) {
    this.now = now;
    const first = Math.max(0, Math.floor(this.view.scrollTop / this.height) - SPARE);
    const last = Math.min(this.shown.length, first + this.visible + 2 * SPARE);
    const kept = new Set();
    for (let index = first; index < last; index += 1) {
      const message = this.shown[index];
      kept.add(message.number);
      this.row(message, index, now);
    }
    for (const [number, row] of this.rows) {
      if (!kept.has(number)) {
        row.element.remove();
        this.rows.delete(number);
      }
    }
    this.drawScale();
    const empty = $('empty');
    empty.hidden = this.shown.length > 0;
    this.point();
  }

  row(message, index, now) {
    let row = this.rows.get(message.number);
    if (!row) {
      row = this.make(message.number);
      this.rows.set(message.number, row);
      $('rows').append(row.element);
    }
    if (row.index !== index) {
      row.index = index;
      row.element.style.transform = `translateY(${index * this.height}px)`;
      row.element.setAttribute('aria-posinset', index + 1);
    }
    const chosen = this.chosen === message.number;
    if (row.chosen !== chosen) row.element.setAttribute('aria-selected', (row.chosen = chosen));
    const alive = !message.end && row.now !== now;
    if (row.message === message && row.key === this.scale.key && row.of === this.shown.length && !alive) return;
    Object.assign(row, { message, now, key: this.scale.key, of: this.shown.length });
    const [state, text] = [stateOf(message, now), standing(message, now)];
    row.element.setAttribute('aria-setsize', this.shown.length);
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

  point() {
    const row = this.rows.get(this.chosen);
    if (row) this.view.setAttribute('aria-activedescendant', row.element.id);
    else this.view.removeAttribute('aria-activedescendant');
  }

  select(number, open) {
    this.chosen = number;
    const index = this.shown.findIndex((message) => message.number === number);
    if (index >= 0) this.reveal(index);
    this.draw(this.now);
    if (open) this.choose(number, false);
    else this.moved(number);
  }

  reveal(index) {
    const [top, bottom] = [index * this.height, (index + 1) * this.height];
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (bottom > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = bottom - this.view.clientHeight;
  }

  key(event) {
    const index = this.shown.findIndex((message) => message.number === this.chosen);
    const page = Math.max(1, Math.floor(this.view.clientHeight / this.height) - 1);
    const last = this.shown.length - 1;
    const to = {
      ArrowDown: index + 1, ArrowUp: index < 0 ? 0 : index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: last,
    }[event.key];
    if (event.key === 'Enter' && index >= 0) this.choose(this.chosen, true);
    else if (to === undefined || last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    else this.select(this.shown[Math.min(Math.max(to, 0), last)].number, false);
    event.preventDefault();
  }
}
