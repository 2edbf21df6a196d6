// The page of one run. Errors come first; a running run is followed live.
import {mayWrite, noteView, runActions} from './actions.js';
import {fileUrl, follow, get, runPath} from './api.js';
import {counting} from './clock.js';
import {Curves} from './curves.js';
import {diffView} from './diff.js';
import {logView} from './log.js';
import {mediaView} from './media.js';
import {eachMetric, metricsView} from './metrics.js';
import {stackView} from './stack.js';
import {storedAt} from './stored.js';
import {timeline} from './timeline.js';
import {bytes, clipped, clippedValue, el, errorText, facts, flattened, isOver, keepingFocus, linkTo} from './view.js';
import {number, section, status, table, tagsView, time} from './view.js';

const MOST_METRICS = 20;
const MOST_ROWS = 1000;

const summary = (run, metrics) => facts([
  ['Status', el('span', {}, status(run.status), run.live ? ' live' : '')],
  ['Started', run.started_at && [`${time(run.started_at)} UTC, `, counting(run.duration_s, isOver(run.status))]],
  ['Workers', run.num_workers],
  ['Metrics', metrics],
  ['Script', run.script],
  ['Tags', run.tags.length ? tagsView(run.tags) : ''],
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

/** That a list of the run has only its newest rows. */
const cutText = (rows) =>
  (rows.length >= MOST_ROWS ? el('p', {class: 'quiet'}, `The newest ${MOST_ROWS}; the API has all.`) : '');

const checkpointTable = (rows) => {
  if (!rows.length) return '';
  return section('Checkpoints',
    cutText(rows),
    table('Checkpoints',
      [{title: 'Name'}, {title: 'Report', number: true}, {title: 'Created (UTC)', time: true},
        {title: 'Size', number: true}, {title: ''}, {title: 'Metrics', wide: true}],
      rows.map((each) => [each.name, each.index, time(each.created_at), bytes(each.size_bytes),
        [each.best && 'best', each.latest && 'latest', each.status !== 'COMMITTED' && each.status.toLowerCase()]
          .filter(Boolean).join(' '),
        metricsView(each.metrics)])));
};

const traces = async (run, signal) => {
  if (storedAt) return '';
  const {traces: rows} = await get(`${runPath(run.name)}/traces`, {limit: MOST_ROWS}, signal);
  return rows.length
    ? section('Traces',
      cutText(rows),
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
    cutText(run.annotations),
    table('Annotations',
      [{title: 'Time (UTC)', time: true}, {title: 'Rank', number: true}, {title: 'Severity'}, {title: 'Text'}],
      run.annotations.map((note) => [time(note.time), note.rank, note.severity, note.text])));
};

const events = (run) => {
  if (!run.events.length) return '';
  return section('Controller',
    cutText(run.events),
    el('pre', {tabindex: 0}, run.events.map((event) => `${time(event.time)} ${event.level}  ${event.text}\n`)));
};

const values = (title, map) => {
  const rows = Object.entries(flattened(map)).map(([key, value]) => [clipped(key), clippedValue(value)]);
  return rows.length ? section(title, table(title, [{title: 'Key'}, {title: 'Value'}], rows)) : '';
};

/** All last metrics, folded, if the summary has only some. */
const allMetrics = (metrics, isOpen) => {
  const all = eachMetric(metrics);
  if (all.length <= MOST_METRICS) return '';
  return el('details', {open: isOpen}, el('summary', {}, `All ${all.length} last metrics`),
    table('Last metrics', [{title: 'Metric'}, {title: 'Value'}],
      all.map(([name, value]) => [clipped(name), clippedValue(value)])));
};

const sourceView = (source) => el('details', {}, el('summary', {}, source.kind === 'diff' ? 'git diff' : source.path),
  source.kind === 'diff' ? diffView(source.text) : el('pre', {tabindex: 0}, source.text));

export const showRun = async ({parts: [, name], query}, main, signal) => {
  const path = runPath(name);
  const live = document.getElementById('live');
  const head = el('div');
  const metrics = el('div');
  const checkpoints = el('div');
  const rest = el('div');
  const media = el('div');
  const writes = await mayWrite();
  const showMetrics = (last) => {
    const isOpen = metrics.querySelector('details')?.open;
    metrics.replaceChildren(...metricsView(last, MOST_METRICS), allMetrics(last, isOpen));
  };
  let run;
  const fill = async () => {
    run = await get(path, {}, signal);
    const error = errorText(run.error);
    showMetrics(run.metrics);
    checkpoints.replaceChildren(checkpointTable(run.checkpoints));
    keepingFocus(head, () => head.replaceChildren(
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
      timeline(run)));
    rest.replaceChildren(
      ranks(run),
      writes && run.live ? stackView(run) : '',
      checkpoints,
      await traces(run, signal),
      notes(run),
      events(run),
      noteView(run, writes, fill));
  };
  await fill();
  const marks = run.annotations.map((note) => ({time: Date.parse(note.time), text: note.text}));
  const curves = new Curves({runs: [run], query, signal, marks});
  const {sources} = await get(`${path}/sources`, {}, signal);
  main.replaceChildren(
    head,
    curves.node('Curves'),
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
  let saved;
  const fillCheckpoints = async () => {
    const {checkpoints: rows, total} = await get(`${path}/checkpoints`, {limit: MOST_ROWS}, signal);
    const newest = total > MOST_ROWS
      ? (await get(`${path}/checkpoints`, {limit: MOST_ROWS, offset: total - MOST_ROWS}, signal)).checkpoints
      : rows;
    checkpoints.replaceChildren(checkpointTable(newest));
  };
  const stop = follow(`${path}/events`, {}, {runs: ([now]) => {
    const rate = now.reports_per_s ? `, ${number(now.reports_per_s, 3)}/s` : '';
    live.textContent = isOver(now.status) ? '' : `live: ${now.reports} reports${rate}`;
    showMetrics(now.metrics);
    curves.reload([...eachMetric(now.metrics), ...eachMetric(now.logged)]
      .filter(([metric, value]) => typeof value === 'number' && metric !== 'step').map(([metric]) => metric));
    if (saved !== now.last_checkpoint) fillCheckpoints().catch(() => {});
    saved = now.last_checkpoint;
    const next = `${now.status} ${now.attempt}`;
    if (next !== state) fill().catch(() => {});
    state = next;
    if (isOver(now.status)) stop(); // it would reconnect
  }}, signal);
};
