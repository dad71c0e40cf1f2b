// Connects the parts of the page: receives updates, and draws the visible parts at most once per frame.

import { Clock } from './clock.js';
import { Controls } from './controls.js';
import { Detail } from './detail.js';
import { $, ask, h, say } from './dom.js';
import { Filter, select } from './filter.js';
import { Invocations } from './invocations.js';
import { List } from './list.js';
import { backAt, stateOf } from './message.js';
import { savePicture } from './picture.js';
import { Sender } from './send.js';
import { Store } from './store.js';
import { Stream } from './stream.js';
import { Tiles } from './tiles.js';

/** Time between two drawings of moving parts, in milliseconds. */
const BEAT = 100;

const LOST = 'No connection to redrive local. The page shows the last known state, and continues when the connection is back.';

const store = new Store();
const clock = new Clock();
let dirty = true;
let frame = null;
let selection = { shown: [], counts: {}, groups: new Map(), longest: 0, until: 0 };

const changed = () => {
  dirty = true;
  frame ??= requestAnimationFrame(draw);
};
const filter = new Filter(changed);
const list = new List({
  choose: (number, focus) => detail.show(store.messages.get(number), clock.now(), focus),
  moved: (number) => detail.open && detail.show(store.messages.get(number), clock.now(), false),
});
const detail = new Detail({
  retried: retry,
  copy: (sent) => sender.open(sent),
  closed: () => {
    list.measure();
    $('messages').focus();
  },
});
const tiles = new Tiles({ pick: (reason) => filter.only('dead', reason) });
const invocations = new Invocations({ pick: (number) => filter.set({ text: `inv:${number};`, states: new Set() }) });
const controls = new Controls({ failed: (error) => tell(error.message), nextReturn });
const sender = new Sender({ sent: (id) => tell(`Message ${id} was sent.`) });
$('picture').addEventListener('click', () => savePicture(store, list.rows.shown, clock));

const stream = new Stream({
  update(update) {
    if (update.setup) {
      clock.forget();
      filter.forget();
      list.forget();
      invocations.chosen = null;
      detail.forget();
      sender.setup(update.setup);
      $('invocations').hidden = update.setup.has_workers;
    }
    clock.set(update.clock);
    const news = store.apply(update);
    for (const { name, state, reason } of news) {
      if (state === 'ALARM') alarm(`Alarm ${name} goes off. ${reason}`);
      else if (state === 'OK') tell(`Alarm ${name} is OK again.`);
    }
    if (update.ended) end(update.ended);
    const now = clock.now();
    const open = detail.open && update.messages.find(({ number }) => number === detail.number);
    if (open) detail.refresh(open, now, true);
    changed();
  },
  connected() {
    say($('state'), '');
  },
  lost() {
    clock.reading.pace = 0;
    say($('state'), LOST);
  },
});

function end({ messages, done, lost, left }) {
  clock.over = true;
  $('state').className = 'over';
  say($('state'), `The run has ended: ${messages} messages, ${done} done${lost > 0 ? `, ${lost} deleted although they failed` : ''}${left > 0 ? `, ${left} left` : ''}. The page stays as it is.`);
}

function draw() {
  frame = null;
  const now = clock.now();
  if (dirty) {
    dirty = false;
    filter.bodies.look(filter.text, store.lastCut);
    selection = select(store.messages.things, filter, now);
    filter.show(selection);
    tiles.show(store, now);
    invocations.show(store);
    describe();
  }
  list.show(selection, filter.axis, now);
  controls.show(clock, nextReturn());
  const open = detail.open && store.messages.get(detail.number);
  if (open) detail.refresh(open, now, false);
}

function describe() {
  const { things, first } = store.messages;
  const count = selection.shown.length;
  const { busy, gone: bodies } = filter.bodies;
  const partly = bodies > 0 ? `, of ${bodies} only the beginning of the body is kept` : '';
  say($('shown'), `${count} of ${things.length} message${things.length === 1 ? '' : 's'}${partly}`);
  const none = busy ? 'Searching the bodies…' : 'No message matches.';
  say($('empty'), things.length === 0 ? 'No messages yet. Send one, here or with any SQS client.' : none);
  const { queues, most_messages: most } = store.setup;
  say($('flow'), queues.map(({ name, functions }) => `${name} → ${functions.join(', ')}`).join(' · '));
  const gone = first > 1 ? `, ${first - 1} older ones are no longer shown` : '';
  const notice = store.notices.at(-1)?.text;
  say($('kept'), notice ?? (most ? `The latest ${most.toLocaleString('en')} messages are kept${gone}.` : ''));
}

/** Returns the time at which the next message returns, if one does. */
function nextReturn() {
  const now = clock.now();
  let next = Infinity;
  for (const message of store.messages.things) {
    if (message && !message.end && stateOf(message, now) === 'waiting') next = Math.min(next, backAt(message));
  }
  return next === Infinity ? null : next;
}

async function retry(message) {
  try {
    await ask('/retry', { id: message.id });
    tell(`Message ${message.number} was sent back to ${message.queue}.`);
  } catch (error) {
    tell(error.message);
  }
}

/** Announces each alarm, because several may go off at once. */
function alarm(text) {
  const alarms = [...$('alarm').children].slice(-4);
  $('alarm').replaceChildren(...alarms, h('p', {}, text));
}

/** Shows a short message, also to screen readers. */
function tell(text) {
  say($('said'), text);
  if (clock.over) return;
  say($('state'), text);
  setTimeout(() => {
    if ($('state').textContent === text) say($('state'), stream.away ? LOST : '');
  }, 4000);
}

addEventListener('keydown', (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || $('sending').open;
  if (event.key === '/' && !typing) {
    $('text').focus();
    event.preventDefault();
  } else if (event.key === 'Escape' && detail.open && !typing) {
    detail.close();
  }
});
addEventListener('resize', changed);

// Passing time changes the states of messages.
setInterval(() => {
  if (document.hidden || clock.over) return;
  if (clock.reading.pace > 0) changed();
  else frame ??= requestAnimationFrame(draw);
}, BEAT);

// For the tests and for the tool that makes the picture.
window.redrive = { store, clock, list, stream };
