// Metrics of a run by their paths, as commands have them: {val: {loss: 0.5}} has val/loss.
import {clipped, el, number} from './view.js';

/** [[path, value]] of everything that is not a map, in order. */
export const eachMetric = (metrics, prefix = '') => Object.entries(metrics ?? {}).flatMap(([name, value]) => {
  const isMap = value !== null && typeof value === 'object' && !Array.isArray(value);
  return isMap ? eachMetric(value, `${prefix}${name}/`) : [[prefix + name, value]];
});

/** The value at the path; undefined without one. A name that has a slash comes before maps within maps. */
export const metricAt = (metrics, path) => {
  if (metrics === null || typeof metrics !== 'object') return undefined;
  if (Object.hasOwn(metrics, path)) return metrics[path];
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    const found = metricAt(metrics[path.slice(0, slash)], path.slice(slash + 1));
    if (found !== undefined) return found;
  }
  return undefined;
};

/** The number of a run at the path; undefined for what is not a number. */
export const numberAt = (run, path) => {
  const value = metricAt(run.metrics, path);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};

/** The names of all numbers of runs, sorted. */
export const numbersOf = (runs) => [...new Set(runs.flatMap((run) => eachMetric(run.metrics)
  .filter(([, value]) => typeof value === 'number').map(([name]) => name)))].sort();

/** "loss 0.25 accuracy 0.9 and 3 more", as nodes. */
export const metricsView = (metrics, most = 6) => {
  const all = eachMetric(metrics);
  const shown = all.slice(0, most)
    .map(([name, value]) => el('span', {class: 'metric'}, clipped(name), ` ${number(value)} `));
  return all.length > most ? [...shown, el('span', {class: 'quiet'}, `and ${all.length - most} more`)] : shown;
};
