// Shows the current view, and what all views share: keys, the theme, the lock, and running verbs.

import { help } from './dialogs.js';
import { $, h, say } from './dom.js';
import { ErrorsView } from './errors.js';
import { FleetView } from './fleet.js';
import { HistoryView } from './history.js';
import { QueueView } from './queue.js';
import { RunView } from './run.js';
import { ask } from './server.js';

/** Interval between reads of the queues while the page is visible, in milliseconds. */
const EVERY = 60_000;

const THEMES = ['system', 'light', 'dark'];

export const app = {
  /** The last answer about all queues. */
  known: null,
  /** Deployments of functions by the ARNs of dead-letter queues. */
  deployments: {},
  view: null,

  async refresh(fresh = false) {
    try {
      const first = app.known === null;
      app.known = await ask(fresh ? '/api/fleet?fresh' : '/api/fleet');
      if (first && app.view) $('view').replaceChildren(app.view.element);
      app.show();
      app.view?.refreshed?.();
      app.failed = null;
    } catch (error) {
      app.failed = error.message;
      if (app.known === null) $('view').replaceChildren(h('p', { class: 'verdict', role: 'alert' }, error.message));
      else app.tell(error.message);
    }
  },

  show() {
    const { unlocked, runs } = app.known;
    $('lock').hidden = unlocked.length === 0;
    $('lock').textContent = `Lock ${unlocked.join(', ')}`;
    const running = runs.filter(({ ended }) => ended === null);
    $('running').hidden = running.length === 0;
    if (running.length === 0) return;
    $('running').textContent = `${running.length} run${running.length === 1 ? '' : 's'} in progress`;
    $('running').href = running.length === 1 ? `#/runs/${running[0].number}` : '#/history';
  },

  queue: (arn) => app.known?.fleet.queues.find((queue) => queue.arn === arn),

  isLocked: (account) => !app.known.unlocked.includes(account),

  async unlock(queue, account) {
    app.known.unlocked = (await ask('/api/unlock', { queue: queue.arn, account })).unlocked;
    app.show();
  },

  /** Shows a message for a moment, which screen readers announce. */
  tell(text) {
    say($('said'), text);
    clearTimeout(app.quiet);
    app.quiet = setTimeout(() => say($('said'), ''), 6000);
  },
};

const VIEWS = [
  [/^#\/queue\/([^?]+)(?:\?(.*))?$/, (arn, query) => new QueueView(app, decodeURIComponent(arn), query)],
  [/^#\/runs\/(\d+)$/, (run) => new RunView(app, Number(run))],
  [/^#\/errors$/, () => new ErrorsView(app)],
  [/^#\/history$/, () => new HistoryView(app)],
  [/^/, () => new FleetView(app)],
];

async function route() {
  if (location.hash === '#view') return;
  app.view?.leave?.();
  const [pattern, make] = VIEWS.find(([pattern]) => pattern.test(location.hash));
  const first = app.view === null;
  app.view = make(...(location.hash.match(pattern)?.slice(1) ?? []));
  const part = location.hash.split('/')[1] ?? '';
  for (const link of document.querySelectorAll('[data-view]')) {
    if (link.dataset.view === part || (part === 'queue' && link.dataset.view === '')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  $('view').replaceChildren(app.view.element);
  document.title = `${app.view.title} – redrive console`;
  scrollTo(0, 0);
  // Screen readers announce the new view.
  if (!first) $('view').focus({ preventScroll: true });
  if (app.known) app.view.refreshed?.();
}

function showTheme() {
  const theme = localStorage.getItem('theme') ?? 'system';
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $('theme').textContent = { system: '◐', light: '☀', dark: '☾' }[theme];
  $('theme').setAttribute('aria-label', `Theme: ${theme}`);
  $('theme').title = `Theme: ${theme}`;
}

$('theme').addEventListener('click', () => {
  const theme = localStorage.getItem('theme') ?? 'system';
  localStorage.setItem('theme', THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
  showTheme();
});
$('help').addEventListener('click', help);
$('lock').addEventListener('click', async () => {
  try {
    app.known.unlocked = (await ask('/api/lock', {})).unlocked;
    app.show();
    app.tell('All accounts are locked.');
  } catch (error) {
    app.tell(error.message);
  }
});

const GO = { q: '#/', e: '#/errors', h: '#/history' };

addEventListener('keydown', (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || $('dialog').open) return;
  if (typing) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  if (event.key === '/') document.querySelector('#view input[type="search"]')?.focus();
  else if (event.key === '?') help();
  else if (GO[event.key]) location.hash = GO[event.key];
  else if (!app.view?.key?.(event.key, event)) return;
  event.preventDefault();
});
addEventListener('hashchange', route);
document.addEventListener('visibilitychange', () => !document.hidden && app.refresh());
setInterval(() => !document.hidden && app.refresh(), EVERY);

// Removes the mark of the question about links of other sites.
if (location.search) history.replaceState(history.state, '', `/${location.hash}`);
showTheme();
$('view').append(h('p', { class: 'quiet' }, 'Reading the queues…'));
route();
app.refresh();

// For tests of the page.
window.redrive = app;
