// The page of one run. Errors come first; a running run is followed live.
import {mayWrite, noteView, runActions} from './actions.js';
import {fileUrl, follow, get, runPath} from './api.js';
import {Chart, Zoom} from './chart.js';
import {controls, optionsOf} from './controls.js';
import {diffView} from './diff.js';
import {logView} from './log.js';
import {mediaView} from './media.js';
import {stackView} from './stack.js';
import {storedAt} from './stored.js';
import {timeline} from './timeline.js';
import {brief, briefName, bytes, duration, el, errorText, facts, flattened, isOver, linkTo} from './view.js';
import {metricsText, number, section, status, table, time} from './view.js';

const MOST_CHARTS = 60;
const MOST_METRICS = 20;
const POINTS = 800;

/** Charts of all metrics of a run. */
class Curves {
  constructor(run, query, signal) {
    this.path = runPath(run.name);
    this.query = query;
    this.signal = signal;
    this.marks = run.annotations.map((note) => ({time: Date.parse(note.time), text: note.text}));
    this.zoom = new Zoom();
    this.charts = new Map();
    this.box = el('div', {class: 'charts'});
    this.zoom.addEventListener('change', () => this.reload(), {signal});
  }

  node() {
    const redraw = () => this.charts.forEach((chart) => chart.configure(optionsOf(this.query)));
    return section('Curves', controls(this.query, this.zoom, redraw), this.box);
  }

  /** Adds charts for metrics without a chart. */
  async find() {
    const {names} = await get(`${this.path}/curves`, {}, this.signal);
    if (names.length && !this.charts.size) this.box.replaceChildren();
    for (const name of names.filter((each) => !each.includes('/operators/')).slice(0, MOST_CHARTS)) {
      if (this.charts.has(name)) continue;
      const chart = new Chart(name, this.zoom, this.signal);
      this.charts.set(name, chart);
      this.box.append(chart.node);
    }
    if (!names.length) this.box.replaceChildren(el('p', {class: 'quiet'}, 'Nothing was reported yet.'));
  }

  async load() {
    const {from, to} = this.query.get('by') === 'time' ? {} : this.zoom;
    await Promise.all([...this.charts].map(async ([name, chart]) => {
      const curve = await get(`${this.path}/curve`, {name, points: POINTS, from, to}, this.signal);
      chart.show([curve], optionsOf(this.query), this.marks);
    }));
  }

  /** Reloads, one load at a time: a request during a load starts another one afterwards. `names`: the metrics. */
  async reload(names = []) {
    this.isUnknown ||= names.some((name) => !this.charts.has(name)) && this.charts.size < MOST_CHARTS;
    this.isStale = true;
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      while (this.isStale && !this.signal.aborted) {
        const began = performance.now();
        this.isStale = false;
        if (this.isUnknown) await this.find();
        this.isUnknown = false;
        await this.load();
        // A long run costs the server more, so the pause is as long as the load took.
        await new Promise((resolve) => setTimeout(resolve, Math.max(50, performance.now() - began)));
      }
    } catch { /* the next event tries again */ }
    this.isLoading = false;
  }
}

const summary = (run, metrics) => facts([
  ['Status', el('span', {}, status(run.status), run.live ? ' live' : '')],
  ['Started', run.started_at && `${time(run.started_at)} UTC, ${duration(run.duration_s)}`],
  ['Workers', run.num_workers],
  ['Metrics', metrics],
  ['Script', run.script],
  ['Tags', run.tags.length ? run.tags.map((tag) => el('span', {class: 'tag'}, briefName(tag))) : ''],
  ['Folder', run.path],
  ['Result', run.return_value === null ? '' : JSON.stringify(run.return_value)],
]);

const endOf = (worker) => {
  if (worker.signal != null) return `signal ${worker.signal}`;
  return worker.exit_code != null ? `exit ${worker.exit_code}` : '';
};

const outputLink = (run, attempt, {rank}) => {
  if (storedAt) return '';
  const href = fileUrl(`${runPath(run.name)}/logs/file`, {rank, attempt: attempt.attempt});
  return el('a', {href, 'aria-label': `Output of rank ${rank}`}, 'as text');
};

const ranks = (run) => {
  const last = run.attempts.at(-1);
  if (!last?.workers.length) return '';
  return section('Ranks',
    el('p', {}, linkTo(`nodes?run=${encodeURIComponent(run.name)}`, 'Their nodes')),
    table('Ranks',
      [{title: 'Rank', number: true}, {title: 'Node'}, {title: 'Process', number: true}, {title: 'Device'},
        {title: 'Ended'}, {title: storedAt ? '' : 'Output'}],
      last.workers.map((worker) => [
        linkTo(`run/${encodeURIComponent(run.name)}/rank/${worker.rank}`, `rank ${worker.rank}`),
        worker.host, worker.pid, worker.device, endOf(worker), outputLink(run, last, worker),
      ])));
};

const checkpoints = (run) => {
  if (!run.checkpoints.length) return '';
  return section('Checkpoints',
    table('Checkpoints',
      [{title: 'Name'}, {title: 'Report', number: true}, {title: 'Created (UTC)', time: true},
        {title: 'Size', number: true}, {title: ''}, {title: 'Metrics', wide: true}],
      run.checkpoints.map((each) => [each.name, each.index, time(each.created_at), bytes(each.size_bytes),
        [each.best && 'best', each.latest && 'latest', each.status !== 'COMMITTED' && each.status.toLowerCase()]
          .filter(Boolean).join(' '),
        metricsText(each.metrics)])));
};

const traces = async (run, signal) => {
  if (storedAt) return '';
  const {traces: rows} = await get(`${runPath(run.name)}/traces`, {}, signal);
  return rows.length
    ? section('Traces',
      table('Traces',
        [{title: 'File'}, {title: 'Recorded (UTC)', time: true}, {title: 'Size', number: true}],
        rows.map(({name, time: at, bytes: size}) => {
          const href = fileUrl(`${runPath(run.name)}/traces/file`, {name});
          return [el('a', {href, download: name}, name), time(at), bytes(size)];
        })))
    : '';
};

const notes = (run) => {
  if (!run.annotations.length) return '';
  return section('Annotations',
    table('Annotations',
      [{title: 'Time (UTC)', time: true}, {title: 'Rank', number: true}, {title: 'Severity'}, {title: 'Text'}],
      run.annotations.map((note) => [time(note.time), note.rank, note.severity, note.text])));
};

const events = (run) => {
  if (!run.events.length) return '';
  return section('Controller',
    el('pre', {tabindex: 0}, run.events.map((event) => `${time(event.time)} ${event.level}  ${event.text}\n`)));
};

const values = (title, map) => {
  const textOf = (value) => brief(typeof value === 'object' ? JSON.stringify(value) : String(value));
  const rows = Object.entries(flattened(map)).map(([key, value]) => [briefName(key), textOf(value)]);
  return rows.length ? section(title, table(title, [{title: 'Key'}, {title: 'Value'}], rows)) : '';
};

const sourceView = (source) => el('details', {}, el('summary', {}, source.kind === 'diff' ? 'git diff' : source.path),
  source.kind === 'diff' ? diffView(source.text) : el('pre', {tabindex: 0}, source.text));

export const showRun = async ({parts: [, name], query}, main, signal) => {
  const path = runPath(name);
  const live = document.getElementById('live');
  const head = el('div');
  const metrics = el('span');
  const rest = el('div');
  const media = el('div');
  const writes = await mayWrite();
  let run;
  const fill = async () => {
    run = await get(path, {}, signal);
    const error = errorText(run.error);
    metrics.textContent = metricsText(run.metrics, MOST_METRICS);
    head.replaceChildren(
      el('h1', {}, run.name),
      error ? el('p', {class: 'error', role: 'alert'}, error) : '',
      run.problem ? el('p', {class: 'error', role: 'status'}, `Shown as it was: ${run.problem}`) : '',
      run.hangs
        ? el('p', {}, linkTo(`run/${encodeURIComponent(run.name)}/hang`, `Who waited for whom (${run.hangs})`))
        : '',
      run.attempts.at(-1)?.workers.some((worker) => worker.data)
        ? el('p', {}, linkTo(`run/${encodeURIComponent(run.name)}/data`, 'What its datasets do'))
        : '',
      summary(run, metrics),
      writes ? runActions(run, fill) : '',
      timeline(run));
    rest.replaceChildren(
      ranks(run),
      writes && run.live ? stackView(run) : '',
      checkpoints(run),
      await traces(run, signal),
      notes(run),
      events(run),
      noteView(run, writes, fill));
  };
  await fill();
  const curves = new Curves(run, query, signal);
  const {sources} = await get(`${path}/sources`, {}, signal);
  main.replaceChildren(
    head,
    curves.node(),
    media,
    logView(run.name, {}, signal),
    rest,
    values('Config', run.config),
    values('Scaling', run.scaling),
    values('Environment', run.environment),
    sources.length ? section('Code', sources.map(sourceView)) : '');
  await curves.find();
  await curves.load();
  media.replaceChildren(await mediaView([run], signal));
  if (isOver(run.status)) return;
  let state = `${run.status} ${run.attempts.length}`;
  const stop = follow(`${path}/events`, {}, {runs: ([now]) => {
    const rate = now.reports_per_s ? `, ${number(now.reports_per_s, 3)}/s` : '';
    live.textContent = isOver(now.status) ? '' : `live: ${now.reports} reports${rate}`;
    metrics.textContent = metricsText(now.metrics, MOST_METRICS);
    curves.reload(Object.keys({...now.metrics, ...now.logged}));
    const next = `${now.status} ${now.attempt}`;
    if (next !== state) fill().catch(() => {});
    state = next;
    if (isOver(now.status)) stop(); // it would reconnect
  }}, signal);
};
