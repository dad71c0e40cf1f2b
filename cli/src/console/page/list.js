// Letters as rows: only those in view are elements, however many there are.

import { h, say } from './dom.js';
import { number, since, span } from './words.js';

/** So many rows above and below the view are kept ready. */
const SPARE = 8;
/** Of a text, more than a row shows. */
const SHOWN = 400;

export class List {
  constructor({ choose, checked }) {
    this.handlers = { choose, checked };
    this.rows = new Map();
    this.shown = [];
    this.chosen = null;
    this.checked = new Set();
    this.inner = h('div', { class: 'rows', role: 'presentation' });
    this.element = h('div', { class: 'viewport', role: 'listbox', tabindex: 0, 'aria-multiselectable': 'true', 'aria-label': 'Letters: Enter opens one, x selects it' }, this.inner);
    this.element.addEventListener('scroll', () => this.soon());
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => {
      const row = event.target.closest('.row');
      if (!row) return;
      this.chosen = row.dataset.id;
      if (event.target.closest('.box')) this.toggle(this.chosen);
      else this.handlers.choose(this.chosen);
      this.draw();
    });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  leave() {
    this.observer.disconnect();
  }

  show(shown) {
    this.shown = shown;
    const ids = new Set(shown.map(({ id }) => id));
    this.checked = new Set([...this.checked].filter((id) => ids.has(id)));
    this.draw();
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const height = parseFloat(getComputedStyle(this.element).getPropertyValue('--letter')) || 34;
    this.height = height;
    this.inner.style.height = `${this.shown.length * height}px`;
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - SPARE);
    const last = Math.min(this.shown.length, first + Math.ceil(this.element.clientHeight / height) + 2 * SPARE);
    const kept = new Set();
    for (let index = first; index < last; index += 1) {
      const letter = this.shown[index];
      kept.add(letter.id);
      const row = this.rows.get(letter.id) ?? this.make(letter);
      row.style.transform = `translateY(${index * height}px)`;
      row.setAttribute('aria-posinset', index + 1);
      row.setAttribute('aria-setsize', this.shown.length);
      row.setAttribute('aria-selected', this.checked.has(letter.id));
      row.classList.toggle('chosen', this.chosen === letter.id);
    }
    for (const [id, row] of this.rows) {
      if (kept.has(id)) continue;
      row.remove();
      this.rows.delete(id);
    }
    if (this.rows.has(this.chosen)) this.element.setAttribute('aria-activedescendant', this.rows.get(this.chosen).id);
    else this.element.removeAttribute('aria-activedescendant');
  }

  make(letter) {
    const age = since(letter.enqueued_at ?? letter.sent_at);
    const row = h('div', { class: 'row', role: 'option', id: `letter-${letter.id}`, 'data-id': letter.id },
      h('span', { class: 'box', 'aria-hidden': 'true' }),
      h('span', { class: 'reason' }, letter.reason),
      h('span', { class: 'error' }, (letter.error ?? '').slice(0, SHOWN)),
      h('span', { class: 'body' }, letter.body.slice(0, SHOWN)),
      h('span', { class: 'age' }, age === null ? '' : span(age)));
    this.rows.set(letter.id, row);
    this.inner.append(row);
    return row;
  }

  toggle(id) {
    if (!this.checked.delete(id)) this.checked.add(id);
    this.handlers.checked();
  }

  move(to) {
    const index = Math.min(Math.max(to, 0), this.shown.length - 1);
    this.chosen = this.shown[index].id;
    const [top, bottom] = [index * this.height, (index + 1) * this.height];
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (bottom > this.element.scrollTop + this.element.clientHeight) this.element.scrollTop = bottom - this.element.clientHeight;
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.shown.length === 0) return;
    const at = this.shown.findIndex(({ id }) => id === this.chosen);
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.shown.length - 1 }[event.key];
    if (event.key === 'Enter' && at >= 0) this.handlers.choose(this.chosen, true);
    else if ((event.key === 'x' || event.key === ' ') && at >= 0) this.toggle(this.chosen);
    else if (to === undefined) return;
    else this.move(to);
    this.draw();
    event.preventDefault();
    event.stopPropagation();
  }
}

/** How many there are, to be said beside the list. */
export function count(element, { shown, all, checked, reading }) {
  const of = shown === all ? '' : ` of ${number(all)}`;
  const parts = [`${number(shown)}${of} letter${all === 1 ? '' : 's'}`, checked > 0 ? `${number(checked)} selected` : '', reading ? 'reading…' : ''];
  say(element, parts.filter(Boolean).join(', '));
}
