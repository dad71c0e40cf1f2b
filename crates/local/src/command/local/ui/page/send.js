// The form that sends a message.

import { fromLines, toLines } from './attributes.js';
import { $, ask, h } from './dom.js';

/** Keeps the text as it is, including invisible characters. */
const area = (value, more) => Object.assign(h('textarea', { spellcheck: 'false', ...more }), { value });

const field = (name, control) => h('label', {}, name, control);

export class Sender {
  constructor({ sent }) {
    this.dialog = $('sending');
    this.sent = sent;
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    $('send').addEventListener('click', () => this.open());
  }

  /** Opens the form empty, or as it was left, or with the content of another message. */
  open(copy) {
    if (!this.form || copy) this.build(copy ?? {});
    this.problem.hidden = true;
    this.dialog.showModal();
    this.body.focus();
  }

  setup({ queues }) {
    this.queues = queues;
    this.form = null;
  }

  build({ queue, body = '{"order_id": "A-1"}', group_id: group = '', delay, attributes = {} }) {
    const text = (value, more) => h('input', { type: 'text', value, autocomplete: 'off', ...more });
    this.queue = h('select', {}, ...this.queues.map(({ name }) => h('option', { value: name, selected: name === queue }, name)));
    this.body = area(body, { rows: 7 });
    // Browsers convert all line breaks to one kind.
    [this.given, this.shown] = [body, this.body.value];
    this.group = text(group);
    this.deduplication = text('');
    this.delay = h('input', { type: 'number', min: 0, max: 900, value: delay ?? '' });
    this.attributes = area(toLines(attributes), { rows: 2, placeholder: 'name=value or name:Number=value, one on each line' });
    this.form = h('form', { onsubmit: (event) => this.submit(event) },
      h('h2', { id: 'sending-title' }, 'Send a message'),
      field('Queue', this.queue),
      field('Body', this.body),
      h('div', { class: 'pair' }, field('Group id', this.group), field('Delay in seconds', this.delay)),
      field('Deduplication id (FIFO)', this.deduplication),
      field('Attributes', this.attributes),
      this.problem,
      h('div', { class: 'actions' },
        h('button', { type: 'button', onclick: () => this.dialog.close() }, 'Cancel'),
        h('button', { type: 'submit', class: 'primary' }, 'Send')));
    this.dialog.replaceChildren(this.form);
  }

  async submit(event) {
    event.preventDefault();
    try {
      const { id } = await ask('/messages', this.message());
      this.dialog.close();
      this.sent(id);
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    }
  }

  message() {
    return {
      queue: this.queue.value,
      body: this.body.value === this.shown ? this.given : this.body.value,
      group_id: this.group.value || null,
      deduplication_id: this.deduplication.value || null,
      delay: this.delay.value === '' ? null : Number(this.delay.value),
      attributes: fromLines(this.attributes.value),
    };
  }
}
