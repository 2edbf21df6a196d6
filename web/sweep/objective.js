// By what trials of a sweep are compared: the sweep's own metric and mode, else those that `rtrain sweep` takes without
// any, else a loss, else nothing.
import {numberAt} from '../base/metrics.js';

// As modules/rtrain/tune/objective.lua has them.
const USUAL = [['val_loss', 'min'], ['loss', 'min'], ['val_accuracy', 'max'], ['accuracy', 'max'], ['val_acc', 'max'],
  ['acc', 'max']];
const FAILED = ['ERRORED', 'LOST'];

const guessedMode = (metric) => (/acc|score|reward|auc|f1|precision|recall|iou|bleu/i.test(metric) ? 'max' : 'min');

/** own: {metric, mode}, each of them or null. metrics: names that the trials have reported. metric: '' for none. */
export const objectiveOf = (own, metrics) => {
  const metric = own.metric
    ?? USUAL.map(([name]) => name).find((name) => metrics.includes(name))
    ?? metrics.find((name) => /val.*loss/i.test(name))
    ?? metrics.find((name) => /loss/i.test(name))
    ?? '';
  const usual = USUAL.find(([name]) => name === metric);
  return {metric, mode: own.mode ?? usual?.[1] ?? guessedMode(metric), isOwn: Boolean(own.metric)};
};

/** The same with another metric. */
export const objectiveWith = (objective, metric) =>
  (metric === objective.metric ? objective : {metric, mode: guessedMode(metric), isOwn: false});

/** {good, failed}: the trials that count, the best first and those without the metric last, and those that failed. */
export const ranked = (runs, {metric, mode}) => {
  const failed = runs.filter((run) => FAILED.includes(run.status));
  const good = runs.filter((run) => !failed.includes(run));
  const valueOf = (run) => (metric ? numberAt(run, metric) : undefined) ?? (mode === 'max' ? -Infinity : Infinity);
  good.sort((a, b) => {
    const [first, second] = [valueOf(a), valueOf(b)];
    if (first === second) return a.name < b.name ? -1 : 1;
    return (first < second) === (mode === 'max') ? 1 : -1;
  });
  return {good, failed};
};
