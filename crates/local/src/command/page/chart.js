// Computes the parts of a small chart: a curve over time. Pure.

const round = (number) => Math.round(number * 10) / 10;

/** Returns steps from sample to sample in a box of this size, because a number is valid until the next one. */
export function chart(all, { width, height, end, threshold, bands = [] }) {
  const points = all.filter(([at]) => at <= end);
  const top = Math.max(1, threshold ?? 0, ...points.map(([, value]) => value)) * 1.08;
  const x = (at) => round(width * at / Math.max(end, 1e-9));
  const y = (value) => round(height - 1 - (height - 3) * value / top);
  if (points.length === 0) return [];
  let path = `M${x(points[0][0])} ${y(points[0][1])}`;
  for (const [at, value] of points.slice(1)) path += `H${x(at)}V${y(value)}`;
  path += `H${x(end)}`;
  const drawn = [
    ...bands.filter(([from]) => from < end).map(([from, to]) => ['rect', { class: 'band', x: x(from), y: 0, width: Math.max(1, x(Math.min(to, end)) - x(from)), height }]),
    ['path', { class: 'area', d: `${path}V${height}H${x(points[0][0])}Z` }],
    ['path', { class: 'curve', d: path }],
  ];
  if (threshold) drawn.push(['line', { class: 'threshold', x1: 0, x2: width, y1: y(threshold), y2: y(threshold) }]);
  return drawn;
}
