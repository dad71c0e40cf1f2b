// Shows the actions on letters and queues: by this page, and from this machine or by all users who share a table.

import { h } from './dom.js';
import { ask } from './server.js';
import { letters, number } from './words.js';

const RESULTS = { sent: 'sent', not_deleted: 'of them not deleted', deleted: 'deleted', failed: 'failed', perhaps_sent: 'may have been sent' };

export class HistoryView {
  constructor(app) {
    [this.app, this.title] = [app, 'History'];
    this.runs = h('ul', { class: 'runs', 'aria-label': 'Runs of this page' });
    this.body = h('tbody');
    this.where = h('h3', {}, 'From this machine');
    this.none = h('p', { class: 'quiet' }, 'Reading…');
    const heads = ['When (UTC)', 'Who', 'What', 'Queue', 'Result', 'Account'].map((name) => h('th', { scope: 'col' }, name));
    this.element = h('section', { 'aria-label': 'History' },
      h('div', { class: 'bar' }, h('h2', {}, 'History')), this.runs, this.where,
      h('table', { class: 'past' }, h('thead', {}, h('tr', {}, ...heads)), this.body), this.none);
    this.read();
  }

  refreshed() {
    const { runs } = this.app.known;
    this.runs.replaceChildren(...runs.map(({ number: run, verb, name, letters: count, ended }) => h('li', {},
      h('a', { href: `#/runs/${run}` }, `Run ${run}: ${verb} ${letters(count)} of ${name}`),
      ended === null ? ' in progress' : ` ended with exit code ${ended}`)));
  }

  async read() {
    try {
      const { entries, is_off: off, place } = await ask('/api/history');
      const rows = entries.reverse().slice(0, 1000).map((entry) => h('tr', {},
        h('td', {}, entry.at.replace('T', ' ').slice(0, 19)), h('td', {}, entry.user, entry.identity ? h('small', {}, entry.identity.split(':').slice(5).join(':')) : null), h('td', {}, entry.verb),
        h('td', {}, entry.queue, entry.to ? h('small', {}, `to ${entry.to}`) : null),
        h('td', {}, entry.what || Object.entries(RESULTS).filter(([name]) => entry[name]).map(([name, words]) => `${number(entry[name])} ${words}`).join(', ') || (entry.started ? 'started, and its end was not recorded' : 'nothing')),
        h('td', {}, entry.account, h('small', {}, [entry.region, entry.profile].filter(Boolean).join(', ')))));
      this.body.replaceChildren(...rows);
      if (!off) this.where.textContent = `From ${place}`;
      this.none.hidden = rows.length > 0;
      this.none.textContent = off ? 'The history is off: REDRIVE_JOURNAL is off.' : 'Nothing was done yet.';
    } catch (error) {
      this.none.textContent = error.message;
    }
  }
}
