// Formats numbers, times, commands and curves for people.

import { chart } from './chart.js';
import { h, s } from './dom.js';

export const number = (count) => count.toLocaleString('en');

export const letters = (count) => `${number(count)} letter${count === 1 ? '' : 's'}`;

export const times = (receives) => `${number(receives)} receive${receives === 1 ? '' : 's'}`;

/** Returns the name of a queue from its ARN. */
export const nameOf = (arn) => arn.split(':').at(-1);

/** Formats a time span in its largest unit: 45 s, 12 min, 3 h, 2 d. */
export function span(seconds) {
  for (const [unit, length] of [['d', 86_400], ['h', 3_600], ['min', 60]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

export const since = (time) => (time ? (Date.now() - Date.parse(time)) / 1000 : null);

/** Formats a time in UTC: 2026-11-26 21:56. */
export const clock = (time) => time.replace('T', ' ').slice(0, 16);

/** Describes the expiry of the first letter, as exactly as possible. */
export function expires(range) {
  if (!range) return '–';
  const [from, to] = [range.earliest_in_seconds, range.latest_in_seconds];
  if (from === 0) return to === 0 ? 'now' : `within ${span(to)}`;
  return span(from) === span(to) ? `in ${span(to)}` : `in ${span(from)} to ${span(to)}`;
}

export function signed(count) {
  if (count === null || count === undefined) return '';
  return count > 0 ? `+${number(count)}` : number(count).replace('-', '−');
}

/** Shows a command with a button that copies it. */
export function command(text) {
  const button = h('button', { type: 'button', class: 'plain', onclick: copy }, 'Copy');
  async function copy() {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 1500);
  }
  return h('div', { class: 'command' }, h('code', { tabindex: 0, role: 'region', 'aria-label': 'The command that does the same' }, text), button);
}

/** Returns deployments as marks for a curve over this many seconds. */
export function marksOf(deployments, end) {
  return deployments.map(({ function: name, version, at }) => [since(at?.replace(/\+0000$/, 'Z')), `${name} ${version} deployed`]).filter(([ago]) => ago !== null && ago >= 0 && ago <= end);
}

/** Draws a curve of [seconds ago, value], with marks of [seconds ago, text]. */
export function curve(points, { label, kind = 'dead', width = 120, height = 26, end, marks = [] }) {
  const sorted = points.map(([ago, value]) => [end - ago, value]).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0]);
  const parts = chart(sorted, { width, height, end }).map(([tag, attributes]) => s(tag, attributes));
  const shown = marks.filter(([ago]) => ago <= end).map(([ago, text]) => {
    const x = Math.round((width * (end - ago)) / end);
    return s('g', { class: 'deployed' }, s('line', { x1: x, x2: x, y1: 0, y2: height }), s('title', {}, text));
  });
  return s('svg', { class: `chart ${kind}`, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, ...parts, ...shown);
}

/** Draws a histogram of these times. */
export function histogram(times, label) {
  const [width, height, bins] = [120, 22, 30];
  const known = times.filter(Number.isFinite);
  if (known.length === 0) return null;
  let [first, last] = [Infinity, -Infinity];
  for (const time of known) [first, last] = [Math.min(first, time), Math.max(last, time)];
  const counts = Array(bins).fill(0);
  for (const time of known) counts[Math.min(bins - 1, Math.floor((bins * (time - first)) / Math.max(1, last - first)))] += 1;
  const most = Math.max(...counts);
  const bars = counts.map((count, bin) => {
    const size = count === 0 ? 0 : Math.max(2, Math.round((height * count) / most));
    return s('rect', { x: (bin * width) / bins, y: height - size, width: width / bins - 1, height: size });
  });
  return s('svg', { class: 'histogram', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label }, ...bars);
}
