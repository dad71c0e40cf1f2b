// Converts attributes to lines: name=value, or name:Type=value if they are not text. Pure.

/** Writes a value with line breaks, or with a quote at its start, as a JSON string. */
const asLine = (value) => (/[\r\n]|^"/.test(value) ? JSON.stringify(value) : value);

export function toLines(attributes) {
  const own = Object.entries(attributes).filter(([name]) => !name.startsWith('redrive.'));
  return own.map(([name, { type, value }]) => `${type === 'String' ? name : `${name}:${type}`}=${asLine(value)}`).join('\n');
}

export function fromLines(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(lines.map((line) => {
    const cut = line.indexOf('=');
    if (cut < 1) throw new Error(`attributes: expected name=value, not ${line}`);
    const [name, type = 'String'] = line.slice(0, cut).trim().split(':');
    return [name, { type, value: fromLine(line.slice(cut + 1)) }];
  }));
}

function fromLine(value) {
  try {
    return value.startsWith('"') ? String(JSON.parse(value)) : value;
  } catch {
    return value;
  }
}
