// The page of all runs: a table that the server filters and sorts, with live updates of running runs.
import {follow, get} from './api.js';
import {spark} from './chart.js';
import {counting} from './clock.js';
import {metricAt, metricsView} from './metrics.js';
import {setQuery} from './place.js';
import {storedAt} from './stored.js';
import {brief, clipped, el, keepingFocus, later, number, runLink, status, tagsView, time} from './view.js';

const ROWS = 100;
const MOST_NAMED = 3;

const field = (label, name, query, attributes, change) => el('label', {}, label,
  el('input', {
    name, value: query.get(name) ?? '', ...attributes, onchange: (event) => change(name, event.target.value.trim()),
  }));

class RunsPage {
  constructor(query, main, signal) {
    this.query = query;
    this.main = main;
    this.signal = signal;
    this.chosen = new Set();
    this.turn = 0;
    this.body = el('tbody');
    this.count = el('p', {class: 'quiet', role: 'status'});
    this.problem = el('p', {class: 'error', role: 'alert'});
    this.damaged = el('div', {role: 'status'});
    this.reload = later(150, () => this.load());
  }

  open() {
    const change = (name, value) => this.change(name, value);
    this.compare = el('button', {disabled: true, onclick: () => this.openComparison()}, 'Compare the chosen');
    const archived = el('input', {
      type: 'checkbox', name: 'archived', checked: this.query.get('archived') === '1',
      onchange: (event) => change('archived', event.target.checked ? '1' : ''),
    });
    const where = {placeholder: 'loss < 0.3 AND config.lr > 0.01', size: 34};
    this.main.replaceChildren(
      el('h1', {}, 'Runs'),
      el('form', {class: 'bar', onsubmit: (event) => event.preventDefault()},
        storedAt ? '' : field('Where', 'where', this.query, where, change),
        field('Tag', 'tag', this.query, {size: 10}, change),
        field('Metric', 'spark', this.query, {placeholder: 'loss', size: 12}, change),
        storedAt ? '' : el('label', {class: 'inline'}, archived, 'archived'),
        this.compare),
      this.problem,
      this.damaged,
      el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Runs'},
        el('table', {}, this.head(), this.body)),
      this.pages(),
      this.count);
  }

  head() {
    const sorted = this.query.get('sort') ?? '';
    const column = (title, key, attributes = {}) => {
      if (!key) return el('th', {scope: 'col', ...attributes}, title);
      const order = sorted === key ? 'ascending' : sorted === `-${key}` ? 'descending' : undefined;
      const next = sorted === `-${key}` ? key : `-${key}`;
      return el('th', {scope: 'col', 'aria-sort': order, ...attributes},
        el('button', {data: {key}, onclick: () => this.change('sort', next)}, title,
          order === 'ascending' ? ' ↑' : order ? ' ↓' : ''));
    };
    const metric = this.query.get('spark');
    return el('thead', {},
      el('tr', {},
        el('th', {scope: 'col'}, el('span', {class: 'hidden'}, 'Choose')),
        column('Name', 'name'),
        column('Status', 'status'),
        column('Started (UTC)', 'started_at', {class: 'wide'}),
        column('Ran', 'running_s', {class: 'number'}),
        column('Workers', 'num_workers', {class: 'number wide'}),
        column('Tags', ''),
        metric ? column(clipped(metric, 30), metric) : '',
        column('Last metrics', '', {class: 'wide'})));
  }

  pages() {
    const turn = (by) => this.change('offset', Math.max(0, this.offset() + by) || '');
    this.before = el('button', {onclick: () => turn(-ROWS)}, 'Newer');
    this.after = el('button', {onclick: () => turn(ROWS)}, 'Older');
    return el('div', {class: 'bar'}, this.before, this.after);
  }

  offset() { return Number(this.query.get('offset') ?? 0); }

  change(name, value) {
    const changes = {[name]: value};
    if (name !== 'offset') changes.offset = '';
    setQuery(changes);
    for (const [key, each] of Object.entries(changes)) {
      if (each === '') this.query.delete(key);
      else this.query.set(key, each);
    }
    keepingFocus(this.main, () => this.main.querySelector('thead').replaceWith(this.head()));
    this.load();
  }

  /** The newest question counts: an earlier one may be answered later. */
  async load() {
    const turn = ++this.turn;
    this.body.setAttribute('aria-busy', 'true');
    const query = {limit: ROWS, offset: this.offset()};
    for (const name of ['where', 'sort', 'tag', 'archived', 'spark']) query[name] = this.query.get(name);
    try {
      const answer = await get('api/runs', query, this.signal);
      if (turn !== this.turn) return;
      this.problem.textContent = '';
      this.show(answer);
    } catch (error) {
      if (error.name === 'AbortError' || turn !== this.turn) return;
      if (error.status !== 400) throw error;
      this.problem.textContent = error.message;
    } finally {
      if (turn === this.turn) this.body.setAttribute('aria-busy', 'false');
    }
  }

  show({runs, total, offset, problems = []}) {
    this.damaged.replaceChildren(
      ...problems.map(({name, problem}) => el('p', {class: 'error'}, `${name} is shown as it was: ${problem}`)));
    keepingFocus(this.body, () => this.body.replaceChildren(...runs.map((run) => this.row(run))));
    this.before.disabled = offset === 0;
    this.after.disabled = offset + runs.length >= total;
    this.count.textContent = total ? `${offset + 1} to ${offset + runs.length} of ${total} runs` : this.emptyText();
  }

  emptyText() {
    const filters = ['where', 'tag'].filter((name) => this.query.get(name));
    if (!filters.length) return 'No runs here. `rtrain run FILE` makes one.';
    const texts = filters.map((name) => `${name} ${brief(this.query.get(name))}`);
    return `No run matches the filter: ${texts.join(', ')}.`;
  }

  row(run) {
    const choose = (event) => {
      this.chosen[event.target.checked ? 'add' : 'delete'](run.name);
      this.compare.disabled = this.chosen.size < 2;
    };
    const metric = this.query.get('spark');
    const value = metric ? metricAt(run.metrics, metric) : undefined;
    return el('tr', {},
      el('td', {},
        el('input', {
          type: 'checkbox', 'aria-label': `Choose ${run.name}`, checked: this.chosen.has(run.name), onchange: choose,
        })),
      el('td', {}, runLink(run.name)),
      el('td', {}, status(run.status), run.archived ? ' archived' : ''),
      el('td', {class: 'time wide'}, time(run.started_at)),
      el('td', {class: 'number'}, counting(run.running_s, run.status !== 'RUNNING')),
      el('td', {class: 'number wide'}, run.num_workers ?? ''),
      el('td', {}, tagsView(run.tags)),
      metric ? el('td', {}, spark(run.spark ?? []), number(value)) : '',
      el('td', {class: 'wide'}, metricsView(run.metrics)));
  }

  openComparison() {
    const runs = [...this.chosen].map((name) => `run=${encodeURIComponent(name)}`).join('&');
    location.hash = `#/compare?${runs}`;
  }
}

export const showRuns = async ({query}, main, signal) => {
  const page = new RunsPage(query, main, signal);
  page.open();
  await page.load();
  const live = document.getElementById('live');
  follow('api/events', {}, {runs: (runs) => {
    const running = runs.filter((run) => run.status === 'RUNNING').map((run) => run.name);
    const more = running.length > MOST_NAMED ? ` and ${running.length - MOST_NAMED} more` : '';
    live.textContent = running.length ? `live: ${running.slice(0, MOST_NAMED).join(', ')}${more}` : '';
    page.reload();
  }}, signal);
};
