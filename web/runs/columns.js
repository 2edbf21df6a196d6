// Columns of the table of runs: how they are called, where their values come from, how they are written. A key is a
// column of `rtrain ls`, a metric, config.KEY, or min(METRIC), max(METRIC), last(METRIC).
import {counting} from '../server/clock.js';
import {eachMetric, metricAt} from '../base/metrics.js';
import {clippedValue, duration, number, status, time} from '../base/view.js';

const FEW_METRICS = 4;
const WIDTH = 110;

// is: how it is written. Where `asked` is set, the row of a run does not have it.
const OWN = {
  name: {title: 'Name', width: 200},
  status: {title: 'Status', is: 'status', width: 100},
  started_at: {title: 'Started (UTC)', is: 'time', width: 165},
  ended_at: {title: 'Ended (UTC)', is: 'time', width: 165},
  running_s: {title: 'Ran', is: 'running', width: 90},
  waiting_s: {title: 'Waited', is: 'duration', width: 90},
  duration_s: {title: 'Duration', is: 'duration', width: 90},
  num_workers: {title: 'Workers', is: 'number', width: 75},
  tags: {title: 'Tags', is: 'tags', width: 150},
  note: {title: 'Note', is: 'note', width: 220, asked: true},
  script: {title: 'Script', width: 180},
  run_id: {title: 'Id', width: 120},
  hostname: {title: 'Host', width: 120, asked: true},
  git_commit: {title: 'Commit', width: 90, asked: true},
  spark: {title: 'Curve', is: 'spark', width: 130},
};

export const OWN_KEYS = Object.keys(OWN).filter((key) => key !== 'name' && key !== 'spark');

/** The metric of min(METRIC) and the like; undefined for other keys. */
const extremeOf = (key) => {
  const found = /^(min|max|last)\((.*)\)$/s.exec(key);
  return found ? {which: found[1], metric: found[2]} : undefined;
};

const titleOf = (key) => {
  const extreme = extremeOf(key);
  if (extreme) return `${extreme.metric} ${extreme.which}`;
  return key.startsWith('config.') ? key.slice('config.'.length) : key;
};

/** {key, title, is, width, asked} of a key. */
export const columnOf = (key) => (OWN[key] ? {key, ...OWN[key]} : {
  key, title: titleOf(key), is: 'value', width: WIDTH, asked: key.startsWith('config.') || extremeOf(key) !== undefined,
});

/** Whether a column of a list of runs has numbers: its first value is one. */
export const isNumeric = ({is}, value) =>
  ['number', 'duration', 'running'].includes(is) || is === 'value' && (value ?? null) !== null
    && typeof value === 'number';

/** The columns of one who has chosen none: with the first metrics of the first runs. */
export const usualKeys = (runs) => {
  const metrics = [...new Set(runs.slice(0, 20).flatMap((run) => eachMetric(run.metrics)
    .filter(([, value]) => typeof value === 'number').map(([name]) => name)))];
  return ['status', ...metrics.slice(0, FEW_METRICS), 'running_s', 'tags', 'started_at'];
};

/** The value of a run in a column. `asked`: the keys whose values are in its cells. */
export const valueOf = (run, key, asked) => {
  const at = asked.indexOf(key);
  if (at >= 0) return run.cells?.[at] ?? null;
  return OWN[key] ? run[key] : metricAt(run.metrics, key);
};

const textOf = {
  status: (value) => status(value),
  time,
  duration,
  value: (value) => (typeof value === 'number' ? number(value) : clippedValue(value)),
};

/** What a cell shows of a value. */
export const written = (column, value, run) => {
  if (value === null || value === undefined) return '';
  if (column.is === 'running') return counting(value, run?.status !== 'RUNNING');
  if (column.key === 'git_commit') return String(value).slice(0, 10);
  return (textOf[column.is] ?? textOf.value)(value);
};

/** The same of a group's cell: the value of all its runs, or mean and deviation. */
export const writtenOfGroup = (column, {value, mean, deviation, count}) => {
  if (mean === undefined) return value === undefined || Array.isArray(value) ? '' : written(column, value);
  const digits = 4;
  const isTime = column.is === 'running' || column.is === 'duration';
  const [middle, band] = isTime ? [duration(mean), duration(deviation)]
    : [number(mean, digits), number(deviation, 2)];
  return count > 1 ? `${middle} ± ${band}` : middle;
};
