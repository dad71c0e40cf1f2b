// Shows a letter with all known facts. Its contents are always text.

import { h } from './dom.js';
import { pretty } from './json.js';
import { since, span } from './words.js';

/** Most characters of a body that are shown. */
const LONGEST = 1 << 18;

/** Redrive's own attributes, whose contents the facts show. */
export const isOwn = (name) => name.startsWith('redrive.origin') || name.startsWith('redrive.dead-letter');

function pairs(facts) {
  const rows = facts.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return h('dl', {}, ...rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, String(value))]));
}

const at = (time) => time && `${time.replace('T', ' ').replace(/\.\d+Z$/, 'Z')}, ${span(since(time))} ago`;

/** Shows the letter, with a button for each action. */
export function detail(letter, actions, close) {
  const attributes = Object.entries(letter.attributes ?? {}).filter(([name]) => !isOwn(name));
  const value = (attribute) => (typeof attribute === 'string' ? attribute : (attribute.value ?? `${attribute.base64} (base64)`));
  const kind = (attribute) => (typeof attribute === 'string' ? '' : ` (${attribute.type})`);
  const cut = letter.body.length > LONGEST;
  const expires = letter.expires_at && -since(letter.expires_at);
  return h('div', {},
    h('div', { class: 'top' }, h('div', {}, h('h3', {}, letter.reason), h('p', { class: 'id' }, letter.id)),
      h('button', { type: 'button', class: 'plain', 'aria-label': 'Close', onclick: close }, '✕')),
    letter.error ? h('p', { class: 'verdict' }, letter.error) : h('p', { class: 'verdict quiet' }, 'No error is known: SQS moved this message without a note. The function’s log may have it.'),
    h('div', { class: 'actions' }, ...actions.map(([text, act]) => h('button', { type: 'button', onclick: act }, text))),
    h('h4', {}, 'Facts'),
    pairs([
      ['Message id', letter.message_id], ['Exception', letter.exception], ['Attempts', letter.attempts], ['Function', letter.function],
      ['Request', letter.request_id], ['Group', letter.group_id], ['Deduplication id', letter.deduplication_id], ['Trace', letter.trace_header],
      ['Sent', at(letter.sent_at)], ['Failed', at(letter.failed_at)], ['Dead since', at(letter.enqueued_at)],
      ['Expires', expires ? `${letter.expires_at.replace('T', ' ').replace(/\.\d+Z$/, 'Z')}, ${expires > 0 ? `in ${span(expires)}` : 'now'}` : null],
    ]),
    attributes.length > 0 ? h('h4', {}, 'Attributes') : null,
    attributes.length > 0 ? pairs(attributes.map(([name, attribute]) => [`${name}${kind(attribute)}`, value(attribute)])) : null,
    h('h4', {}, letter.is_cut || cut ? 'Body (its beginning)' : 'Body'),
    h('pre', { tabindex: 0, role: 'region', 'aria-label': 'Body' }, cut ? letter.body.slice(0, LONGEST) : pretty(letter.body)));
}
