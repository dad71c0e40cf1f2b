// Lengths of time as text. Pure.

/** Writes 850 ms, 12 s, 4 min 10 s, 2 h 5 min. */
export function span(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [big, small, units] = whole < 3600
    ? [Math.floor(whole / 60), whole % 60, ['min', 's']]
    : [Math.floor(whole / 3600), Math.round((whole % 3600) / 60), ['h', 'min']];
  return small === 0 ? `${big} ${units[0]}` : `${big} ${units[0]} ${small} ${units[1]}`;
}
