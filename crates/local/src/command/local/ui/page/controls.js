// The clock's controls and the theme.

import { span, stamp } from './clock.js';
import { $, ask, h, say } from './dom.js';

const SPEEDS = [[1, '1×'], [10, '10×'], [60, '60×'], [600, '600×'], ['max', 'max']];
const THEMES = ['auto', 'light', 'dark'];

export class Controls {
  constructor({ failed, nextReturn }) {
    this.failed = failed;
    this.speeds = SPEEDS.map(([speed, text]) => this.speed(speed, text));
    $('hold').addEventListener('click', () => this.time({ held: !this.held }));
    $('skip').addEventListener('click', () => {
      const until = nextReturn();
      if (until !== null) this.time({ until });
    });
    this.theme(THEMES.indexOf(localStorage.getItem('theme') ?? 'auto'));
    $('theme').addEventListener('click', () => this.theme(this.chosen + 1));
  }

  speed(speed, text) {
    const input = h('input', { type: 'radio', name: 'speed', value: speed, onchange: () => this.choose(speed) });
    $('speed').append(h('label', { title: speed === 'max' ? 'Skip waiting' : `Waiting passes ${speed} times as fast` }, input, h('span', {}, text)));
    return input;
  }

  /** Shows a choice immediately, and reverts it if the server refuses it. */
  async choose(speed) {
    this.wanted = String(speed);
    if (!(await this.time({ speed }))) this.wanted = null;
  }

  async time(change) {
    try {
      await ask('/clock', change);
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  show(clock, nextReturn) {
    const { speed, held, pace } = clock.reading;
    this.held = held;
    const now = clock.now();
    say($('simulated'), stamp(now));
    say($('wall'), span(Math.floor(clock.wall())));
    say($('pace'), clock.over ? 'simulated' : this.pace(speed, held, pace));
    say($('hold'), held ? 'Release the clock' : 'Hold the clock');
    $('hold').setAttribute('aria-pressed', held);
    $('hold').title = 'Waiting stops: no message becomes visible again. Running invocations continue, and new messages are delivered.';
    $('skip').disabled = nextReturn === null || clock.over;
    $('skip').title = nextReturn === null ? 'No message is waiting' : `Skips ${span(Math.max(0, nextReturn - now))}`;
    for (const id of ['hold', 'send']) $(id).disabled = clock.over;
    if (this.wanted === String(speed ?? 'max')) this.wanted = null;
    const chosen = this.wanted ?? String(speed ?? 'max');
    for (const input of this.speeds) {
      if (input.checked !== (input.value === chosen)) input.checked = input.value === chosen;
      input.disabled = clock.over;
    }
  }

  pace(speed, held, pace) {
    if (held && pace === 0) return 'simulated, held';
    if (pace === 1 && speed !== 1) return 'simulated, running code';
    if (speed === null) return 'simulated, waiting skipped';
    return speed === 1 ? 'simulated' : `simulated, ${speed}×`;
  }

  theme(index) {
    this.chosen = index % THEMES.length;
    const theme = THEMES[this.chosen];
    localStorage.setItem('theme', theme);
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    say($('theme'), { auto: '◐ Auto', light: '☀ Light', dark: '☾ Dark' }[theme]);
    $('theme').setAttribute('aria-label', `Theme: ${theme}`);
  }
}
