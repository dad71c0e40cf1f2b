// Breaks JSON into lines. Its tokens stay unchanged, even numbers that JavaScript cannot represent and duplicate keys. Pure.

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** A sender chooses the nesting of a body. As in the terminal, JSON that would grow only by its indentation stays as it is. */
const DEEPEST = 64;
const GROWTH = 4;
const ALLOWANCE = 64 * 1024;

/** Returns JSON on many lines, and other text unchanged. */
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
    // An empty list stays on one line.
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
