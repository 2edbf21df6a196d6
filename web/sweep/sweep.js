// Sweeps: those of the store, and the trials of one. A trial is a run with the tag sweep:NAME.
import {follow, get} from '../server/api.js';
import {counting} from '../server/clock.js';
import {metricAt, numberAt, numbersOf} from '../base/metrics.js';
import {objectiveOf, objectiveWith, ranked} from './objective.js';
import {choice, spaceView, varying} from './space.js';
import {bestView, countReports, importanceView, rungView} from './trials.js';
import {clipped, el, facts, flattened, keepingFocus, later, linkTo} from '../base/view.js';
import {number, runLink, section, status, table, time} from '../base/view.js';

const PAGE_ROWS = 1000;
const MOST_TRIALS = 5000;
const MOST_COMPARED = 8;
const PREFIX = 'sweep:';

const showSweeps = async (main, signal) => {
  const {tags, total} = await get('api/tags', {limit: PAGE_ROWS}, signal);
  const sweeps = tags.filter(({tag}) => tag.startsWith(PREFIX)).map(({tag, runs, started_at: started}) => [
    linkTo(`sweep/${encodeURIComponent(tag.slice(PREFIX.length))}`, clipped(tag.slice(PREFIX.length))), runs,
    time(started)]);
  main.replaceChildren(el('h1', {}, 'Sweeps'),
    sweeps.length
      ? table('Sweeps',
        [{title: 'Sweep'}, {title: 'Trials', number: true}, {title: 'Last begun (UTC)', time: true}],
        sweeps)
      : el('p', {class: 'quiet'}, 'No sweeps here. `rtrain sweep FILE --grid lr=0.1,0.01` makes one.'),
    total > tags.length ? el('p', {class: 'quiet'}, `Of the newest ${tags.length} of ${total} tags.`) : '');
};

const counts = (runs) =>
  [...Map.groupBy(runs, (run) => run.status)].map(([name, each]) => `${each.length} ${name}`).join(', ');

const trialTable = (title, runs, keys, metric) => table(title,
  [{title: 'Trial'}, {title: 'Status'}, {title: metric ? clipped(metric, 30) : 'Metric', number: true},
    ...keys.map((key) => ({title: clipped(key, 30), number: true})), {title: 'Ran', number: true}],
  runs.map((run) => {
    const config = flattened(run.config);
    return [runLink(run.name), status(run.status), number(metric ? metricAt(run.metrics, metric) : null),
      ...keys.map((key) => number(config[key] ?? null)), counting(run.running_s, run.status !== 'RUNNING')];
  }));

const goalText = ({metric, mode, isOwn}) => {
  if (!metric) return 'No metric is known by which trials could be compared: choose one.';
  const why = isOwn ? 'the metric of the sweep' : 'the sweep names no metric that was reported: this one is usual';
  return [clipped(metric), ` (${mode}; ${why})`];
};

const bestFact = ([best], {metric}) => {
  const value = best && metric ? numberAt(best, metric) : undefined;
  return value === undefined ? '' : el('span', {}, runLink(best.name), ' ', clipped(metric), ` ${number(value)}`);
};

/** All trials of a sweep, at most MOST_TRIALS: {runs, total}. */
const trialsOf = async (name, signal) => {
  const runs = [];
  for (;;) {
    const query = {tag: PREFIX + name, limit: PAGE_ROWS, offset: runs.length, config: true};
    const page = await get('api/runs', query, signal);
    runs.push(...page.runs);
    const isAll = runs.length >= page.total || !page.runs.length;
    if (isAll || runs.length >= MOST_TRIALS) return {runs, total: page.total};
  }
};

const showSweep = async (name, query, main, signal) => {
  const box = el('div');
  const own = await get('api/sweep', {name}, signal).catch((error) => {
    if (error.name === 'AbortError') throw error;
    return {metric: null, mode: null};
  });
  let runs = [];
  let total = 0;
  const reports = new Map();
  const content = () => {
    const metrics = numbersOf(runs);
    const usual = objectiveOf(own, metrics);
    const objective = objectiveWith(usual, query.get('metric') ?? usual.metric);
    objective.mode = query.get('mode') ?? objective.mode;
    const {good, failed} = ranked(runs, objective);
    const compared = good.slice(0, MOST_COMPARED).map((run) => `run=${encodeURIComponent(run.name)}`);
    const keys = varying(runs);
    const trials = el('div');
    const list = (chosen) => trials.replaceChildren(
      trialTable('Trials', good.filter((run) => chosen.includes(run)), keys, objective.metric));
    return [
      facts([
        ['Trials', `${runs.length}: ${counts(runs)}`],
        ['Compared by', goalText(objective)],
        ['Best', bestFact(good, objective)],
      ]),
      total > runs.length ? el('p', {class: 'quiet'}, `The newest ${runs.length} of ${total} trials.`) : '',
      el('div', {class: 'bar'},
        choice('Metric', 'metric', query, usual.metric ? metrics : ['', ...metrics], usual.metric, draw),
        choice('Best is', 'mode', query, ['min', 'max'], objective.mode, draw),
        linkTo(`compare?${compared.join('&')}`, `Compare the best ${compared.length}`),
        linkTo(`?tag=${encodeURIComponent(PREFIX + name)}`, 'Among the runs')),
      spaceView(good, query, objective, list),
      importanceView(good, keys, objective.metric),
      bestView(good, objective),
      rungView(good, own, objective, reports),
      section('Trials', trials),
      failed.length
        ? section('Failed trials', trialTable('Failed trials', failed, keys, objective.metric))
        : '',
    ];
  };
  const draw = () => keepingFocus(box, () => box.replaceChildren(...content()));
  const load = async () => {
    ({runs, total} = await trialsOf(name, signal));
    if (own.milestones?.length && own.metric) await countReports(runs, own.metric, reports, signal);
    draw();
  };
  main.replaceChildren(el('h1', {}, 'Sweep ', clipped(name)), box);
  await load();
  const again = later(500, () => load().catch(() => {}));
  follow('api/events', {}, {runs: (changed) => {
    if (changed.some((run) => run.tags.includes(PREFIX + name))) again();
  }}, signal);
};

export const showSweepPage = ({parts: [, name], query}, main, signal) =>
  (name === undefined ? showSweeps(main, signal) : showSweep(name, query, main, signal));
