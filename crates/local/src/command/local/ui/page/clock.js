// Simulated time between two readings of the server's clock, and moments as text.

/** How long a reading is trusted, in real seconds. The server sends one every quarter of a second. */
const TRUST = 1;

/** Largest error of a guess, in simulated seconds, for which the clock waits instead of going back. */
const SLACK = 2;

export class Clock {
  constructor() {
    this.reading = { at: 0, wall: 0, pace: 0, speed: 1, held: false };
    this.read = 0;
    this.shown = 0;
    this.over = false;
  }

  set(reading, now = performance.now()) {
    this.reading = reading;
    this.read = now;
  }

  /** Simulated seconds since the start. */
  now(now = performance.now()) {
    const passed = this.over ? 0 : Math.min((now - this.read) / 1000, TRUST);
    const guess = this.reading.at + passed * this.reading.pace;
    this.shown = this.shown - guess < SLACK ? Math.max(this.shown, guess) : guess;
    return this.shown;
  }

  wall(now = performance.now()) {
    return this.reading.wall + (this.over ? 0 : (now - this.read) / 1000);
  }

  forget() {
    this.shown = 0;
  }
}

/** Writes 0:17:02. */
export function stamp(seconds) {
  const whole = Math.floor(seconds);
  const two = (number) => String(number).padStart(2, '0');
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

export { span } from './span.js';
