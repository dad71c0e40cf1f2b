// The server's events. Updates wait for the next frame, so that a flood of them is drawn once.

/** Listens while the page can be seen; a page that cannot needs no connection, and catches up when it is back. */
export class Stream {
  constructor({ update, connected, lost }) {
    this.handlers = { update, connected, lost };
    this.waiting = [];
    this.over = false;
    this.last = '';
    this.open();
    addEventListener('pagehide', () => this.close());
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.close();
      else if (!this.source && !this.over) this.open();
    });
  }

  open() {
    this.source = new EventSource(`/events?after=${this.last}`);
    this.source.onopen = () => this.handlers.connected();
    this.source.onerror = () => {
      if (!this.over) this.handlers.lost();
    };
    this.source.onmessage = ({ data, lastEventId }) => {
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

  close() {
    this.source?.close();
    this.source = null;
  }
}
