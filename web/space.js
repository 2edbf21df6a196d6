// Runs plotted by their parameters and metrics. The viewer's choice is part of the address.
import {parallel, scatter} from './plane.js';
import {setQuery} from './place.js';
import {el, flattened, number, section} from './view.js';

const MOST_AXES = 10;

/** The dotted keys of config whose values are not all the same, sorted. */
export const varying = (runs) => {
  const configs = runs.map((run) => flattened(run.config));
  const keys = [...new Set(configs.flatMap(Object.keys))].sort();
  return keys.filter((key) => new Set(configs.map((each) => JSON.stringify(each[key]))).size > 1);
};

export const metricsOf = (runs) => [...new Set(runs.flatMap((run) => Object.entries(run.metrics ?? {})
  .filter(([, value]) => typeof value === 'number').map(([name]) => name)))].sort();

export const choice = (label, name, query, options, fallback, change) => el('label', {}, label,
  el('select',
    {name, onchange: (event) => {
      query.set(name, event.target.value);
      setQuery({[name]: event.target.value});
      change();
    }},
    options.map((option) =>
      el('option', {value: option, selected: option === (query.get(name) ?? fallback)}, option))));

/** Scatter and parallel coordinates of runs with `config` and `metrics`, by a chosen parameter and metric. */
export const spaceView = (runs, query, metric) => {
  const keys = varying(runs);
  const metrics = metricsOf(runs);
  const measure = query.get('metric') ?? metric ?? metrics[0];
  if (!keys.length || !measure) {
    return section('Parameters and metrics',
      el('p', {class: 'quiet'}, 'No parameter differs, or nothing was reported yet.'));
  }
  const box = el('div');
  const draw = () => {
    const parameter = query.get('parameter') ?? keys[0];
    const shown = query.get('metric') ?? measure;
    const items = runs.map((run) => {
      const config = flattened(run.config);
      const [x, y] = [config[parameter], run.metrics?.[shown]];
      return {
        title: `${run.name}: ${parameter} ${number(x)}, ${shown} ${number(y ?? null)}`,
        href: `#/run/${encodeURIComponent(run.name)}`, x, y, values: {...config, [shown]: y},
      };
    });
    box.replaceChildren(scatter(parameter, shown, items),
      parallel([...keys.filter((key) => key !== shown).slice(0, MOST_AXES), shown], items));
  };
  draw();
  return section('Parameters and metrics',
    el('div', {class: 'bar'},
      choice('Parameter', 'parameter', query, keys, keys[0], draw),
      choice('Metric', 'metric', query, metrics, measure, draw)),
    box);
};
