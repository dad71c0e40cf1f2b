// The form that sends a message.

import { $, ask, h } from './dom.js';

const field = (name, control) => h('label', {}, name, control);

export class Sender {
  constructor({ sent }) {
    this.dialog = $('sending');
    this.sent = sent;
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    $('send').addEventListener('click', () => this.open());
  }

  /** Empty at first, then as it was left; or with what another message was sent with. */
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
    this.body = h('textarea', { rows: 7, spellcheck: 'false' }, body);
    this.group = text(group);
    this.deduplication = text('');
    this.delay = h('input', { type: 'number', min: 0, max: 900, value: delay ?? '' });
    const lines = Object.entries(attributes).filter(([name]) => !name.startsWith('redrive.')).map(([name, { value }]) => `${name}=${value}`);
    this.attributes = h('textarea', { rows: 2, spellcheck: 'false', placeholder: 'name=value, one on each line' }, lines.join('\n'));
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
    const lines = this.attributes.value.split('\n').filter((line) => line.trim() !== '');
    const attributes = lines.map((line) => {
      const cut = line.indexOf('=');
      if (cut < 1) throw new Error(`attributes: expected name=value, not ${line}`);
      return [line.slice(0, cut).trim(), line.slice(cut + 1)];
    });
    return {
      queue: this.queue.value,
      body: this.body.value,
      group_id: this.group.value || null,
      deduplication_id: this.deduplication.value || null,
      delay: this.delay.value === '' ? null : Number(this.delay.value),
      attributes: Object.fromEntries(attributes),
    };
  }
}
