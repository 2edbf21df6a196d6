// Several runs next to each other: their curves in one chart each, and values of config and environment that differ.
import {get, runPath} from './api.js';
import {Chart, Zoom, legend} from './chart.js';
import {controls, optionsOf} from './controls.js';
import {diffView} from './diff.js';
import {mediaView} from './media.js';
import {spaceView} from './space.js';
import {briefName, el, flattened, number, runLink, section, status, table} from './view.js';

const MOST_RUNS = 16;

const chooser = () => el('form',
  {class: 'bar', onsubmit: (event) => {
    event.preventDefault();
    const names = new FormData(event.target).get('runs').split(/[\s,]+/).filter(Boolean);
    location.hash = `#/compare?${names.map((name) => `run=${encodeURIComponent(name)}`).join('&')}`;
  }},
  el('label', {}, 'Runs, by name', el('input', {name: 'runs', size: 40, placeholder: 'wide narrow'})),
  el('button', {}, 'Compare'));

const plain = (value) =>
  (value === undefined ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** A row for each dotted key whose values are not all the same. */
const differences = (title, runs, pick) => {
  const values = runs.map((run) => flattened(pick(run)));
  const keys = [...new Set(values.flatMap(Object.keys))].sort();
  const rows = keys.filter((key) => new Set(values.map((each) => plain(each[key]))).size > 1)
    .map((key) => [key, ...values.map((each) => plain(each[key]))]);
  if (!rows.length) return section(title, el('p', {class: 'quiet'}, 'No differences.'));
  return section(title, table(title, [{title: 'Key'}, ...runs.map((run) => ({title: run.name}))], rows));
};

const lastMetrics = (runs) => {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.metrics ?? {})))];
  return section('Last metrics',
    table('Last metrics',
      [{title: 'Metric'}, ...runs.map((run) => ({title: run.name, number: true}))],
      keys.map((key) => [briefName(key), ...runs.map((run) => number(run.metrics?.[key] ?? null))])));
};

const curveCharts = async (runs, query, signal) => {
  const zoom = new Zoom();
  const box = el('div', {class: 'charts'});
  const namesOf = async (run) => (await get(`${runPath(run.name)}/curves`, {}, signal)).names;
  const named = await Promise.all(runs.map(namesOf));
  const names = [...new Set(named.flat())].filter((each) => !each.includes('/operators/')).slice(0, 24);
  const charts = names.map((name) => new Chart(name, zoom, signal));
  box.append(...charts.map((chart) => chart.node));
  const load = async () => Promise.all(charts.map(async (chart) => {
    const curves = await Promise.all(runs.map(async (run, at) => {
      if (!named[at].includes(chart.title)) return {name: run.name, steps: [], times: [], min: []};
      const asked = {name: chart.title, points: 600, from: zoom.from, to: zoom.to};
      const curve = await get(`${runPath(run.name)}/curve`, asked, signal);
      return {...curve, name: run.name};
    }));
    chart.show(curves, optionsOf(query));
  }));
  const redraw = () => charts.forEach((chart) => chart.configure(optionsOf(query)));
  zoom.addEventListener('change', () => load().catch(() => {}), {signal});
  await load();
  return section('Curves', controls(query, zoom, redraw), legend(runs.map((run) => run.name)), box);
};

const codeDifference = async ([first, second], signal) => {
  let files;
  try {
    const answer = await get('api/compare', {a: first.name, b: second.name}, signal);
    files = answer.code?.files ?? [];
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return section('Code', el('p', {class: 'quiet'}, error.message));
  }
  if (!files.length) return section('Code', el('p', {class: 'quiet'}, 'No differences.'));
  return section('Code', files.map((file) => el('details', {open: files.length < 4},
    el('summary', {}, file.path || file.kind), diffView(file.diff ?? ''))));
};

export const showCompare = async ({query}, main, signal) => {
  const names = query.getAll('run').slice(0, MOST_RUNS);
  main.replaceChildren(el('h1', {}, 'Compare'), chooser());
  if (names.length < 2) {
    main.append(el('p', {class: 'quiet'},
      'Choose two runs or more: here by name, or with the boxes on the page Runs.'));
    return;
  }
  const runs = await Promise.all(names.map((name) => get(runPath(name), {}, signal)));
  main.append(
    table('Runs', [{title: 'Run'}, {title: 'Status'}], runs.map((run) => [runLink(run.name), status(run.status)])),
    await curveCharts(runs, query, signal),
    await mediaView(runs, signal),
    runs.length > 2 ? spaceView(runs, query) : '',
    lastMetrics(runs),
    differences('Config', runs, (run) => run.config),
    differences('Scaling', runs, (run) => run.scaling),
    differences('Environment', runs, ({environment: {command, job, ...rest}}) => rest));
  if (runs.length === 2) main.append(await codeDifference(runs, signal));
};
