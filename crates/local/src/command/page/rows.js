// A list of rows of equal height, which creates elements only for the rows in view.

/** Number of rows that are kept ready above and below the view. */
const SPARE = 8;

export class Rows {
  /** `key` names an item, `make` returns its row with an `element`, `paint` fills a row in, and `drawn` is called after all. */
  constructor(view, inner, { key, make, paint, drawn }) {
    Object.assign(this, { view, inner, key, make, paint, drawn, rows: new Map(), shown: [], chosen: null });
    view.addEventListener('scroll', () => this.soon());
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  clear() {
    this.rows.forEach(({ element }) => element.remove());
    this.rows.clear();
  }

  draw() {
    this.inner.style.height = `${this.shown.length * this.height}px`;
    const first = Math.max(0, Math.floor(this.view.scrollTop / this.height) - SPARE);
    const last = Math.min(this.shown.length, first + Math.ceil(this.view.clientHeight / this.height) + 2 * SPARE);
    const kept = new Set();
    for (let index = first; index < last; index += 1) {
      const item = this.shown[index];
      kept.add(this.key(item));
      this.place(this.rows.get(this.key(item)) ?? this.add(item), index);
    }
    for (const [key, { element }] of this.rows) {
      if (kept.has(key)) continue;
      element.remove();
      this.rows.delete(key);
    }
    const chosen = this.rows.get(this.chosen);
    if (chosen) this.view.setAttribute('aria-activedescendant', chosen.element.id);
    else this.view.removeAttribute('aria-activedescendant');
    this.drawn?.();
  }

  add(item) {
    const row = this.make(item);
    this.rows.set(this.key(item), row);
    this.inner.append(row.element);
    return row;
  }

  place(row, index) {
    const [top, of] = [index * this.height, this.shown.length];
    if (row.top !== top || row.of !== of) {
      Object.assign(row, { top, of });
      row.element.style.transform = `translateY(${top}px)`;
      row.element.setAttribute('aria-posinset', index + 1);
      row.element.setAttribute('aria-setsize', of);
    }
    this.paint(row, this.shown[index]);
  }

  /** Index of the chosen item, or -1. */
  at() {
    return this.shown.findIndex((item) => this.key(item) === this.chosen);
  }

  /** Scrolls to the chosen item. */
  reveal() {
    const [top, bottom] = [this.at() * this.height, (this.at() + 1) * this.height];
    if (top < 0) return;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (bottom > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = bottom - this.view.clientHeight;
  }

  /** Returns the item to which a key moves from the chosen one, if any. */
  reached({ key, ctrlKey, metaKey, altKey }) {
    const [at, page] = [this.at(), Math.max(1, Math.floor(this.view.clientHeight / this.height) - 1)];
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: Infinity }[key];
    if (to === undefined || ctrlKey || metaKey || altKey) return undefined;
    return this.shown[Math.min(Math.max(to, 0), this.shown.length - 1)];
  }
}
