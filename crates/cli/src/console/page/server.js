// Sends requests to the command, with the key from behind the # of the address.

import { ask as askWith } from './dom.js';

const NAME = 'redrive-key';

/** Takes the key from the address. Tabs of the same address share it. The next command has another one. */
function takeKey() {
  const [, key] = location.hash.match(/^#key=([0-9a-f]+)$/) ?? [];
  if (key) {
    localStorage.setItem(NAME, key);
    history.replaceState(null, '', '#/');
  }
  return { 'x-redrive-key': localStorage.getItem(NAME) ?? '' };
}

const headers = takeKey();

export const ask = (path, body) => askWith(path, body, headers);

/** Reads lines of JSON, many at a time, until the last or until the signal. */
export async function stream(path, body, signal, take) {
  const options = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body), signal };
  const response = await fetch(path, options).catch((error) => {
    throw signal.aborted ? error : new Error('No connection to redrive.');
  });
  if (!response.ok) throw new Error((await response.json()).error);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    if (lines.length > 0) take(lines.map((line) => JSON.parse(line)));
  }
}
