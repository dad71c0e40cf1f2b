// Computes a message's shapes on a time axis, as a list of [tag, attributes, text] for the page and the picture. Pure.

import { backAt, stateOf } from './message.js';

/** Narrowest gap that shows its seconds, in pixels per character. */
const CHARACTER = 5.8;

const round = (number) => Math.round(number * 10) / 10;

/** Returns a mark by its meaning. The shapes differ, so that they can be read without color. */
export function mark(kind, x, y) {
  const shape = `mark ${kind}`;
  const at = round(x);
  switch (kind) {
    case 'failed': return ['rect', { class: shape, x: at - 2, y: y - 7, width: 4, height: 14, rx: 2 }];
    case 'running': return ['rect', { class: shape, x: at - 3, y: y - 6, width: 6, height: 12, rx: 2 }];
    case 'done': return ['circle', { class: shape, cx: at, cy: y, r: 5 }];
    case 'dead':
    case 'lost':
    case 'retried': return ['path', { class: shape, d: cross(at, y) }];
    case 'released':
    case 'throttled': return ['path', { class: shape, d: `M${at - 4} ${y - 4}h8l-4 8z` }];
    case 'client': return ['rect', { class: shape, x: at - 4, y: y - 4, width: 8, height: 8 }];
    case 'waiting': return ['circle', { class: shape, cx: at, cy: y, r: 3.5 }];
    case 'queued': return ['circle', { class: shape, cx: at, cy: y, r: 2.5 }];
    default: return ['circle', { class: shape, cx: at, cy: y, r: 4 }];
  }
}

/** Returns the bar of an attempt's duration, with the mark at its end. */
function took(kind, from, to, y) {
  const bar = ['rect', { class: `took ${kind}`, x: round(from), y: y - 2, width: round(to - from), height: 4, rx: 2 }];
  return to - from < 3 ? [mark(kind, to, y)] : [bar, mark(kind, to, y)];
}

/** Returns a heavy cross, which stands out among bars and circles even without color. */
function cross(x, y) {
  return `M${x - 6} ${y - 3}l3 -3l3 3l3 -3l3 3l-3 3l3 3l-3 3l-3 -3l-3 3l-3 -3l3 -3z`;
}

const line = (kind, from, to, y) => ['line', { class: kind, x1: round(from), x2: round(to), y1: y, y2: y }];

function gap(kind, from, to, y, seconds) {
  const drawn = [line(kind, from, to, y)];
  const text = [`${seconds} s`, String(seconds)].find((each) => to - from > each.length * CHARACTER + 7);
  if (text) drawn.push(['text', { class: 'label', x: round((from + to) / 2), y: y + 3.5 }, text]);
  return drawn;
}

export function track(message, now, scale, y = 12) {
  const x = (time) => scale.x(message, time);
  const state = stateOf(message, now);
  const until = message.end?.at ?? now;
  const lines = [line('life', x(message.at), x(until), y)];
  const marks = [];
  if (message.delayed_until) {
    const seconds = Math.round(message.delayed_until - message.at);
    lines.push(...gap('gap', x(message.at), x(message.delayed_until), y, seconds));
  }
  message.attempts.forEach((attempt, index) => {
    const ended = attempt.ended ?? now;
    const [from, to] = [x(attempt.at), x(ended)];
    marks.push(...took(attempt.outcome, from, Math.max(from, to), y));
    if (attempt.wait > 0) {
      const next = message.attempts[index + 1]?.at ?? message.end?.at ?? Infinity;
      const back = Math.min(ended + attempt.wait, next);
      lines.push(...gap(back > now ? 'ahead' : 'gap', to + 2, x(back), y, attempt.wait));
      if (back > now) lines.push(line('gap', to + 2, x(now), y));
    }
  });
  if (state === 'waiting') {
    marks.push(mark('waiting', x(backAt(message)), y));
    marks.push(['line', { class: 'now', x1: round(x(now)), x2: round(x(now)), y1: y - 5, y2: y + 5 }]);
  } else if (state === 'queued') {
    marks.push(mark('queued', x(now), y));
  } else if (message.end && !endIsDrawn(message)) {
    marks.push(mark(['dead', 'lost'].includes(message.end.kind) ? message.end.kind : 'gone', x(message.end.at), y));
  }
  return [...lines, ...marks];
}

/** Returns true if the mark of the last attempt is that of the end. */
function endIsDrawn(message) {
  const last = message.attempts.at(-1);
  return last !== undefined && last.outcome === message.end.kind;
}
