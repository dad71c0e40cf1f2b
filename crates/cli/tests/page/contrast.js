() => {
  // Of each text that is seen, and of each mark: how much it differs from what is behind it, the least first.
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return color.startsWith('color(srgb') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const over = (top, under) => top.slice(0, 3).map((part, index) => part * top[3] + under[index] * (1 - top[3]));
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ratio = (color, element) => {
    const under = ground(element);
    const [low, high] = [light(over(parse(color), under)), light(under)].sort((one, other) => one - other);
    return Math.round(100 * (high + 0.05) / (low + 0.05)) / 100;
  };
  const seen = (element) => element.getClientRects().length > 0 && !element.closest('.hidden, :disabled, option');
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const [text, element] = [walker.currentNode.data.trim(), walker.currentNode.parentElement];
    if (!text || !seen(element)) continue;
    const { color, fill } = getComputedStyle(element);
    texts.push([ratio(element instanceof SVGElement ? fill : color, element), `${element.className}: ${text.slice(0, 30)}`]);
  }
  for (const input of document.querySelectorAll('[placeholder]')) {
    if (seen(input)) texts.push([ratio(getComputedStyle(input, '::placeholder').color, input), input.placeholder]);
  }
  const marks = [...document.querySelectorAll('.mark')].filter(seen).map((mark) => {
    const { fill, stroke } = getComputedStyle(mark);
    return [ratio(stroke === 'none' ? fill : stroke, mark), mark.getAttribute('class')];
  });
  const lamps = [...document.querySelectorAll('.lamps i')].map((lamp) => [ratio(getComputedStyle(lamp).borderTopColor, lamp.parentElement), 'lamp']);
  const least = (found) => found.sort((one, other) => one[0] - other[0]);
  return { texts: least(texts), marks: least([...marks, ...lamps]) };
}
