// Shows the progress and the result of a verb.

import { h, say } from './dom.js';
import { ask } from './server.js';
import { command, letters, number, span } from './words.js';

/** Number of requests in a row without an answer after which the page gives up. */
const MOST_FAILURES = 30;

const PAST = { retry: 'sent', edit: 'sent', delete: 'deleted' };

/** Most characters of its last messages, which may name many letters. */
const LONGEST = 300;

const VERDICTS = {
  clear: () => 'none came back',
  'came-back': (stage) => `${number(stage.came_back)} came back: ${[[stage.same_error, 'with the same error'], [stage.other_error, 'with another error'], [stage.unknown_error, 'with an unknown error']].filter(([count]) => count > 0).map(([count, text]) => `${number(count)} ${text}`).join(', ')}`,
  'more-letters': () => 'the dead-letter queue has more letters than before, and SQS does not return all of them',
  'no-progress': () => 'the consumer made no progress',
  unsettled: () => 'messages are still in the queue',
};

export class RunView {
  constructor(app, run) {
    [this.app, this.run, this.title] = [app, run, `Run ${run}`];
    this.head = h('h2', {}, `Run ${run}`);
    this.verdict = h('p', { class: 'verdict', role: 'status' }, 'Starting…');
    this.bar = h('progress', { max: 1, value: 0, 'aria-label': 'Letters sent or deleted' });
    this.counts = h('p', { class: 'sum' });
    this.stages = h('ol', { class: 'stages', 'aria-label': 'Stages' });
    this.problems = h('ul', { class: 'faults', 'aria-label': 'Letters that were not sent or deleted' });
    this.said = h('pre', { tabindex: 0, role: 'region', 'aria-label': 'What the command says' });
    this.command = h('div');
    this.stop = h('button', { type: 'button', onclick: () => this.ask() }, 'Stop');
    this.back = h('a', { href: '#/' }, 'Back to the queue');
    this.element = h('section', { class: 'run', 'aria-label': this.title },
      h('div', { class: 'bar' }, this.head, this.stop, this.back), this.command, this.verdict, this.bar, this.counts, this.stages, this.problems,
      h('h3', {}, 'What the command says'), this.said);
    this.follow();
  }

  leave() {
    this.left = true;
  }

  async ask() {
    try {
      this.draw(await ask(`/api/runs/${this.run}/stop`, {}));
    } catch (error) {
      this.app.tell(error.message);
    }
  }

  async follow() {
    let [version, failed] = ['', 0];
    while (!this.left) {
      try {
        const told = await ask(`/api/runs/${this.run}${version === '' ? '' : `?after=${version}`}`);
        if (this.left) return;
        this.draw(told);
        ({ version } = told.progress);
        failed = 0;
        if (told.progress.ended !== null) {
          this.app.refresh(true);
          return;
        }
      } catch (error) {
        say(this.verdict, error.message);
        if (version === '' || (failed += 1) > MOST_FAILURES) return;
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    }
  }

  draw({ verb, name, queue, letters: all, command: text, progress }) {
    const { results, stages, problems, said, ended, is_stopping: stopping } = progress;
    const done = (results[PAST[verb]] ?? 0);
    this.back.href = `#/queue/${encodeURIComponent(queue)}`;
    say(this.head, `${verb[0].toUpperCase()}${verb.slice(1)} ${letters(all)} of ${name}, ${queue.split(':').slice(3, 5).reverse().join(', ')}`);
    if (!this.command.firstChild) this.command.append(command(text));
    [this.bar.max, this.bar.value] = [Math.max(1, all), done];
    const others = Object.entries(results).filter(([result]) => result !== PAST[verb]).map(([result, count]) => `, ${number(count)} ${result}`);
    say(this.counts, `${number(done)} of ${number(all)} ${PAST[verb]}${others.join('')}`);
    this.stages.replaceChildren(...stages.map((stage) => h('li', { class: stage.result },
      `Stage ${stage.number}: ${letters(stage.sent)} sent, ${(VERDICTS[stage.result] ?? (() => stage.result))(stage)} (watched ${span(stage.watched_seconds)})`)));
    this.problems.replaceChildren(...problems.map(({ result, error, count, ids }) => h('li', {}, `${letters(count)} ${result}${error ? `: ${error}` : ''}`, h('small', {}, `${ids.join(', ')}${count > ids.length ? ', …' : ''}`))));
    const lines = said.map((line) => line.replace(/^redrive: /, ''));
    say(this.said, lines.join('\n'));
    const last = lines.at(-1) ?? '';
    const words = last.length > LONGEST ? `${last.slice(0, LONGEST)}…` : last;
    this.stop.hidden = ended !== null;
    say(this.stop, stopping ? 'Stop now' : 'Stop');
    this.stop.title = stopping ? 'Does not wait for calls that are on their way' : '';
    const isDone = ended === 0 && done === all;
    this.verdict.className = `verdict ${ended === null ? 'running' : isDone ? 'done' : 'dead'}`;
    say(this.verdict, ended === null ? (stopping ? 'Stopping…' : words || 'Starting…')
      : isDone ? 'Done.'
        : ended === 0 ? `Ended: ${number(done)} of ${number(all)} ${PAST[verb]}. ${words}`
          : stopping ? `Stopped. ${words}` : `Ended with exit code ${ended}. ${words}`);
  }
}
