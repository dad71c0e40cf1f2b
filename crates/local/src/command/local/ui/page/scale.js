// Converts time to positions. Pure.

const AGES = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 345600, 604800, 1209600];
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800];

/** Least space between labels, in pixels. */
const APART = 38;

/** Space at both ends, in pixels, so that marks are not cut. */
export const MARGIN = 9;

/** Returns the end of an axis that must show this age. */
export function roundAge(age) {
  return AGES.find((end) => end >= Math.max(age, 10)) ?? age;
}

/**
 * Returns the axis on which each message begins at its own sending. Doubling waits have equal distances, so that ten
 * attempts remain distinct although the last wait was eight minutes and the first two seconds.
 */
export function ageScale(longest, width) {
  const end = roundAge(longest);
  const room = Math.max(1, width - 2 * MARGIN);
  const place = (age) => MARGIN + room * Math.log1p(Math.max(0, age)) / Math.log1p(end);
  const ticks = [{ at: MARGIN, text: '0' }];
  for (const age of AGES.filter((each) => each < end)) {
    const at = place(age);
    // The label of the end is left of it.
    if (at - ticks.at(-1).at > APART && place(end) - at > 1.7 * APART) ticks.push({ at, text: short(age) });
  }
  ticks.push({ at: place(end), text: short(end) });
  return { kind: 'age', ticks, key: `age ${end} ${width}`, x: (message, time) => place(time - message.at) };
}

/** Returns the axis that all messages share, from one moment to another. */
export function timeScale(from, to, width) {
  const room = Math.max(1, width - 2 * MARGIN);
  const place = (time) => MARGIN + room * (time - from) / Math.max(to - from, 1e-9);
  const fit = Math.max(2, Math.floor(room / 80));
  const step = STEPS.find((each) => (to - from) / each <= fit) ?? 604800;
  const ticks = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    ticks.push({ at: place(time), text: clockText(time) });
  }
  return { kind: 'time', ticks, key: `time ${from} ${to} ${width}`, x: (_, time) => place(time) };
}

/** Returns the end of the axis of a whole run, in steps, so that it does not move at every moment. */
export function roundRun(now) {
  const step = STEPS.find((each) => now / each <= 12) ?? 86400;
  return Math.max(10, Math.ceil(now / step + 1e-9) * step);
}

function short(age) {
  if (age < 60) return `${age} s`;
  if (age < 3600) return `${age / 60} min`;
  return age < 86400 ? `${age / 3600} h` : `${age / 86400} d`;
}

function clockText(time) {
  const two = (number) => String(number).padStart(2, '0');
  return `${Math.floor(time / 3600)}:${two(Math.floor(time / 60) % 60)}:${two(Math.floor(time) % 60)}`;
}
