// JSON with line breaks. Its words stay as they are: a number that no script can hold, a key that is there twice. Pure.

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** A sender chooses how deep a body is nested. As in the terminal, what would grow only by its indentation stays as it is. */
const DEEPEST = 64;
const GROWTH = 4;
const ALLOWANCE = 64 * 1024;

/** JSON on many lines; anything else as it is. */
export function pretty(body) {
  try {
    JSON.parse(body);
  } catch {
    return body;
  }
  let [text, depth, opened] = ['', 0, false];
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [token] of body.matchAll(TOKENS)) {
    const closes = token === '}' || token === ']';
    if (closes) depth -= 1;
    // Nothing stands in an empty list.
    if (opened !== closes) text += opened || closes ? line() : '';
    opened = token === '{' || token === '[';
    if (opened) depth += 1;
    text += token;
    if (token === ':') text += ' ';
    if (token === ',') text += line();
    if (depth > DEEPEST || text.length > body.length * GROWTH + ALLOWANCE) return body;
  }
  return text;
}
