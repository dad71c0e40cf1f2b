// Creates a standalone SVG of the view, in light and dark, for an issue, a chat or a README.

import { chart } from './chart.js';
import { chartEnd, lamps, outageBands, tiles } from './charts.js';
import { stamp } from './clock.js';
import { h, s } from './dom.js';
import { draw } from './filter.js';
import { bars, latest } from './invocations.js';
import { backAt, brief, standing, stateOf } from './message.js';
import { ageScale } from './scale.js';
import { track } from './track.js';

/** Width of the picture. A README shows it at about 830 pixels, where its text must stay readable. */
const WIDTH = 980;
const EDGE = 20;
const [BODY, TRACK, END] = [64, 286, 796];
const ROW = 26;
const MOST_ROWS = 40;

const COLORS = ['paper', 'sheet', 'ink', 'soft', 'line', 'grid', 'done', 'failed', 'failed-ink', 'dead', 'running', 'idle', 'running-wash'];

/** Returns the page's colors in a theme, as computed on an element of that theme. */
function colors(theme) {
  const probe = document.body.appendChild(h('span', { hidden: true }));
  probe.style.colorScheme = theme;
  const found = COLORS.map((name) => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/\d+/g).map((part) => Number(part).toString(16).padStart(2, '0'));
    return `--${name}:#${parts.join('')}`;
  });
  probe.remove();
  return found.join(';');
}

const style = () => `svg{${colors('light')};font:14px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums}
@media(prefers-color-scheme:dark){svg{${colors('dark')}}}
text{fill:var(--ink)}.soft,.label,.tick{fill:var(--soft)}.small,.tick{font-size:13px}.tick{text-anchor:middle}.big{font-size:23px;font-weight:600}.strong{font-weight:600}
.paper{fill:var(--paper)}.card{fill:var(--sheet);stroke:var(--line)}.rule{stroke:var(--grid)}
.label{font-size:12px;text-anchor:middle;paint-order:stroke;stroke:var(--sheet);stroke-width:4px}
.life{stroke:var(--line);stroke-width:1.5}.gap,.ahead{stroke:var(--failed);stroke-width:1.25;stroke-dasharray:1.5 3;opacity:.8}.ahead{stroke:var(--idle)}.now{stroke:var(--failed);stroke-width:2}
.took{opacity:.45}.done{fill:var(--done)}.failed{fill:var(--failed)}.waiting{fill:var(--failed-ink)}.dead,.lost{fill:var(--dead)}.running{fill:var(--running)}
.mark.throttled,.mark.released,.mark.client,.mark.gone{fill:var(--sheet);stroke:var(--idle);stroke-width:1.75}.mark.waiting{fill:none;stroke:var(--failed);stroke-width:1.75}.mark.retried{fill:none;stroke:var(--dead);stroke-width:1.75}.mark.running{fill:var(--running-wash);stroke:var(--running);stroke-width:1.75}.mark.queued{fill:var(--idle)}
.chart .area{opacity:.14}.chart .curve{fill:none;stroke-width:1.5}.chart.ink .area{fill:var(--soft)}.chart.ink .curve{stroke:var(--soft)}.chart.running .area{fill:var(--running)}.chart.running .curve{stroke:var(--running)}.chart.dead .area{fill:var(--dead)}.chart.dead .curve{stroke:var(--dead)}.chart.failed .area{fill:var(--failed)}.chart.failed .curve{stroke:var(--failed)}.band{fill:var(--failed);opacity:.18}.threshold{stroke:var(--dead);stroke-dasharray:2 3}
.lamp{fill:none;stroke:var(--done);stroke-width:2}.lamp.ALARM{fill:var(--dead);stroke:var(--dead)}.lamp.INSUFFICIENT_DATA{stroke:var(--idle);stroke-dasharray:2 2}.on{fill:var(--dead);font-weight:600}
.good{fill:var(--done)}.poor{fill:var(--failed)}.trouble{fill:var(--dead)}.spent{fill:var(--idle);opacity:.6}.axis{stroke:var(--line)}.bars text{font-size:12px;fill:var(--soft)}`;

const text = (x, y, kind, ...words) => s('text', { x, y, class: kind }, ...words);
const card = (x, y, width, height) => s('rect', { class: 'card', x, y, width, height, rx: 9 });
const group = (x, y, kind, drawn) => s('g', { transform: `translate(${x} ${y})`, class: kind }, drawn.map(draw));
const shorten = (words, most) => (words.length > most ? `${[...words].slice(0, most - 1).join('')}…` : words);

/** Returns the picture of these messages. */
export function picture(store, messages, clock) {
  const now = clock.now();
  const rows = messages.slice(0, MOST_ROWS);
  const top = 182;
  const below = top + 34 + rows.length * ROW + 8;
  const height = below + 126;
  const flow = store.setup.queues.map(({ name, functions }) => `${name} → ${functions.join(', ')}`).join(' · ');
  const parts = [
    s('style', {}, style()),
    s('rect', { class: 'paper', width: WIDTH, height, rx: 12 }),
    text(EDGE, 34, 'strong', 'redrive local'),
    text(EDGE, 53, 'soft', flow),
    s('text', { x: WIDTH - EDGE, y: 37, class: 'big', 'text-anchor': 'end' }, stamp(now)),
    s('text', { x: WIDTH - EDGE, y: 55, class: 'soft small', 'text-anchor': 'end' }, `simulated · ${Math.round(clock.wall())} s real`),
    ...tileParts(store, now),
    ...alarmParts(store),
    card(EDGE, top, WIDTH - 2 * EDGE, below - top),
    ...rowParts(rows, top, now),
    card(EDGE, below + 10, WIDTH - 2 * EDGE, 104),
    text(EDGE + 12, below + 28, 'soft small', 'Invocations: batch size up, duration down'),
    group(EDGE + 12, below + 36, 'bars', bars(latest(store.invocations, WIDTH - 80), null, WIDTH - 80)),
  ];
  return s('svg', { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: 'img', 'aria-label': `redrive local at ${stamp(now)}: ${rows.length} messages` }, parts);
}

function tileParts(store, now) {
  const [wide, high] = [162, 92];
  const end = chartEnd(store.samples, now);
  const bands = outageBands(store.samples, now);
  return tiles(store).flatMap(({ name, kind, value, points, threshold, bad }, index) => {
    const x = EDGE + index * (wide + 10);
    return [
      card(x, 74, wide, high),
      text(x + 12, 93, 'soft small', name),
      text(x + 12, 119, bad ? 'big dead' : 'big', String(value)),
      group(x + 1, 74 + high - 36, `chart ${kind}`, chart(points, { width: wide - 2, height: 35, end, threshold, bands })),
    ];
  });
}

function alarmParts(store) {
  const x = EDGE + 4 * 172;
  const wide = WIDTH - EDGE - x;
  const all = lamps(store.alarms).slice(0, 8);
  const parts = all.flatMap(({ short, state }, index) => {
    const [left, y] = [x + 16 + (index % 2) * (wide / 2 - 4), 110 + Math.floor(index / 2) * 16];
    const lamp = state === 'ALARM' ? s('path', { class: 'lamp ALARM', d: `M${left} ${y - 9}l5 5l-5 5l-5 -5z` }) : s('circle', { class: `lamp ${state}`, cx: left, cy: y - 4, r: 4.5 });
    return [lamp, text(left + 11, y, `small ${state === 'ALARM' ? 'on' : ''}`, short)];
  });
  return [card(x, 74, wide, 92), text(x + 12, 93, 'soft small', 'Alarms'), ...parts];
}

function rowParts(rows, top, now) {
  const until = (message) => message.end?.at ?? Math.max(now, backAt(message) === Infinity ? now : backAt(message));
  const longest = Math.max(0, ...rows.map((message) => until(message) - message.at));
  const width = END - TRACK - 24;
  const scale = ageScale(longest, width);
  const ticks = scale.ticks.flatMap(({ at, text: words }) => [
    text(TRACK + at, top + 20, 'tick', words),
    s('line', { class: 'rule', x1: TRACK + at, x2: TRACK + at, y1: top + 30, y2: top + 34 + rows.length * ROW }),
  ]);
  const drawn = rows.flatMap((message, index) => {
    const y = top + 34 + index * ROW;
    return [
      s('text', { x: BODY - 10, y: y + 17, class: 'soft small', 'text-anchor': 'end' }, `#${message.number}`),
      text(BODY, y + 17, '', shorten(brief(message.body), 29)),
      group(TRACK, y + 1, 'track', track(message, now, scale)),
      text(END, y + 17, `small ${stateOf(message, now)}`, shorten(standing(message, now), 24)),
    ];
  });
  return [text(EDGE + 14, top + 20, 'soft small', `${rows.length} messages`), text(END, top + 20, 'soft small', 'end'), ...ticks, ...drawn];
}

export function savePicture(store, messages, clock) {
  const file = new Blob([asText(store, messages, clock)], { type: 'image/svg+xml' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = 'redrive-local.svg';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function asText(store, messages, clock) {
  return new XMLSerializer().serializeToString(picture(store, messages, clock));
}
