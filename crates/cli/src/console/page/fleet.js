// Shows all dead-letter queues, the most urgent first.

import { h, renew, say } from './dom.js';
import { inQueues } from './errors.js';
import { ask } from './server.js';
import { clock, curve, expires, letters, marksOf, nameOf, number, signed, since, span } from './words.js';

const [DAY, HOUR] = [86_400, 3600];
/** A word with a digit. */
const NUMBER = /[\w#.-]*\d[\w.-]*/g;
/** Number of errors in several queues that are shown. */
const SHARED = 3;
const COLUMNS = ['Letters', 'Last hour', 'Oldest', 'Expires', 'Queue', 'Owner', 'Account'];

/** Formats `failed: card # declined (8 of 10, seen 2 h ago)`. */
function seenWords({ at, letters: all, of, errors: [{ reason, error, letters }] }) {
  return `${reason}${error ? `: ${error}` : ''} (${number(letters)} of ${all < of ? 'a sample of ' : ''}${number(all)}, seen ${span(since(at))} ago)`;
}

export class FleetView {
  constructor(app) {
    this.app = app;
    this.title = 'Queues';
    this.sum = h('p', { class: 'sum' }, 'Reading the queues…');
    this.read = h('span', { class: 'quiet' });
    this.faults = h('ul', { class: 'faults', 'aria-label': 'What could not be read' });
    this.text = h('input', { type: 'search', placeholder: 'Queue, source, owner, account', 'aria-label': 'Filter queues', oninput: () => this.draw() });
    this.empty = h('input', { type: 'checkbox', onchange: () => this.draw() });
    this.body = h('tbody');
    this.heading = h('h3', { hidden: true }, 'Errors that several queues had when their letters were listed last');
    this.shared = h('ul', { class: 'groups wide', 'aria-label': 'Errors in several queues' });
    this.none = h('p', { class: 'quiet', hidden: true });
    const refresh = h('button', { type: 'button', onclick: () => this.refresh() }, 'Refresh');
    this.element = h('section', { 'aria-label': 'Dead-letter queues' },
      h('div', { class: 'bar' }, h('h2', {}, 'Dead-letter queues'), this.sum, this.read, refresh),
      this.faults, this.heading, this.shared,
      h('div', { class: 'bar' }, this.text, h('label', { class: 'check' }, this.empty, 'empty queues')),
      h('table', { class: 'fleet' }, h('thead', {}, h('tr', {}, ...COLUMNS.map((name) => h('th', { scope: 'col' }, name)))), this.body),
      this.none);
    this.clock = setInterval(() => this.age(), 5000);
    // The letters may have been listed since.
    if (app.known) app.refresh();
  }

  leave() {
    clearInterval(this.clock);
  }

  async refresh() {
    await this.app.refresh(true);
    this.app.tell('The queues were read again.');
  }

  refreshed() {
    const { fleet } = this.app.known;
    const full = fleet.queues.filter((queue) => queue.letters > 0);
    const count = full.reduce((sum, queue) => sum + queue.letters, 0);
    const all = `${number(fleet.queues.length)} dead-letter queues${this.isPartial() ? ' that could be read' : ''}`;
    const none = fleet.queues.length === 0 && this.isPartial() ? 'No dead-letter queue could be read.' : `No letters in ${all}.`;
    say(this.sum, count === 0 ? none : `${number(full.length)} of ${all} have ${letters(count)}.`);
    const faults = [
      ...fleet.unreachable.map(({ arn, error }) => `${nameOf(arn)}: ${error}`),
      ...[...fleet.failed, ...fleet.unknown].map(({ place, error }) => `${place}: ${error}`),
    ];
    this.faults.replaceChildren(...faults.map((fault) => h('li', {}, fault)));
    this.age();
    this.draw();
    this.readDeployments();
  }

  /** Reads deployments after the queues. They are missing if that fails. */
  async readDeployments() {
    if (this.app.asking) return;
    this.app.asking = true;
    const deployments = await ask('/api/deployments').catch(() => null);
    this.app.asking = false;
    if (deployments === null || JSON.stringify(deployments) === JSON.stringify(this.app.deployments)) return;
    this.app.deployments = deployments;
    if (this.app.view instanceof FleetView) this.app.view.draw();
  }

  /** Draws the letters of these queues in the last hour, with deployments. */
  curve(arns, count) {
    const minutes = new Map();
    for (const [ago, value] of arns.flatMap((arn) => this.app.known.visible[arn] ?? [])) {
      const minute = Math.round(ago / 60);
      minutes.set(minute, (minutes.get(minute) ?? 0) + value);
    }
    if (minutes.size < 2) return null;
    const marks = marksOf(arns.flatMap((arn) => this.app.deployments[arn] ?? []), HOUR);
    const deployed = marks.map(([ago, text]) => `; ${text} ${span(ago)} ago`).join('');
    return curve([...minutes].map(([minute, value]) => [60 * minute, value]), { label: `Letters in the last hour, now ${number(count)}${deployed}`, end: HOUR, marks });
  }

  /** Shows errors that were last seen in several queues, most letters first. */
  drawShared() {
    const errors = new Map();
    for (const { arn, letters: all, seen } of this.app.known.fleet.queues) {
      for (const { reason, error, letters } of seen?.errors ?? []) {
        const masked = error.replace(NUMBER, '#');
        const key = JSON.stringify([reason, masked]);
        if (!errors.has(key)) errors.set(key, { reason, error, count: 0, letters: 0, queues: new Map(), isEstimate: false });
        const shared = errors.get(key);
        if (shared.error !== error) shared.error = masked;
        // A sample is scaled to all letters.
        const isSample = seen.letters < seen.of;
        const count = isSample ? Math.round((letters * seen.of) / seen.letters) : letters;
        shared.isEstimate ||= isSample;
        shared.count += count;
        if (!shared.queues.has(arn)) shared.letters += all;
        shared.queues.set(arn, (shared.queues.get(arn) ?? 0) + count);
      }
    }
    const shared = [...errors.values()].filter(({ error, queues }) => error && queues.size > 1).sort((a, b) => b.count - a.count).slice(0, SHARED);
    this.heading.hidden = shared.length === 0;
    renew(this.shared, shared.map((error) => inQueues(error, error.count, error.queues, this.curve([...error.queues.keys()], error.letters))));
  }

  isPartial() {
    const { failed, unreachable } = this.app.known.fleet;
    return failed.length + unreachable.length > 0;
  }

  age() {
    const seconds = since(this.app.known?.read_at);
    if (seconds !== null) say(this.read, `Read ${seconds < 5 ? 'now' : `${span(seconds)} ago`}.`);
  }

  draw() {
    if (!this.app.known) return;
    const words = this.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = this.app.known.fleet.queues.filter((queue) => {
      const text = [queue.name, ...queue.sources.map(nameOf), queue.owner, queue.account, queue.region, queue.profile].join(' ').toLowerCase();
      return (queue.letters > 0 || this.empty.checked) && words.every((word) => text.includes(word));
    });
    const focused = document.activeElement?.closest?.('tr')?.dataset.arn;
    this.place(shown.map((queue) => this.row(queue)));
    this.drawShared();
    if (focused) this.body.querySelector(`[data-arn="${focused}"] a`)?.focus();
    this.none.hidden = shown.length > 0;
    say(this.none, words.length > 0 ? 'No queue matches.' : this.isPartial() ? 'Some queues could not be read.' : 'All dead-letter queues are empty.');
  }

  /** Keeps existing rows, with their unchanged cells. */
  place(rows) {
    const arns = new Set(rows.map((row) => row.dataset.arn));
    [...this.body.rows].filter((row) => !arns.has(row.dataset.arn)).forEach((row) => row.remove());
    const kept = new Map([...this.body.rows].map((row) => [row.dataset.arn, row]));
    rows.forEach((row, at) => {
      const old = kept.get(row.dataset.arn);
      if (old) {
        old.className = row.className;
        renew(old, [...row.cells]);
      }
      const placed = old ?? row;
      if (this.body.rows[at] !== placed) this.body.insertBefore(placed, this.body.rows[at] ?? null);
    });
  }

  row(queue) {
    const soon = queue.first_letter_expires && queue.first_letter_expires.latest_in_seconds < DAY;
    const growth = queue.growth_per_hour;
    const snoozed = queue.snoozed;
    const cell = (name, attributes, ...children) => h('td', { 'data-name': name, ...attributes }, ...children);
    return h('tr', { 'data-arn': queue.arn, class: snoozed ? 'snoozed' : null },
      cell('Letters', { class: 'count' }, h('b', {}, number(queue.letters)), growth ? h('small', { class: growth > 0 ? 'grows' : '' }, `${signed(growth)}/h`) : null),
      cell('Last hour', { class: 'line' }, this.curve([queue.arn], queue.letters)),
      cell('Oldest', {}, queue.oldest_seconds === null ? '–' : span(queue.oldest_seconds)),
      cell('Expires', { class: soon ? 'soon' : '' }, expires(queue.first_letter_expires)),
      cell('Queue', { class: 'name' }, h('a', { href: `#/queue/${encodeURIComponent(queue.arn)}` }, queue.name), h('small', {}, `from ${queue.sources.map(nameOf).join(', ')}`),
        snoozed ? h('small', {}, `snoozed until ${clock(snoozed.until)}: ${snoozed.reason}`) : null,
        queue.seen ? h('small', {}, seenWords(queue.seen)) : null),
      cell('Owner', {}, queue.owner ?? '–'),
      cell('Account', {}, queue.account, h('small', {}, [queue.region, queue.profile].filter(Boolean).join(', '))));
  }

  key(key) {
    const links = [...this.body.querySelectorAll('.name a')];
    const at = links.indexOf(document.activeElement);
    const to = { j: at + 1, ArrowDown: at + 1, k: at - 1, ArrowUp: at - 1 }[key];
    if (to === undefined) return false;
    links[Math.min(Math.max(to, 0), links.length - 1)]?.focus();
    return true;
  }
}
