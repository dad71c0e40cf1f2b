// Questions before something is changed, each with the command that does the same.

import { $, h } from './dom.js';
import { pretty } from './json.js';
import { isOwn } from './letter.js';
import { ask } from './server.js';
import { command, letters, nameOf } from './words.js';

/** The command is shown once nobody has typed for so long, in milliseconds. */
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
    warning: 'This cannot be undone. Export the letters first if you may need them.',
    button: 'Delete',
  },
};

const field = (name, control, hint) => h('label', {}, name, control, hint ? h('small', {}, hint) : null);

const input = (value, more) => h('input', { type: 'text', value, autocomplete: 'off', spellcheck: 'false', ...more });

/** Lines of a problem, and what a button does, which cannot be pressed again meanwhile. */
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
      // Somebody may have closed it, and opened another one.
      if (event.target.isConnected) $('dialog').close();
    } catch (error) {
      fail(error);
      button.disabled = false;
    }
  };
  return { problem, fail, submit };
}

export function act(app, verb, queue, source, some) {
  question(app, verb, queue, { source: source || null, ids: some.map(({ id }) => id) }, []);
}

/**
 * The body and the attributes as the command's editor shows them. A text area has one kind of line break, and shows controls
 * as they are: a body that nobody changed is sent as it was, and its line breaks stay.
 */
export function edit(app, queue, source, letter) {
  const isJson = isObject(letter.body);
  const body = area(isJson ? pretty(letter.body) : letter.body, 12);
  const own = Object.entries(letter.attributes ?? {}).filter(([name]) => !isOwn(name));
  const attributes = Object.fromEntries(own.map(([name, value]) => [name, typeof value === 'string' ? { type: 'String', value } : value]));
  const typed = area(JSON.stringify(attributes, null, 2), 4);
  const shown = body.value;
  const text = () => {
    if (body.value === shown) return letter.body;
    if (isJson || !letter.body.includes('\r')) return body.value;
    if (/\r(?!\n)|(?<!\r)\n/.test(letter.body)) throw new Error('The body has several kinds of line breaks: use redrive dlq retry --edit.');
    return body.value.replaceAll('\n', '\r\n');
  };
  const document = () => {
    const whole = `{"body":${isJson ? text() : JSON.stringify(text())},"attributes":${typed.value.trim() || '{}'}}`;
    JSON.parse(whole);
    return whole;
  };
  question(app, 'edit', queue, { source: source || null, ids: [letter.id] }, [field('Body', body), field('Attributes', typed)], { document });
}

const area = (value, rows) => Object.assign(h('textarea', { rows, spellcheck: 'false' }), { value });

function isObject(text) {
  try {
    return /^\s*[{[]/.test(text) && JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

function question(app, verb, queue, what, fields, more = {}) {
  const words = WORDS[verb];
  const count = what.ids.length;
  const dialog = $('dialog');
  const shown = h('div');
  const stages = input(count > 10 ? '10,100,all' : 'all', { name: 'stages' });
  const wait = input('', { name: 'wait', placeholder: 'as long as all attempts take' });
  const account = input('', { name: 'account', inputmode: 'numeric', placeholder: queue.account });
  const lock = field(`Account ${queue.account} is locked. Type its id to unlock it.`, account);
  lock.hidden = !app.isLocked(queue.account);
  const controls = verb === 'retry' ? [
    field('Stages', stages, 'How many letters each stage sends. If one comes back, nothing more is sent.'),
    field('Watch after each stage for', wait, 'Such as 30s or 5m. Empty: visibility timeout, maxReceiveCount and backoff decide.'),
  ] : fields;
  const action = () => ({
    verb, queue: queue.arn, ...what,
    ...(verb === 'retry' ? { stages: stages.value.replace(/\s/g, '') || null, wait: wait.value.trim() || null } : {}),
    ...(more.document ? { document: more.document() } : {}),
  });
  const { problem, fail, submit } = guarded(async () => {
    if (!lock.hidden) await app.unlock(queue, account.value.trim());
    const run = await ask('/api/runs', action()).catch((error) => {
      lock.hidden = !error.message.includes('is locked');
      throw error;
    });
    app.refresh();
    location.hash = `#/runs/${run.number}`;
  });
  let [timer, asked] = [null, 0];
  const show = () => {
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
    lock,
    shown,
    count > 0 && verb !== 'edit' ? h('button', { type: 'button', class: 'plain', onclick: () => navigator.clipboard.writeText(`${what.ids.join('\n')}\n`).catch(fail) }, 'Copy the ids for letters.txt') : null,
    problem,
    h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), h('button', { type: 'submit', class: verb === 'delete' ? 'primary danger' : 'primary' }, words.button))));
  dialog.showModal();
  show();
}

/** The queue is listed last for a time. Nothing on AWS changes, so the account may be locked. */
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

const KEYS = [['/', 'filter'], ['j k', 'next, previous'], ['Enter', 'open'], ['x', 'select a letter'], ['r', 'retry the letters that are selected, else all that are shown'], ['Esc', 'close, back'], ['q e h', 'queues, errors, history'], ['?', 'this help']];

export function help() {
  const dialog = $('dialog');
  dialog.replaceChildren(h('h2', { id: 'dialog-title' }, 'Keys'),
    h('dl', { class: 'keys' }, ...KEYS.flatMap(([key, text]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)])),
    h('p', { class: 'quiet' }, 'Conditions are those of redrive dlq list --where, such as: reason = panic; body.customer.id = 17; error ~ timeout; age > 2h; attribute.tenant exists.'),
    h('form', { method: 'dialog', class: 'actions' }, h('button', { class: 'primary' }, 'Close')));
  dialog.showModal();
}
