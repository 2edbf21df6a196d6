// The x of curves: steps, reports, the time since the start, the clock, or the values of another metric of the run.
import {LISTS} from '../server/curvelists.js';
import {sinceText} from './ticks.js';
import {number, time} from '../base/view.js';

const LEAST_TIME = 1e8; // seconds since 1970
const METRIC = 'metric:';
const TITLES = {steps: 'step', reports: 'report', time: 'time since the start', clock: 'time (UTC)'};
const UNITS = {steps: 'count', reports: 'count', time: 's', clock: 'clock'};

/** The setting for the values of a metric. */
export const byMetric = (name) => METRIC + name;

/** The name of the metric whose values are x; undefined for another setting. */
export const metricOf = (by) => (by.startsWith(METRIC) ? by.slice(METRIC.length) : undefined);

/** Whether the steps are Unix times in seconds, as in what a node records of itself. */
export const isTimed = ({steps: [first], times}) => first >= LEAST_TIME && Math.abs(first - times[0] / 1000) < 2;

/** The axis of a chart, by the setting: charts with the same axis show the same part. */
export const axisOf = (by, steps, areTimed) => by || (areTimed ? 'time' : steps);

export const titleOf = (axis) => metricOf(axis) ?? TITLES[axis];
export const unitOfX = (axis) => UNITS[axis] ?? '';

const momentOf = (axis, curve, ms) => (axis === 'clock' ? ms / 1000 : (ms - (curve.start ?? curve.times[0])) / 1000);

/** Whether a moment has a place on the axis. */
export const isOfTime = (axis) => axis === 'time' || axis === 'clock';

/** The x of a moment in ms since 1970; undefined where the axis has no place for it. */
export const xAt = (axis, curve, ms) => (isOfTime(axis) ? momentOf(axis, curve, ms) : undefined);

/** The x of each point of a curve. */
export const xsOf = (axis, curve) => {
  if (isOfTime(axis)) return (curve.moments ??= {})[axis] ??= curve.times.map((ms) => momentOf(axis, curve, ms));
  return metricOf(axis) === undefined ? curve.steps : curve.xs ?? [];
};

/** "step 12", "12.3 s", "2026-11-21 14:03:05", "epoch 3". */
export const xText = (axis, value) => {
  if (axis === 'time') return sinceText(value);
  if (axis === 'clock') return `${time(new Date(value * 1000).toISOString())} UTC`;
  return `${titleOf(axis)} ${number(value, 9)}`;
};

/** The place of the last value that is not larger; -1 without one. Values are sorted. */
const lastUpTo = (values, value) => {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};

/** The place of the nearest value; -1 without any. */
export const nearest = (values, value) => {
  const below = lastUpTo(values, value);
  if (below + 1 >= values.length) return below;
  return below >= 0 && value - values[below] < values[below + 1] - value ? below : below + 1;
};

/** The curve with the values of another curve as its x, sorted by them. A point has the value that was recorded last
    before it, by step or by time. Points before the first value are left out. */
export const over = (curve, other, key) => {
  const values = other.mean ?? other.min;
  const xs = curve[key].map((each) => values[lastUpTo(other[key], each)] ?? null);
  const places = [...xs.keys()].filter((at) => xs[at] !== null).sort((a, b) => xs[a] - xs[b] || a - b);
  const lists = LISTS.filter((list) => curve[list]).map((list) => [list, places.map((at) => curve[list][at])]);
  return {...curve, ...Object.fromEntries(lists), xs: places.map((at) => xs[at])};
};
