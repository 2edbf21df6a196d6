// Sweeps: those of the store, and the trials of one. A trial is a run with the tag sweep:NAME.
import {follow, get} from './api.js';
import {choice, metricsOf, spaceView, varying} from './space.js';
import {duration, el, facts, flattened, later, linkTo, number, runLink, section, status, table, time} from './view.js';

const MOST_TRIALS = 1000;
const PREFIX = 'sweep:';

const showSweeps = async (main, signal) => {
  const {tags} = await get('api/tags', {}, signal);
  const sweeps = tags.filter(({tag}) => tag.startsWith(PREFIX)).map(({tag, runs, started_at: started}) => [
    linkTo(`sweep/${encodeURIComponent(tag.slice(PREFIX.length))}`, tag.slice(PREFIX.length)), runs, time(started)]);
  main.replaceChildren(el('h1', {}, 'Sweeps'),
    sweeps.length
      ? table('Sweeps',
        [{title: 'Sweep'}, {title: 'Trials', number: true}, {title: 'Last begun (UTC)', time: true}],
        sweeps)
      : el('p', {class: 'quiet'}, 'No sweeps here. `rtrain sweep FILE --grid lr=0.1,0.01` makes one.'));
};

const counts = (runs) =>
  [...Map.groupBy(runs, (run) => run.status)].map(([name, each]) => `${each.length} ${name}`).join(', ');

/** The best first; trials without the metric last. */
const ranked = (runs, metric, mode) => {
  const value = (run) => run.metrics?.[metric];
  const known = runs.filter((run) => typeof value(run) === 'number');
  known.sort((a, b) => (mode === 'max' ? value(b) - value(a) : value(a) - value(b)));
  return [...known, ...runs.filter((run) => !known.includes(run))];
};

const trials = (runs, metric, mode) => {
  const keys = varying(runs);
  const order = ranked(runs, metric, mode);
  return table('Trials',
    [{title: 'Trial'}, {title: 'Status'}, {title: metric ?? 'Metric', number: true},
      ...keys.map((title) => ({title, number: true})), {title: 'Ran', number: true}],
    order.map((run) => {
      const config = flattened(run.config);
      return [runLink(run.name), status(run.status), number(run.metrics?.[metric] ?? null),
        ...keys.map((key) => number(config[key] ?? null)), duration(run.running_s)];
    }));
};

const showSweep = async (name, query, main, signal) => {
  const box = el('div');
  let runs = [];
  const draw = () => {
    const metrics = metricsOf(runs);
    const usual = ['val_loss', 'loss', 'accuracy'].find((each) => metrics.includes(each)) ?? metrics[0];
    const metric = query.get('metric') ?? usual;
    const mode = query.get('mode') ?? (/acc|score|reward/.test(metric ?? '') ? 'max' : 'min');
    const order = ranked(runs, metric, mode);
    const best = order[0];
    const valueOf = (run) => ` ${metric} ${number(run.metrics?.[metric] ?? null)}`;
    const compared = order.slice(0, 8).map((run) => `run=${encodeURIComponent(run.name)}`);
    box.replaceChildren(
      facts([
        ['Trials', `${runs.length}: ${counts(runs)}`],
        ['Best', best && metric ? el('span', {}, runLink(best.name), valueOf(best)) : ''],
      ]),
      el('div', {class: 'bar'},
        choice('Best is', 'mode', query, ['min', 'max'], mode, draw),
        linkTo(`compare?${compared.join('&')}`, 'Compare the best')),
      spaceView(runs, query, metric),
      section('Trials', trials(runs, metric, mode)));
  };
  const load = async () => {
    ({runs} = await get('api/runs', {tag: PREFIX + name, limit: MOST_TRIALS, config: true}, signal));
    draw();
  };
  main.replaceChildren(el('h1', {}, `Sweep ${name}`), box);
  await load();
  const again = later(500, () => load().catch(() => {}));
  follow('api/events', {}, {runs: (changed) => {
    if (changed.some((run) => run.name.startsWith(`${name}-`))) again();
  }}, signal);
};

export const showSweepPage = ({parts: [, name], query}, main, signal) =>
  (name === undefined ? showSweeps(main, signal) : showSweep(name, query, main, signal));
