// The tiles: numbers, small charts and the lamps of alarms.

import { chart } from './chart.js';
import { chartEnd, lamps, outageBands, reasons, tiles } from './charts.js';
import { stamp } from './clock.js';
import { $, h, s, say } from './dom.js';
import { draw } from './filter.js';

const [WIDTH, HEIGHT] = [200, 34];
const MOST_REASONS = 4;

const STATES = { OK: 'is OK', ALARM: 'is in ALARM', INSUFFICIENT_DATA: 'has no data' };

export class Tiles {
  constructor({ pick }) {
    this.pick = pick;
    this.made = [];
    this.lamps = h('ul', { class: 'lamps' });
    this.because = h('p', { class: 'because', hidden: true });
    this.alarms = h('div', { class: 'tile alarms' }, h('h2', {}, 'Alarms'), this.lamps, this.because);
    $('tiles').append(this.alarms);
  }

  show(store, now) {
    const end = chartEnd(store.samples, now);
    const bands = outageBands(store.samples, now);
    tiles(store).forEach((tile, index) => this.tile(tile, index, end, bands));
    this.reasons(store);
    this.alarm(store);
  }

  tile({ name, kind, value, note, points, threshold, bad }, index, end, bands) {
    const parts = this.made[index] ?? this.make(name, kind, index);
    say(parts.value, String(value));
    say(parts.note, note ? ` ${note}` : '');
    parts.element.classList.toggle('bad', Boolean(bad));
    const highest = Math.max(0, ...points.map(([, number]) => number));
    const down = bands.map(([from, to]) => `; a dependency was down from ${stamp(from)} to ${stamp(to)}`).join('');
    parts.svg.setAttribute('aria-label', `${name} over time: now ${value}, at most ${highest}${down}`);
    parts.svg.replaceChildren(...chart(points, { width: WIDTH, height: HEIGHT, end, threshold, bands }).map(draw));
  }

  make(name, kind, index) {
    const parts = { value: h('span'), note: h('small') };
    parts.svg = s('svg', { class: `chart ${kind}`, role: 'img', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' });
    parts.extra = h('div', { class: 'reasons' });
    parts.element = h('div', { class: 'tile', 'data-tile': kind }, h('h2', {}, name), h('p', { class: 'value' }, parts.value, parts.note), parts.extra, parts.svg);
    this.made[index] = parts;
    $('tiles').insertBefore(parts.element, this.alarms);
    return parts;
  }

  /** Shows the reasons of dead letters, which a user should look at first. */
  reasons(store) {
    const found = reasons(store.messages.things).slice(0, MOST_REASONS);
    const key = JSON.stringify(found);
    if (this.found === key) return;
    this.found = key;
    const button = ([reason, count]) => h('button', { type: 'button', title: `Show dead letters: ${reason}`, onclick: () => this.pick(reason) }, `${reason} ${count}`);
    this.made[2].extra.replaceChildren(...found.map(button));
  }

  alarm(store) {
    const all = lamps(store.alarms);
    const key = JSON.stringify(all);
    if (this.lit === key) return;
    this.lit = key;
    const lamp = (alarm) => h('li', {}, h('button', {
      type: 'button', class: alarm.state, title: because(alarm), 'aria-label': `Alarm ${because(alarm)}`, onclick: () => this.explain(alarm),
    }, h('i'), h('b', {}, alarm.short)));
    this.lamps.replaceChildren(...all.map(lamp));
    if (all.length === 0) this.lamps.replaceChildren(h('li', { class: 'quiet' }, 'The template has none.'));
  }

  explain(alarm) {
    const text = because(alarm);
    const again = this.because.textContent === text && !this.because.hidden;
    this.because.hidden = again;
    say(this.because, text);
  }
}

/** Describes the meaning of a lamp and its state. */
function because({ name, state, at, reason }) {
  const since = at === null ? '' : ` since ${stamp(at)}`;
  return `${name} ${STATES[state]}${since}${reason ? `: ${reason}` : ''}`;
}
