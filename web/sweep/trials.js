// Views over the trials of a sweep: which parameters matter, the best so far, and how far a scheduler let them go.
import {get, runPath} from '../server/api.js';
import {LEAST_TRIALS, importances} from './importance.js';
import {numberAt} from '../base/metrics.js';
import {plane} from '../chart/plane.js';
import {colourFor, strengths} from '../chart/strength.js';
import {clipped, duration, el, flattened, isOver, number, runLink, section, table} from '../base/view.js';

const MOST_PARAMETERS = 20;
const WIDTH = 1000;
const ROW = 14;
const MOST_BARS = 60;
const MOST_COUNTED = 300;

const bar = (share) => el('svg',
  {class: 'share', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
  el('rect', {x: 0, y: 1, width: 100 * Math.min(1, share), height: 8}));

/** keys: the parameters that differ. */
export const importanceView = (runs, keys, metric) => {
  const known = metric ? runs.filter((run) => numberAt(run, metric) !== undefined) : [];
  const title = 'Importance of parameters';
  if (!keys.length) return '';
  if (known.length < LEAST_TRIALS) {
    return section(title, el('p', {class: 'empty'},
      `It is estimated from ${LEAST_TRIALS} trials with the metric: there are ${known.length}.`));
  }
  const configs = known.map((run) => flattened(run.config));
  const columns = Object.fromEntries(keys.map((key) => [key, configs.map((config) => config[key])]));
  const rows = importances(columns, known.map((run) => numberAt(run, metric)));
  return section(title,
    table(title,
      [{title: 'Parameter'}, {title: ''}, {title: 'Share of the variance', number: true},
        {title: 'Correlation of ranks', number: true}],
      rows.slice(0, MOST_PARAMETERS).map(({name, share, correlation}) => [clipped(name), bar(share),
        `${(100 * share).toFixed(0)} %`, correlation === undefined ? '' : correlation.toFixed(2)])),
    el('p', {class: 'quiet'},
      `Of ${known.length} trials. The share is what a parameter explains alone, in a forest of regression trees, `
      + 'averaged over the others (fANOVA of first order): one that matters only together with another has little. '
      + "Correlation: Spearman's; one that is best in the middle has little. A search that prefers good values "
      + 'distorts both.'));
};

const endOf = (run) => Date.parse(run.started_at) / 1000 + (run.running_s ?? 0);

/** Each trial at the time of its end, and the best until then. */
export const bestView = (runs, {metric, mode}) => {
  const known = metric ? runs.filter((run) => run.started_at && numberAt(run, metric) !== undefined) : [];
  if (known.length < 2) return '';
  const from = known.map((run) => Date.parse(run.started_at) / 1000).reduce((a, b) => Math.min(a, b));
  const items = known.map((run) => ({run, x: endOf(run) - from, y: numberAt(run, metric)})).sort((a, b) => a.x - b.x);
  const strengthAt = strengths(items.map((item) => item.y), mode);
  const path = [];
  let best;
  for (const {x, y} of items) {
    if (best !== undefined) path.push([x, best]);
    if (best === undefined || (mode === 'max' ? y > best : y < best)) best = y;
    path.push([x, best]);
  }
  return section('Best so far',
    plane('time since the first trial began', metric, items.map((item, at) => ({
      ...item, colour: colourFor(strengthAt(at)), href: `#/run/${encodeURIComponent(item.run.name)}`,
      title: `${item.run.name}: ${number(item.y)} after ${duration(item.x)}`,
    })), {path, xText: duration}));
};

/** Counts the reports of runs into `counts`, a Map by their names, which keeps those of runs that have ended. */
export const countReports = async (runs, metric, counts, signal) => {
  const asked = runs.slice(0, MOST_COUNTED).filter((run) => !counts.has(run.name) || !isOver(run.status));
  await Promise.all(asked.map(async ({name}) => {
    const {total} = await get(`${runPath(name)}/curve`, {name: metric, rank: 0, points: 1}, signal);
    counts.set(name, total);
  }));
};

/** What a trial has come to, in the scheduler's time. */
const timeOf = (run, {time_attr: name}, counts) => {
  if (name === 'training_iteration') return counts.get(run.name) ?? 0;
  return (name === 'time_total_s' ? run.running_s : numberAt(run, name)) ?? 0;
};

const rungTable = (rungs, trials, {metric, mode}) => table('Rungs',
  [{title: 'Rung', number: true}, {title: 'Trials that came to it', number: true}, {title: 'Went beyond', number: true},
    {title: 'Ended here', number: true}, {title: 'Best of those that ended'}],
  rungs.map((milestone, at) => {
    const next = rungs[at + 1] ?? Infinity;
    const reached = trials.filter(({time}) => time >= milestone);
    const ended = reached.filter(({time}) => time < next);
    const known = ended.filter(({value}) => value !== undefined)
      .sort((a, b) => (mode === 'max' ? b.value - a.value : a.value - b.value));
    return [number(milestone), reached.length, reached.length - ended.length, ended.length,
      known.length ? [runLink(known[0].run.name), ` ${number(known[0].value)}`] : ''];
  }));

/** A bar for each trial as long as it went, the longest first, with the rungs as lines. */
const rungPicture = (rungs, trials) => {
  const most = Math.max(rungs.at(-1), ...trials.map(({time}) => time));
  const px = (time) => 4 + time / most * (WIDTH - 24);
  const height = trials.length * ROW + 24;
  return el('figure', {class: 'plane'}, el('svg', {
    viewBox: `0 0 ${WIDTH} ${height}`, role: 'group', 'aria-label': `How far ${trials.length} trials went`,
  },
  trials.map(({run, time, value, colour}, at) => {
    const title = `${run.name}: ${number(time)}, ${number(value ?? null)}`;
    return el('svg:a', {href: `#/run/${encodeURIComponent(run.name)}`, 'aria-label': title},
      el('rect', {x: 4, y: 20 + at * ROW + 2, width: Math.max(2, px(time) - 4), height: ROW - 4, fill: colour},
        el('title', {}, title)));
  }),
  rungs.map((milestone) => el('g', {},
    el('line', {x1: px(milestone), y1: 16, x2: px(milestone), y2: height, class: 'axis'}),
    el('text', {x: px(milestone), y: 12, 'text-anchor': 'middle'}, number(milestone))))));
};

/** schedule: {time_attr, milestones} of a sweep that stops trials at rungs; empty for another. counts: of reports, by
    the names of trials. */
export const rungView = (all, schedule, objective, counts) => {
  if (!schedule.milestones?.length) return '';
  const runs = counts.size ? all.filter((run) => counts.has(run.name)) : all;
  const rungs = [...schedule.milestones].sort((a, b) => a - b);
  const values = runs.map((run) => (objective.metric ? numberAt(run, objective.metric) : undefined));
  const strengthAt = strengths(values, objective.mode);
  const trials = runs.map((run, at) =>
    ({run, time: timeOf(run, schedule, counts), value: values[at], colour: colourFor(strengthAt(at))}))
    .sort((a, b) => b.time - a.time);
  return section('Trials by rung',
    el('p', {class: 'quiet'}, `At each rung (${schedule.time_attr}) the scheduler lets only the best go on.`),
    rungTable(rungs, trials, objective),
    rungPicture(rungs, trials.slice(0, MOST_BARS)),
    all.length > runs.length
      ? el('p', {class: 'quiet'}, `Of the newest ${runs.length} of ${all.length} trials.`)
      : '',
    trials.length > MOST_BARS
      ? el('p', {class: 'quiet'}, `The ${MOST_BARS} of ${trials.length} that went furthest.`)
      : '');
};
