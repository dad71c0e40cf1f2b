// Receives the server's events. Updates wait for the next frame, so that a flood of them is drawn once.

/** Time without a reading of the clock after which the run counts as silent, in milliseconds. Readings arrive four times a second. */
const SILENCE = 4000;

/** A browser retries by itself after a missing answer, but not after a refusal. */
const AGAIN = 2000;

/** Listens while the page is visible. A hidden page needs no connection, and catches up later. */
export class Stream {
  constructor({ update, connected, lost }) {
    this.handlers = { update, connected, lost };
    this.waiting = [];
    this.over = false;
    this.last = '';
    this.open();
    addEventListener('pagehide', () => this.close());
    addEventListener('pageshow', () => this.resume());
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.close();
      else this.resume();
    });
    setInterval(() => {
      if (this.source && performance.now() - this.heard > SILENCE) this.lose();
    }, 1000);
  }

  resume() {
    if (!this.source && !this.over && !document.hidden) this.open();
  }

  open() {
    this.heard = performance.now();
    const source = new EventSource(`/events?after=${this.last}`);
    this.source = source;
    source.onopen = () => this.found();
    source.onerror = () => {
      this.lose();
      if (source.readyState !== EventSource.CLOSED || this.source !== source) return;
      this.close();
      setTimeout(() => this.resume(), AGAIN);
    };
    source.onmessage = ({ data, lastEventId }) => {
      this.found();
      this.last = lastEventId;
      const update = JSON.parse(data);
      if (update.ended) {
        this.over = true;
        this.close();
      }
      this.waiting.push(update);
      if (this.waiting.length === 1) requestAnimationFrame(() => this.flush());
    };
  }

  flush() {
    const updates = this.waiting;
    this.waiting = [];
    updates.forEach((update) => this.handlers.update(update));
  }

  found() {
    this.heard = performance.now();
    if (this.away) this.handlers.connected();
    this.away = false;
  }

  lose() {
    if (!this.over && !this.away) this.handlers.lost();
    if (!this.over) this.away = true;
  }

  close() {
    this.source?.close();
    this.source = null;
  }
}
