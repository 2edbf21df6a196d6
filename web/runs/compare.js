// Several runs next to each other: their curves in one chart each, and values of config and environment that differ.
import {get, runPath} from '../server/api.js';
import {Curves} from '../chart/curves.js';
import {diffView} from '../run/diff.js';
import {MediaView} from '../media/media.js';
import {eachMetric, numbersOf} from '../base/metrics.js';
import {objectiveOf} from '../sweep/objective.js';
import {spaceView} from '../sweep/space.js';
import {clipped, clippedValue, el, flattened, linkTo, number, runLink, section, status, table} from '../base/view.js';

const FEW_RUNS = 16;

const chooser = () => el('form',
  {class: 'bar', onsubmit: (event) => {
    event.preventDefault();
    const names = event.target.elements.runs.value.split(/[\s,]+/).filter(Boolean);
    location.hash = `#/compare?${names.map((name) => `run=${encodeURIComponent(name)}`).join('&')}`;
  }},
  el('label', {}, 'Runs, by name', el('input', {name: 'runs', size: 40, placeholder: 'wide narrow'})),
  el('button', {}, 'Compare'));

const plain = (value) => (value === undefined ? '–' : clippedValue(value));

/** A row for each dotted key whose values are not all the same. */
const differences = (title, runs, pick) => {
  const values = runs.map((run) => flattened(pick(run)));
  const keys = [...new Set(values.flatMap(Object.keys))].sort();
  const rows = keys.filter((key) => new Set(values.map((each) => JSON.stringify(each[key]))).size > 1)
    .map((key) => [clipped(key), ...values.map((each) => plain(each[key]))]);
  if (!rows.length) return section(title, el('p', {class: 'quiet'}, 'No differences.'));
  return section(title, table(title, [{title: 'Key'}, ...runs.map((run) => ({title: run.name}))], rows));
};

const lastMetrics = (runs) => {
  const values = runs.map((run) => new Map(eachMetric(run.metrics)));
  const keys = [...new Set(values.flatMap((each) => [...each.keys()]))];
  const textOf = (value) => (typeof value === 'number' ? number(value) : value == null ? '' : clippedValue(value));
  return section('Last metrics',
    table('Last metrics',
      [{title: 'Metric'}, ...runs.map((run) => ({title: run.name, number: true}))],
      keys.map((key) => [clipped(key), ...values.map((each) => textOf(each.get(key)))])));
};

const curveCharts = async (runs, query, signal) => {
  const curves = new Curves({runs, query, signal});
  await curves.find();
  await curves.load();
  return curves.node('Curves');
};

const codeDifference = async (first, second, signal) => {
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
  const all = query.getAll('run');
  const names = all.slice(0, Number(query.get('runs') ?? FEW_RUNS));
  main.replaceChildren(el('h1', {}, 'Compare'), chooser());
  if (names.length < 2) {
    main.append(el('p', {class: 'quiet'},
      'Choose two runs or more: here by name, or with the boxes on the page Runs.'));
    return;
  }
  if (names.length < all.length) {
    const more = new URLSearchParams(query);
    more.set('runs', String(Math.min(all.length, names.length + FEW_RUNS)));
    main.append(el('p', {role: 'status'}, `The first ${names.length} of ${all.length} runs. `,
      linkTo(`compare?${more}`, `Show ${more.get('runs')}`)));
  }
  const runs = await Promise.all(names.map((name) => get(runPath(name), {}, signal)));
  const media = new MediaView(runs, query, signal);
  await media.load();
  main.append(
    table('Runs', [{title: 'Run'}, {title: 'Status'}], runs.map((run) => [runLink(run.name), status(run.status)])),
    await curveCharts(runs, query, signal),
    media.node,
    runs.length > 2 ? spaceView(runs, query, objectiveOf({}, numbersOf(runs))) : '',
    lastMetrics(runs),
    differences('Config', runs, (run) => run.config),
    differences('Scaling', runs, (run) => run.scaling),
    differences('Environment', runs, ({environment: {command, job, ...rest}}) => rest));
  if (runs.length === 2) main.append(await codeDifference(runs[0], runs[1], signal));
};
