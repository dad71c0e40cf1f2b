// Shows a dead-letter queue: its last day, its errors, its letters, and their actions.

import { act, edit, receive, snooze, wake } from './dialogs.js';
import { h, say } from './dom.js';
import { detail } from './letter.js';
import { Letters, failedAt, isOf } from './letters.js';
import { List, count } from './list.js';
import { ask } from './server.js';
import { clock, command, curve, expires, histogram, letters as counted, marksOf, nameOf, number, signed, span, times } from './words.js';

const DAY = 86_400;
/** A message of the command that only counts letters, which the page shows already. */
const COUNTED = /^([\d,]+ of )?[\d,]+ letters? in \S+( match)?$/;
/** Most ids in an address that is short enough to share. The browser keeps more for Back and reload. */
const MOST_IDS = 50;
/** Pause without changes before the address changes, in milliseconds: browsers refuse many changes. */
const PAUSE = 100;
/** Matches a condition, which a search for text would not find. */
const CONDITION = /^(body|attribute|reason|error|exception|function|source|id|group|attempts|age|sent)[^\s=!<>~]*\s*(!?[=~]|[<>]=?|\bexists$|\bmissing$)/;
/** Most groups. Nobody reads more. */
const MOST_GROUPS = 200;

export class QueueView {
  constructor(app, arn, query = '') {
    const asked = new URLSearchParams(query);
    [this.app, this.arn, this.title] = [app, arn, nameOf(arn)];
    [this.conditions, this.group, this.open] = [asked.getAll('where'), null, null];
    // Parts of the address about letters that are not received yet.
    this.wanted = {
      source: asked.get('source'),
      error: asked.has('reason') ? { reason: asked.get('reason'), error: asked.get('error') ?? '' } : null,
      ids: new Set(history.state?.selected ?? asked.getAll('id')),
    };
    this.letters = new Letters('/api/letters', { changed: () => this.changed() });
    this.list = new List({ choose: (id, focus) => this.choose(id, focus), checked: () => this.count(true) });
    this.facts = h('dl', { class: 'facts' });
    this.curves = h('div', { class: 'curves' });
    this.chips = h('ul', { class: 'chips', 'aria-label': 'Conditions' });
    this.condition = h('input', { type: 'text', placeholder: 'body.tenant = acme', 'aria-label': 'Add a condition: field, operator, value', autocomplete: 'off', spellcheck: 'false' });
    this.text = h('input', { type: 'search', placeholder: 'Text in error, body, id', 'aria-label': 'Filter letters by text', value: asked.get('text') ?? '', oninput: () => this.filter(), onkeydown: (event) => event.key === 'Enter' && this.addTyped() });
    this.logs = h('input', { type: 'checkbox', checked: asked.has('logs'), onchange: () => this.read() });
    this.source = h('select', { 'aria-label': 'Source queue', hidden: true, onchange: () => this.redraw() });
    this.groups = h('ul', { class: 'groups', 'aria-label': 'Errors' });
    this.warning = h('p', { class: 'verdict', hidden: true });
    this.hint = h('p', { class: 'quiet', hidden: true }, 'No letter has this text. Press Enter in the filter to use it as a condition.');
    this.said = h('ul', { class: 'faults', 'aria-label': 'Notes' });
    this.command = h('div');
    this.counted = h('p', { class: 'sum' });
    this.detail = h('aside', { id: 'detail', 'aria-label': 'Letter', tabindex: -1, hidden: true });
    this.buttons = [
      h('button', { type: 'button', class: 'primary', onclick: () => this.retry() }, 'Retry…'),
      h('button', { type: 'button', onclick: () => this.export() }, 'Export'),
      h('button', { type: 'button', onclick: () => this.delete() }, 'Delete…'),
    ];
    this.uncheck = h('button', { type: 'button', class: 'plain', onclick: () => this.list.uncheck() }, 'Select none');
    const again = h('button', { type: 'button', onclick: () => this.read() }, 'Read again');
    this.snooze = h('button', { type: 'button', onclick: () => (this.app.queue(this.arn).snoozed ? wake : snooze)(this.app, this.app.queue(this.arn)) }, 'Snooze…');
    this.element = h('section', { class: 'queue', 'aria-label': `Queue ${this.title}` },
      h('div', { class: 'bar' }, h('h2', {}, this.title), again, this.snooze),
      this.facts, this.curves,
      h('form', { class: 'bar', onsubmit: (event) => this.add(event) }, this.condition, h('button', { type: 'submit' }, 'Add condition'), this.text, this.source,
        h('label', { class: 'check', title: 'Looks for the errors of letters without a note' }, this.logs, 'read the function’s log')),
      this.chips, this.warning, this.said, this.groups,
      this.hint, h('div', { class: 'bar sticky' }, this.counted, this.uncheck, ...this.buttons),
      h('div', { class: 'split' }, this.list.element, this.detail),
      this.command);
    this.resized = () => this.cover();
    addEventListener('resize', this.resized);
  }

  leave() {
    clearTimeout(this.remembering);
    this.letters.stop();
    this.list.leave();
    removeEventListener('resize', this.resized);
    this.open = null;
    this.cover();
  }

  refreshed() {
    const queue = this.app.queue(this.arn);
    this.snooze.disabled = !queue;
    if (!this.begun) this.begin(queue);
    this.count();
    if (!queue) {
      this.facts.replaceChildren(h('div', {}, h('dt', {}, 'Queue'), h('dd', {}, 'This queue was not read, or is not a dead-letter queue of this page.')));
      return;
    }
    const facts = [
      ['Letters', `${number(queue.letters)} ${queue.growth_per_hour ? `(${signed(queue.growth_per_hour)} in an hour)` : ''}`],
      ['Oldest', queue.oldest_seconds === null ? 'unknown' : span(queue.oldest_seconds)],
      ['First expires', expires(queue.first_letter_expires)],
      ['From', queue.sources.map(nameOf).join(', ')],
      ['Owner', queue.owner],
      ['Snoozed', queue.snoozed && `until ${clock(queue.snoozed.until)} by ${queue.snoozed.user}: ${queue.snoozed.reason}`],
      ['Account', [queue.account, queue.region, queue.profile].filter(Boolean).join(', ')],
    ];
    this.facts.replaceChildren(...facts.filter(([, value]) => value).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
    say(this.snooze, queue.snoozed ? 'Wake' : 'Snooze…');
    if (this.source.options.length === 0 && queue.sources.length > 1) {
      this.source.append(h('option', { value: '' }, 'all sources'), ...queue.sources.map((arn) => h('option', { value: arn }, nameOf(arn))));
      this.source.hidden = false;
      if (queue.sources.includes(this.wanted.source)) this.source.value = this.wanted.source;
    }
    if (!this.curvesRead) this.readCurves();
  }

  async readCurves() {
    this.curvesRead = true;
    try {
      const { visible = [], oldest = [], deployments = [], unknown } = await ask(`/api/queue?arn=${encodeURIComponent(this.arn)}`);
      const marks = marksOf(deployments, DAY);
      const figure = (points, kind, title) => h('figure', {}, h('figcaption', {}, title),
        points.length > 1 ? curve(points, { label: title, kind, width: 560, height: 56, end: DAY, marks }) : h('p', { class: 'quiet' }, 'CloudWatch has too few values for a curve.'));
      this.curves.replaceChildren(
        figure(visible, 'dead', 'Letters in 24 h'),
        figure(oldest, 'failed', 'Age of the oldest letter in 24 h'),
        ...(marks.length > 0 ? [h('p', { class: 'quiet' }, `Deployed: ${marks.map(([ago, text]) => `${text.replace(' deployed', '')}, ${span(ago)} ago`).join('; ')}`)] : []),
        ...unknown.map((text) => h('p', { class: 'quiet' }, text)));
    } catch (error) {
      this.curves.replaceChildren(h('p', { class: 'quiet' }, error.message));
    }
  }

  /** Receives letters immediately, unless SQS may move them for that. */
  begin(queue) {
    this.begun = true;
    if (!queue?.own_max_receive_count) return this.read();
    this.warning.hidden = false;
    this.warning.replaceChildren(`No letter was received: this queue has its own redrive policy, and SQS moves a letter after ${times(queue.own_max_receive_count)}. Each look is a receive. `,
      h('button', { type: 'button', onclick: () => this.read() }, 'Receive the letters…'));
    return null;
  }

  /** Reads the letters. If that may move them, it asks each time. */
  read() {
    const queue = this.app.queue(this.arn);
    if (queue?.own_max_receive_count) receive(this.app, queue, () => this.receive(true));
    else this.receive(false);
  }

  receive(mayMove) {
    this.warning.hidden = true;
    this.received = true;
    this.wanted.error ??= this.picked();
    [this.scanned, this.group, this.drawn] = [0, null, null];
    this.close();
    return this.letters.read({ queue: this.arn, where: this.conditions, logs: this.logs.checked, may_move: mayMove });
  }

  add(event) {
    event.preventDefault();
    const condition = this.condition.value.trim();
    if (!condition) return;
    this.conditions.push(condition);
    this.condition.value = '';
    this.read();
  }

  /** Adds the text as a condition on Enter, if it is one. */
  addTyped() {
    const condition = this.text.value.trim();
    if (!CONDITION.test(condition)) return;
    this.conditions.push(condition);
    this.text.value = '';
    this.read();
  }

  /** Draws new letters, at most once per frame. */
  changed() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      const { said, error, command: text, groups } = this.letters;
      const chip = (condition, index) => h('li', {}, h('code', {}, condition),
        h('button', { type: 'button', class: 'plain', 'aria-label': `Remove ${condition}`, onclick: () => {
          this.conditions.splice(index, 1);
          this.read();
        } }, '✕'));
      this.chips.replaceChildren(...this.conditions.map(chip));
      const notes = [...said.filter((line) => !COUNTED.test(line)).slice(-5), ...(error ? [error] : [])];
      this.said.replaceChildren(...notes.map((line) => h('li', {}, line)));
      if (this.shownCommand !== text) this.command.replaceChildren(...(text ? [command(text)] : []));
      this.shownCommand = text;
      this.restore();
      if (this.drawn !== groups) this.drawGroups(groups);
      if (this.letters.reading === null) this.forgetGone();
      this.filter();
    });
  }

  /** Applies the address's parts about letters while they arrive. */
  restore() {
    const { wanted, letters: { all, groups, ended }, list: { checked } } = this;
    for (; this.scanned < all.length; this.scanned += 1) {
      const letter = all[this.scanned];
      if (wanted.ids.delete(letter.id)) checked.set(letter.id, letter);
    }
    if (ended === null) return;
    if (wanted.error) {
      const at = groups.findIndex(({ reason, error }) => reason === wanted.error.reason && error === wanted.error.error);
      if (at >= 0) this.group = at;
      wanted.error = null;
    }
    if (wanted.ids.size > 0 && ended === 0) {
      this.app.tell(`${counted(wanted.ids.size)} of the selection ${wanted.ids.size === 1 ? 'was' : 'were'} not returned by SQS.`);
      wanted.ids.clear();
    }
  }

  /** Returns the selected error in the form of the address. */
  picked() {
    const { reason, error } = this.letters.groups[this.group] ?? {};
    return reason === undefined ? null : { reason, error };
  }

  /** Writes the state of the view into the address, so that Back, a reload and a link lead here. */
  remember() {
    clearTimeout(this.remembering);
    const [asked, picked] = [new URLSearchParams(), this.picked() ?? this.wanted.error];
    const ids = [...this.list.checked.keys(), ...this.wanted.ids];
    this.conditions.forEach((condition) => asked.append('where', condition));
    const source = this.source.value || this.wanted.source;
    if (source) asked.set('source', source);
    if (this.logs.checked) asked.set('logs', '');
    if (picked) Object.entries(picked).forEach(([name, value]) => asked.set(name, value));
    if (this.text.value) asked.set('text', this.text.value);
    if (ids.length <= MOST_IDS) ids.forEach((id) => asked.append('id', id));
    const query = asked.size > 0 ? `?${asked}` : '';
    history.replaceState({ selected: ids }, '', `#/queue/${encodeURIComponent(this.arn)}${query}`);
  }

  rememberSoon() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => this.remember(), PAUSE);
  }

  drawGroups(groups) {
    this.drawn = groups;
    const { all } = this.letters;
    const shown = groups.map((group, index) => ({ ...group, index, some: group.letters.map((at) => all[at]).filter((letter) => isOf(letter, this.source.value)) })).filter(({ some }) => some.length > 0);
    const most = Math.max(1, ...shown.map(({ some }) => some.length));
    const left = shown.length - MOST_GROUPS;
    this.groups.replaceChildren(...shown.slice(0, MOST_GROUPS).map((group) => {
      const times = group.some.map(failedAt);
      const share = h('meter', { min: 0, max: most, value: times.length, 'aria-hidden': 'true' });
      return h('li', {}, h('button', { type: 'button', 'aria-pressed': String(group.index === this.group), 'data-group': group.index, onclick: () => this.pick(group.index) },
        h('b', {}, number(times.length)), share,
        h('span', { class: 'reason' }, group.reason), h('span', { class: 'error' }, group.error || 'no error is known'),
        histogram(times, `When these ${number(times.length)} failed`)));
    }), ...(left > 0 ? [h('li', { class: 'quiet' }, `${number(left)} more kinds of errors`)] : []));
  }

  /** Handles the choice of another source. */
  redraw() {
    [this.group, this.wanted.source] = [null, null];
    this.drawGroups(this.letters.groups);
    this.filter();
  }

  pick(index) {
    this.group = this.group === index ? null : index;
    this.groups.querySelectorAll('button').forEach((button) => button.setAttribute('aria-pressed', Number(button.dataset.group) === this.group));
    this.filter();
  }

  filter() {
    this.list.show(this.letters.matching(this.source.value, this.group, this.text.value));
    this.count(true);
  }

  count(isOther = false) {
    if (isOther) this.rememberSoon();
    const { checked, rows: { shown } } = this.list;
    const meant = this.meant();
    ['Retry', 'Export', 'Delete'].forEach((verb, at) => say(this.buttons[at], `${verb}${meant}${verb === 'Export' ? '' : '…'}`));
    this.uncheck.hidden = checked.size === 0;
    const { all, reading } = this.letters;
    const queue = this.app.queue(this.arn);
    count(this.counted, { shown: shown.length, all: all.length, checked: checked.size, reading: reading !== null, received: this.received });
    this.hint.hidden = shown.length > 0 || !CONDITION.test(this.text.value.trim());
    const none = !queue || this.selected().length === 0 || reading !== null;
    this.buttons.forEach((button) => (button.disabled = none));
    if (this.obstacle()) this.buttons[0].disabled = true;
    this.buttons[0].title = this.obstacle() ?? '';
  }

  /** Describes the letters of a button. */
  meant() {
    const { checked, rows: { shown } } = this.list;
    const [all, hidden] = [this.letters.all.length, this.list.hidden()];
    if (this.letters.reading !== null || checked.size + shown.length === 0) return '';
    if (checked.size === 0) return shown.length < all ? ` ${number(shown.length)} shown` : all === 1 ? ' 1 letter' : ` all ${number(all)}`;
    const by = hidden === 0 ? '' : ` (${hidden < checked.size ? `${number(hidden)} ` : ''}hidden by the filter)`;
    return ` ${number(checked.size)} selected${by}`;
  }

  /** Returns the reason why letters cannot be sent back now, if any. */
  obstacle() {
    const queue = this.app.queue(this.arn);
    if (!queue) return 'This queue was not read';
    return queue.sources.length > 1 && !this.source.value ? 'Pick the source queue first' : null;
  }

  /** Returns the selected letters, including those that a filter hides, else all that are shown. */
  selected() {
    const { checked, rows: { shown } } = this.list;
    return checked.size > 0 ? [...checked.values()] : shown;
  }

  /** Deselects letters that have left the queue. Those that a condition hides may still be in it. */
  forgetGone() {
    const { checked } = this.list;
    if (checked.size === 0 || this.conditions.length > 0 || this.letters.ended !== 0) return;
    const there = new Map(this.letters.all.map((letter) => [letter.id, letter]));
    const gone = [...checked.keys()].filter((id) => !there.has(id));
    gone.forEach((id) => checked.delete(id));
    checked.forEach((_, id) => checked.set(id, there.get(id)));
    if (gone.length > 0) this.app.tell(`${counted(gone.length)} of your selection ${gone.length === 1 ? 'was' : 'were'} not returned by SQS, and ${gone.length === 1 ? 'is' : 'are'} not selected any more.`);
  }

  choose(id, focus) {
    const letter = this.letters.all.find((letter) => letter.id === id);
    this.open = id;
    this.detail.hidden = false;
    this.detail.replaceChildren(detail(letter, [
      ['Retry…', () => this.retry([letter])],
      ...(letter.is_cut ? [] : [['Edit…', () => this.edit(letter)]]),
      ['Export', () => this.export([letter])],
      ['Delete…', () => this.delete([letter])],
    ], () => this.close()));
    this.detail.scrollTop = 0;
    if (this.cover() || focus) this.detail.focus();
  }

  /** Makes everything else inert if the letter covers it, as on a phone. */
  cover() {
    const covers = this.open !== null && getComputedStyle(this.detail).position === 'fixed';
    const others = [...document.querySelectorAll('.skip, header'), ...this.element.children, this.list.element];
    for (const each of others) each.inert = covers && !each.contains(this.detail);
    return covers;
  }

  close() {
    if (!this.detail || this.open === null) return;
    this.open = null;
    const focused = this.detail.contains(document.activeElement) || document.activeElement === document.body;
    this.detail.hidden = true;
    this.cover();
    if (focused) this.list.element.focus();
  }

  retry(some = this.selected()) {
    if (this.obstacle()) this.app.tell(`${this.obstacle()}.`);
    else act(this.app, 'retry', this.app.queue(this.arn), this.source.value, some, { behind: this.behind(some) });
  }

  edit(letter) {
    if (this.obstacle()) this.app.tell(`${this.obstacle()}.`);
    else edit(this.app, this.app.queue(this.arn), this.source.value, letter);
  }

  delete(some = this.selected()) {
    if (!this.app.queue(this.arn)) this.app.tell(`${this.obstacle()}.`);
    else act(this.app, 'delete', this.app.queue(this.arn), null, some, { isSweeping: this.isSweeping(some) });
  }

  /** Estimates the letters behind those that SQS returns of a FIFO queue: the first ten of each group. */
  behind(some) {
    const { letters, conditions, list: { checked }, arn } = this;
    const isAll = checked.size === 0 && conditions.length === 0 && some.length === letters.all.length;
    return arn.endsWith('.fifo') && isAll ? Math.max(0, this.app.queue(arn).letters - some.length) : 0;
  }

  /** Returns true if the user has not picked each of these letters. */
  isSweeping(some) {
    return some.length > 1 && (this.list.checked.size === 0 || some.length >= this.letters.all.length);
  }

  /** Exports letters as `dlq export` does, except those whose bodies are cut. */
  export(some = this.selected()) {
    const whole = some.filter((letter) => !letter.is_cut);
    const lines = whole.map(({ group, ...letter }) => `${JSON.stringify(letter)}\n`);
    const url = URL.createObjectURL(new Blob(lines, { type: 'application/x-ndjson' }));
    h('a', { href: url, download: `${this.title}.jsonl` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    const left = some.length - whole.length;
    this.app.tell(`${counted(whole.length)} exported${left > 0 ? `; ${counted(left)} are too large for the page, use dlq export` : ''}.`);
  }

  key(key, event) {
    if (key === 'Escape' && this.open !== null) this.close();
    else if (key === 'Escape') {
      this.remember();
      location.hash = '#/';
    }
    else if (key === 'r' && !this.buttons[0].disabled) this.retry();
    else if (['j', 'k', 'ArrowDown', 'ArrowUp'].includes(key)) {
      this.list.element.focus();
      this.list.key(event);
    } else return false;
    return true;
  }
}
