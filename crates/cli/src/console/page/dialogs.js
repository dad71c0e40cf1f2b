// Asks before changes, and shows the command for each.

import { $, h } from './dom.js';
import { isOwn } from './letter.js';
import { ask } from './server.js';
import { command, letters, nameOf, number, times } from './words.js';

/** Pause in typing after which the command is shown, in milliseconds. */
const PAUSE = 150;

const WORDS = {
  retry: {
    title: (count, queue) => `Retry ${letters(count)} of ${queue}`,
    warning: 'The letters get new attempts. A handler that charges must use Message::key(), or it may charge twice.',
    button: 'Retry',
  },
  edit: {
    title: (_, queue) => `Edit a letter of ${queue}, and send it back`,
    warning: 'The changed letter is sent to the source queue, and deleted here.',
    button: 'Send',
  },
  delete: {
    title: (count, queue) => `Delete ${letters(count)} of ${queue}`,
    warning: 'This cannot be undone.',
    button: 'Delete',
  },
};

const field = (name, control, hint) => h('label', {}, name, control, hint ? h('small', {}, hint) : null);

const input = (value, more) => h('input', { type: 'text', value, autocomplete: 'off', spellcheck: 'false', ...more });

/** Returns a line for problems, and the handler of a button, which is disabled while it works. */
function guarded(work) {
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const fail = (error) => {
    problem.textContent = error.message;
    problem.hidden = false;
  };
  const submit = async (event) => {
    event.preventDefault();
    const button = event.target.querySelector('[type="submit"]');
    button.disabled = true;
    try {
      await work();
      // The user may have closed it and opened another one.
      if (event.target.isConnected) $('dialog').close();
    } catch (error) {
      fail(error);
      button.disabled = false;
    }
  };
  return { problem, fail, submit };
}

/**
 * Asks before an action on letters. If `isSweeping`, the user has not picked each letter, and must type their number before a
 * delete. `behind` counts letters of the queue that SQS does not return yet.
 */
export function act(app, verb, queue, source, some, { isSweeping = false, behind = 0 } = {}) {
  const what = { source: source || null, ids: some.map(({ id }) => id) };
  if (verb !== 'delete') {
    const all = h('input', { type: 'checkbox' });
    const also = () => (all.checked ? { ids: [], all: true } : {});
    const fields = behind > 0 ? [h('label', { class: 'check' }, all, `Also about ${number(behind)} letters behind these in their groups`)] : [];
    return question(app, verb, queue, what, fields, { also });
  }
  const { exports } = app.known;
  const first = h('input', { type: 'checkbox', checked: exports !== null, disabled: exports === null });
  const typed = input('', { name: 'count', inputmode: 'numeric', placeholder: String(some.length) });
  const fields = [
    h('label', { class: 'check' }, first, exports === null ? 'Export first: there is no folder for it' : `Export first, to a file in ${exports}`),
    ...(isSweeping ? [field(`Type ${number(some.length)} to delete all of them.`, typed)] : []),
  ];
  const check = () => {
    if (isSweeping && typed.value.replace(/\D/g, '') !== String(some.length)) throw new Error(`Type ${number(some.length)}, the number of letters.`);
  };
  return question(app, verb, queue, what, fields, { check, also: () => ({ export: first.checked }) });
}

/** Edited texts that are not sent yet, or could not be sent, by the ids of letters. */
const drafts = new Map();

/**
 * Edits the body as it is, and the attributes as in the command's editor. A text area has one kind of line break and control
 * characters in plain, so an unchanged body is sent as it was, and a changed one keeps its line breaks.
 */
export function edit(app, queue, source, letter) {
  const isJson = isObject(letter.body);
  const body = area(letter.body, 12);
  const own = Object.entries(letter.attributes ?? {}).filter(([name]) => !isOwn(name));
  const attributes = Object.fromEntries(own.map(([name, value]) => [name, typeof value === 'string' ? { type: 'String', value } : value]));
  const typed = area(JSON.stringify(attributes, null, 2), 4);
  const shown = [body.value, typed.value];
  const text = () => {
    if (body.value === shown[0]) return letter.body;
    if (!letter.body.includes('\r')) return body.value;
    if (/\r(?!\n)|(?<!\r)\n/.test(letter.body)) throw new Error('The body has several kinds of line breaks: use redrive dlq retry --edit.');
    return body.value.replaceAll('\n', '\r\n');
  };
  const document = () => {
    if (isJson) parsed('Body', body.value);
    parsed('Attributes', typed.value.trim() || '{}');
    return `{"text":${JSON.stringify(text())},"attributes":${typed.value.trim() || '{}'}}`;
  };
  const draft = drafts.get(letter.id);
  if (draft) [body.value, typed.value] = draft;
  const fields = [
    ...(draft ? [h('p', { class: 'quiet' }, 'These are your last changes, which were not sent.')] : []),
    field('Body', body), field('Attributes', typed),
  ];
  const isChanged = () => body.value !== shown[0] || typed.value !== shown[1];
  const changes = () => [difference('Body', shown[0], body.value), difference('Attributes', shown[1], typed.value)].filter(Boolean);
  question(app, 'edit', queue, { source: source || null, ids: [letter.id] }, fields, {
    isChanged,
    changes,
    check: () => drafts.set(letter.id, [body.value, typed.value]),
    discard: () => drafts.delete(letter.id),
    also: () => ({ document: document() }),
  });
}

/** Parses JSON. Errors have the lines and columns of the text area. */
function parsed(name, text) {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

/** Number of characters to show on both sides of a change. */
const AROUND = 40;

/** Shows the old and the new text of a change, with a little context. */
function difference(name, before, after) {
  if (before === after) return null;
  let [start, end] = [0, 0];
  const most = Math.min(before.length, after.length);
  while (start < most && before[start] === after[start]) start += 1;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [from, to] = [Math.max(0, start - AROUND), before.length - Math.max(0, end - AROUND)];
  return h('pre', { class: 'difference', tabindex: 0, role: 'region', 'aria-label': `What is changed: ${name}` },
    from > 0 ? '…' : '', before.slice(from, start),
    h('del', {}, before.slice(start, before.length - end)), h('ins', {}, after.slice(start, after.length - end)),
    before.slice(before.length - end, to), to < before.length ? '…' : '');
}

const area = (value, rows) => Object.assign(h('textarea', { rows, spellcheck: 'false' }), { value });

function isObject(text) {
  try {
    return /^\s*[{[]/.test(text) && JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

/** Returns a field that unlocks the account of a queue, hidden if it is unlocked. */
function locked(app, queue) {
  const account = input('', { name: 'account', inputmode: 'numeric', placeholder: queue.account });
  const lock = field(`Account ${queue.account} is locked. Type its id to unlock it.`, account);
  lock.hidden = !app.isLocked(queue.account);
  const unlock = async () => {
    if (!lock.hidden) await app.unlock(queue, account.value.trim());
  };
  return { lock, unlock };
}

/** Asks before a receive that may move letters, which a locked account does not allow. */
export function receive(app, queue, work) {
  const dialog = $('dialog');
  const { lock, unlock } = locked(app, queue);
  const { problem, submit } = guarded(async () => {
    await unlock();
    work();
  });
  dialog.replaceChildren(h('form', { onsubmit: submit },
    h('h2', { id: 'dialog-title' }, `Receive the letters of ${queue.name}`),
    h('p', {}, `Account ${queue.account}, ${queue.region}.`),
    h('p', { class: 'quiet' }, `This may move them: the queue has its own redrive policy, and after ${times(queue.own_max_receive_count)} SQS moves a letter to another queue. Each look is a receive.`),
    lock, problem,
    h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), h('button', { type: 'submit', class: 'primary' }, 'Receive'))));
  dialog.showModal();
}

function question(app, verb, queue, what, fields, more = {}) {
  const words = WORDS[verb];
  const count = what.ids.length;
  const dialog = $('dialog');
  const shown = h('div');
  const stages = input(count > 10 ? '10,100,all' : 'all', { name: 'stages' });
  const wait = input('', { name: 'wait', placeholder: 'as long as all attempts take' });
  const { lock, unlock } = locked(app, queue);
  const controls = verb === 'retry' ? [
    ...fields,
    field('Stages', stages, 'How many letters each stage sends. If one comes back, nothing more is sent.'),
    field('Watch after each stage for', wait, 'Such as 30s or 5m. Empty: visibility timeout, maxReceiveCount and backoff decide.'),
  ] : fields;
  const action = () => ({
    verb, queue: queue.arn, ...what,
    ...(verb === 'retry' ? { stages: stages.value.replace(/\s/g, '') || null, wait: wait.value.trim() || null } : {}),
    ...more.also?.(),
  });
  const { problem, fail, submit } = guarded(async () => {
    more.check?.();
    await unlock();
    const run = await ask('/api/runs', action()).catch((error) => {
      lock.hidden = !error.message.includes('is locked');
      throw error;
    });
    app.refresh();
    location.hash = `#/runs/${run.number}`;
  });
  let [timer, asked] = [null, 0];
  const changed = h('div');
  const discard = h('button', { type: 'button', onclick: () => {
    more.discard?.();
    dialog.close();
  } }, 'Discard the changes');
  const stay = h('button', { type: 'button', onclick: () => (leaving.hidden = true) }, 'Keep editing');
  const leaving = h('div', { class: 'bar', role: 'alert', hidden: true }, 'Your changes are not sent.', discard, stay);
  function leave() {
    if (!more.isChanged?.()) return dialog.close();
    leaving.hidden = false;
    return stay.focus();
  }
  const show = () => {
    changed.replaceChildren(...(more.changes?.() ?? []));
    clearTimeout(timer);
    problem.hidden = true;
    timer = setTimeout(async () => {
      const number = (asked += 1);
      try {
        const { command: text } = await ask('/api/command', action());
        if (number === asked) shown.replaceChildren(command(text));
      } catch (error) {
        if (number === asked) fail(error);
      }
    }, PAUSE);
  };
  dialog.replaceChildren(h('form', { onsubmit: submit, oninput: show },
    h('h2', { id: 'dialog-title' }, words.title(count, queue.name)),
    h('p', {}, verb === 'delete' ? `Account ${queue.account}, ${queue.region}.` : `To ${what.source ? nameOf(what.source) : queue.sources.map(nameOf).join(', ')}, account ${queue.account}, ${queue.region}.`),
    h('p', { class: 'quiet' }, words.warning),
    ...controls,
    changed,
    lock,
    shown,
    count > 0 && verb !== 'edit' ? h('button', { type: 'button', class: 'plain', onclick: () => navigator.clipboard.writeText(`${what.ids.join('\n')}\n`).catch(fail) }, 'Copy the ids for letters.txt') : null,
    problem,
    leaving,
    h('div', { class: 'actions' }, h('button', { type: 'button', onclick: leave }, 'Cancel'), h('button', { type: 'submit', class: verb === 'delete' ? 'primary danger' : 'primary' }, words.button))));
  dialog.oncancel = (event) => {
    if (more.isChanged?.()) event.preventDefault();
  };
  // A second Esc would close it even if the first was canceled.
  dialog.onkeydown = (event) => {
    if (event.key !== 'Escape' || !more.isChanged?.()) return;
    event.preventDefault();
    leave();
  };
  dialog.onclose = () => [dialog.oncancel, dialog.onkeydown, dialog.onclose] = [null, null, null];
  dialog.showModal();
  show();
}

/** Snoozes the queue. Nothing on AWS changes, so the account may be locked. */
export function snooze(app, queue) {
  const dialog = $('dialog');
  const [time, reason] = [input('1d', { name: 'for' }), input('', { name: 'reason', placeholder: 'The fix is in review' })];
  const { problem, submit } = guarded(async () => {
    await ask('/api/snooze', { queue: queue.arn, for: time.value.trim(), reason: reason.value });
    app.refresh();
  });
  dialog.replaceChildren(h('form', { onsubmit: submit },
    h('h2', { id: 'dialog-title' }, `Snooze ${queue.name}`),
    h('p', { class: 'quiet' }, 'The queue is listed last until then, or until it has 10 more letters or 10 % more, whichever is larger.'),
    field('For', time, '1m to 30d'), field('Why', reason), problem,
    h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), h('button', { type: 'submit', class: 'primary' }, 'Snooze'))));
  dialog.showModal();
}

export async function wake(app, queue) {
  try {
    app.tell((await ask('/api/snooze', { queue: queue.arn })).said);
    app.refresh();
  } catch (error) {
    app.tell(error.message);
  }
}

const KEYS = [['/', 'filter'], ['j k', 'next, previous'], ['Enter', 'open'], ['x', 'select a letter'], ['X', 'select as far as this letter; a click with Shift does the same'], ['r', 'retry the letters that are selected, else all that are shown'], ['Esc', 'close, back'], ['q e h', 'queues, errors, history'], ['?', 'this help']];

export function help() {
  const dialog = $('dialog');
  dialog.replaceChildren(h('h2', { id: 'dialog-title' }, 'Keys'),
    h('dl', { class: 'keys' }, ...KEYS.flatMap(([key, text]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)])),
    h('p', { class: 'quiet' }, 'Conditions are those of redrive dlq list --where, such as: reason = panic; body.customer.id = 17; error ~ timeout; age > 2h; attribute.tenant exists.'),
    h('form', { method: 'dialog', class: 'actions' }, h('button', { class: 'primary' }, 'Close')));
  dialog.showModal();
}
