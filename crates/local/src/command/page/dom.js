// Creates elements without HTML strings: text stays text, and invisible characters appear as their numbers.

/** Control characters, and characters that change the text direction. Joiners stay, because emoji and scripts need them. */
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const seen = (text) => text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  const given = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...given.map((child) => (typeof child === 'string' ? seen(child) : child)));
  return element;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export const $ = (id) => document.getElementById(id);

/** Changes text only if it differs, to avoid needless layout. */
export function say(element, text) {
  const shown = seen(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Calls the server. Its refusals become errors with its own words. */
export async function ask(path, body, headers = {}) {
  const options = body === undefined
    ? { headers }
    : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(path, options).catch(() => {
    throw new Error('No connection to redrive.');
  });
  const answer = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Replaces only the children that differ, because a link that is replaced during a click leads nowhere. */
export function renew(parent, children) {
  children.forEach((child, at) => {
    const old = parent.children[at];
    if (!old) parent.append(child);
    else if (!old.isEqualNode(child)) old.replaceWith(child);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}
