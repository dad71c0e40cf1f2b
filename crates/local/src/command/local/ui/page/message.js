// Computes the state of a message at a moment. Pure.

/** The states, in the order in which the page shows them. */
export const STATES = ['queued', 'running', 'waiting', 'done', 'dead', 'lost', 'retried', 'gone'];

/** Returns the time at which a message can be received again, or for the first time. */
export function backAt(message) {
  const last = message.attempts.at(-1);
  if (last === undefined) return message.delayed_until ?? message.at;
  return last.ended === undefined ? Infinity : last.ended + (last.wait ?? 0);
}

export function stateOf(message, now) {
  if (message.end) {
    if (message.end.kind === 'dead') return message.retried_as === undefined ? 'dead' : 'retried';
    return ['done', 'lost'].includes(message.end.kind) ? message.end.kind : 'gone';
  }
  const back = backAt(message);
  if (back === Infinity) return 'running';
  return back > now ? 'waiting' : 'queued';
}

/** Describes the state of a message in a few words. */
export function standing(message, now) {
  const state = stateOf(message, now);
  const count = attempts(message);
  switch (state) {
    case 'queued': return count === 0 ? 'queued' : `queued again, ${failures(count)}`;
    case 'running': return `running, attempt ${count}`;
    case 'waiting': return `back in ${seconds(backAt(message) - now)}, ${count === 0 ? 'delayed' : failures(count)}`;
    case 'done': return count > 1 ? `done, attempt ${count}` : 'done';
    case 'dead': return `dead: ${message.end.reason}`;
    case 'lost': return 'deleted although it failed';
    case 'retried': return `dead, retried as #${message.retried_as}`;
    default: return message.end.kind === 'expired' ? 'expired' : 'filtered out';
  }
}

const failures = (count) => `failed ${count}×`;

const seconds = (left) => `${Math.max(1, Math.ceil(left))} s`;

/** Returns the latest attempt's number, the receive count. */
export function attempts(message) {
  return message.attempts.at(-1)?.attempt ?? 0;
}

/** Returns the text that a text filter searches. */
export function haystack(message) {
  const { number, id, group, body, queue, origin } = message;
  const parts = [`#${number}`, id, group, body, brief(body), queue, origin];
  const end = message.end ?? {};
  const invocations = message.attempts.map((attempt) => (attempt.invocation ? `inv:${attempt.invocation};` : ''));
  return [...parts, end.reason, end.error, ...invocations].filter(Boolean).join('\n').toLowerCase();
}

/** Returns the seconds of waiting after each attempt, including those without room on the axis. */
export function waits(message) {
  return message.attempts.filter(({ wait }) => wait > 0).map(({ wait }) => `${wait} s`).join(', ');
}

/** Returns the severity of a message's trouble, to sort the worst first. */
export function trouble(message, state) {
  const rank = { lost: 4e6, dead: 3e6, waiting: 2e6, running: 1e6, queued: 1e6, gone: 5e5, retried: 4e5, done: 0 }[state];
  return rank + attempts(message);
}

/** Returns the beginning of a body for a narrow place. JSON loses its quotes and brackets. */
export function brief(body) {
  if (!/^\s*[[{]/.test(body)) return body;
  return body.replace(/["{}[\]\\]/g, '').replace(/([:,])\s*/g, '$1 ');
}
