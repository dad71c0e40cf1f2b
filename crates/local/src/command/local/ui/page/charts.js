// Computes the content of the tiles. Pure.

/** The fields of a sample besides its time. */
export const NUMBERS = ['depth', 'in_flight', 'dead', 'errors', 'outages'];

/** Returns the growth of a rising sum within the last minute, at each sample and at the end of each minute. */
export function perMinute(samples) {
  const steps = [];
  let before = 0;
  for (const { at, errors } of samples) {
    if (errors > before) steps.push([at, errors - before], [at + 60, before - errors]);
    before = errors;
  }
  const end = samples.at(-1)?.at ?? 0;
  let sum = 0;
  const points = [[0, 0]];
  for (const [at, change] of steps.sort((one, other) => one[0] - other[0])) {
    if (at <= end) points.push([at, (sum += change)]);
  }
  return [...points, [end, sum]];
}

/** With an open circuit breaker, a message tries a dependency each minute. */
const BETWEEN_OUTAGES = 120;

/** Returns the times during which a dependency was down, derived from outages. The last one may continue. */
export function outageBands(samples, now) {
  const bands = [];
  let before = 0;
  for (const { at, outages } of samples) {
    if (outages > before) {
      const last = bands.at(-1);
      if (last && at - last[1] <= BETWEEN_OUTAGES) last[1] = at;
      else bands.push([at, at]);
    }
    before = outages;
  }
  const last = bands.at(-1);
  if (last && now - last[1] <= BETWEEN_OUTAGES) last[1] = now;
  return bands;
}

/** Returns the number of dead letters by reason, the most frequent first. */
export function reasons(messages) {
  const counts = new Map();
  for (const message of messages) {
    if (message?.end?.kind !== 'dead' || message.retried_as !== undefined) continue;
    counts.set(message.end.reason, (counts.get(message.end.reason) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** Returns the end of the charts: now, or a while after the last change, so that the curves of a run at rest stay visible. */
export function chartEnd(samples, now) {
  const same = (one, other) => NUMBERS.every((name) => one[name] === other[name]);
  const last = samples.findLastIndex((sample, index) => index > 0 && !same(sample, samples[index - 1]));
  const busy = last < 0 ? now : samples[last].at;
  return Math.max(1, Math.min(now, Math.max(busy + 90, busy * 1.2)));
}

/** Returns the content of each tile. */
export function tiles(store) {
  const { samples, setup } = store;
  const last = samples.at(-1) ?? { depth: 0, in_flight: 0, dead: 0, errors: 0 };
  const curve = (name) => samples.map((sample) => [sample.at, sample[name]]);
  const errors = perMinute(samples);
  return [
    { name: 'Queue depth', kind: 'ink', value: last.depth, note: 'visible or delayed', points: curve('depth') },
    { name: 'In flight', kind: 'running', value: last.in_flight, note: 'running or backing off', points: curve('in_flight') },
    { name: 'Dead letters', kind: 'dead', value: last.dead, note: '', points: curve('dead'), threshold: setup.thresholds.dead, bad: last.dead > 0 },
    { name: 'WorkerErrors', kind: 'failed', value: errors.at(-1)?.[1] ?? 0, note: `in a minute, ${last.errors} in all`, points: errors, threshold: setup.thresholds.errors },
  ];
}

/** Returns the alarms, with short names that leave out a common beginning. */
export function lamps(alarms) {
  const all = [...alarms.values()];
  const first = all[0]?.name ?? '';
  const cut = first.lastIndexOf('-') + 1;
  const common = all.length > 1 && all.every(({ name }) => name.startsWith(first.slice(0, cut))) ? cut : 0;
  return all.map((alarm) => ({ ...alarm, short: alarm.name.slice(common) }));
}
