// Shows the errors of all queues together.

import { h, say } from './dom.js';
import { Letters, failedAt } from './letters.js';
import { command, histogram, letters as counted, nameOf, number } from './words.js';

/** Shows an error with the number of its letters in each queue. */
export function inQueues({ reason, error, isEstimate }, count, queues, chart) {
  const names = [...queues.keys()].map(nameOf);
  // Queues with the same name show their accounts.
  const label = (arn) => (names.filter((name) => name === nameOf(arn)).length > 1 ? `${nameOf(arn)} in ${arn.split(':').slice(3, 5).reverse().join(', ')}` : nameOf(arn));
  const links = [...queues].sort((a, b) => b[1] - a[1]);
  const shown = links.slice(0, 8).map(([arn, count]) => h('a', { href: `#/queue/${encodeURIComponent(arn)}`, title: arn }, `${label(arn)} (${number(count)})`));
  return h('li', { class: 'group' }, h('b', {}, `${isEstimate ? '≈ ' : ''}${number(count)}`),
    h('span', { class: 'reason' }, reason), h('span', { class: 'error' }, error || 'no error is known'), chart,
    h('span', { class: 'queues' }, ...shown, links.length > 8 ? h('small', {}, `and ${number(links.length - 8)} queues more`) : null));
}

export class ErrorsView {
  constructor(app) {
    [this.app, this.title] = [app, 'Errors'];
    this.letters = new Letters('/api/errors', { changed: () => this.changed() });
    this.button = h('button', { type: 'button', class: 'primary', onclick: () => this.letters.read({}) }, 'Receive up to ten letters of each queue');
    this.sum = h('p', { class: 'sum', role: 'status' });
    this.said = h('ul', { class: 'faults', 'aria-label': 'Notes' });
    this.groups = h('ul', { class: 'groups wide', 'aria-label': 'Errors' });
    this.command = h('div');
    this.element = h('section', { 'aria-label': 'Errors' },
      h('div', { class: 'bar' }, h('h2', {}, 'Errors across queues'), this.sum),
      h('p', { class: 'quiet' }, 'Shows which errors several queues have in common. The letters become visible again at once; each receive raises their receive count.'),
      h('div', { class: 'bar' }, this.button), this.said, this.groups, this.command);
  }

  leave() {
    this.letters.stop();
  }

  changed() {
    const { all, groups, said, command: text, reading, error } = this.letters;
    this.button.disabled = reading !== null;
    say(this.sum, `${counted(all.length)} received${reading ? ', reading…' : ''}`);
    const notes = [...said.slice(-5), ...(error ? [error] : [])];
    this.said.replaceChildren(...notes.map((line) => h('li', {}, line)));
    this.command.replaceChildren(...(text ? [command(text)] : []));
    this.groups.replaceChildren(...groups.map((group) => {
      const queues = new Map();
      for (const at of group.letters) queues.set(all[at].queue, (queues.get(all[at].queue) ?? 0) + 1);
      return inQueues(group, group.letters.length, queues, histogram(group.letters.map((at) => failedAt(all[at])), 'When these failed'));
    }));
  }
}
