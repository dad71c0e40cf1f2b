// Shows the letters of a queue as rows.

import { h, say } from './dom.js';
import { Rows } from './rows.js';
import { number, since, span } from './words.js';

/** Most characters of a text. A row shows fewer. */
const SHOWN = 400;

export class List {
  constructor({ choose, checked }) {
    this.handlers = { choose, checked };
    /** Selected letters by id. They stay selected while others are shown. */
    this.checked = new Map();
    const inner = h('div', { class: 'rows', role: 'presentation' });
    this.element = h('div', { class: 'viewport', role: 'listbox', tabindex: 0, 'aria-multiselectable': 'true', 'aria-label': 'Letters: Enter opens one, x selects it' }, inner);
    this.rows = new Rows(this.element, inner, { key: ({ id }) => id, make, paint: (row, letter) => this.paint(row, letter) });
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => {
      const row = event.target.closest('.row');
      if (!row) return;
      this.rows.chosen = row.dataset.id;
      if (event.target.closest('.box')) this.toggle(this.rows.chosen, event.shiftKey);
      else this.handlers.choose(this.rows.chosen);
      this.draw();
    });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  leave() {
    this.observer.disconnect();
  }

  show(shown) {
    this.rows.shown = shown;
    this.draw();
  }

  draw() {
    this.rows.height = parseFloat(getComputedStyle(this.element).getPropertyValue('--letter')) || 34;
    this.rows.draw();
  }

  paint({ element }, { id }) {
    element.setAttribute('aria-selected', this.checked.has(id));
    element.classList.toggle('chosen', this.rows.chosen === id);
  }

  /** Toggles a letter. With `asFarAs`, all letters from the last one to this one get the state of the last one. */
  toggle(id, asFarAs = false) {
    const { shown } = this.rows;
    const [at, last] = [id, this.last].map((id) => shown.findIndex((letter) => letter.id === id));
    if (asFarAs && last >= 0) {
      const isChecked = this.checked.has(this.last);
      for (const letter of shown.slice(Math.min(at, last), Math.max(at, last) + 1)) {
        if (isChecked) this.checked.set(letter.id, letter);
        else this.checked.delete(letter.id);
      }
    } else if (!this.checked.delete(id)) this.checked.set(id, shown[at]);
    this.last = id;
    this.handlers.checked();
  }

  uncheck() {
    this.checked.clear();
    this.handlers.checked();
    this.draw();
  }

  /** Counts selected letters that are not shown. */
  hidden() {
    if (this.checked.size === 0) return 0;
    const shown = this.rows.shown.filter(({ id }) => this.checked.has(id));
    return this.checked.size - shown.length;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.rows.shown.length === 0) return;
    const [is, reached] = [this.rows.at() >= 0, this.rows.reached(event)];
    if (event.key === 'Enter' && is) this.handlers.choose(this.rows.chosen, true);
    else if ((event.key === 'x' || event.key === ' ') && is) this.toggle(this.rows.chosen);
    else if (event.key === 'X' && is) this.toggle(this.rows.chosen, true);
    else if (!reached) return;
    else {
      this.rows.chosen = reached.id;
      this.rows.reveal();
    }
    this.draw();
    event.preventDefault();
    event.stopPropagation();
  }
}

function make(letter) {
  const age = since(letter.enqueued_at ?? letter.sent_at);
  const element = h('div', { class: 'row', role: 'option', id: `letter-${letter.id}`, 'data-id': letter.id },
    h('span', { class: 'box', 'aria-hidden': 'true' }),
    h('span', { class: 'reason' }, letter.reason),
    h('span', { class: 'error' }, (letter.error ?? '').slice(0, SHOWN)),
    h('span', { class: 'body' }, letter.body.slice(0, SHOWN)),
    h('span', { class: 'age' }, age === null ? '' : span(age)));
  return { element };
}

/** Formats the count beside the list. */
export function count(element, { shown, all, checked, reading, received }) {
  if (!received) return say(element, 'Not received');
  const of = shown === all ? '' : ` of ${number(all)}`;
  const parts = [`${number(shown)}${of} letter${all === 1 ? '' : 's'}`, checked > 0 ? `${number(checked)} selected` : '', reading ? 'reading…' : ''];
  return say(element, parts.filter(Boolean).join(', '));
}
