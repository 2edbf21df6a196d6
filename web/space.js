// Runs plotted by their parameters and metrics. The viewer's choice is part of the address.
import {numberAt, numbersOf} from './metrics.js';
import {parallel, scatter} from './plane.js';
import {setQuery} from './place.js';
import {briefName, el, flattened, number, section} from './view.js';

const MOST_AXES = 10;

/** The dotted keys of config whose values are not all the same, sorted. */
export const varying = (runs) => {
  const configs = runs.map((run) => flattened(run.config));
  const keys = [...new Set(configs.flatMap(Object.keys))].sort();
  return keys.filter((key) => new Set(configs.map((each) => JSON.stringify(each[key]))).size > 1);
};

export const choice = (label, name, query, options, fallback, change) => el('label', {}, label,
  el('select',
    {name, onchange: (event) => {
      query.set(name, event.target.value);
      setQuery({[name]: event.target.value});
      change();
    }},
    options.map((option) =>
      el('option', {value: option, title: option, selected: option === (query.get(name) ?? fallback)},
        briefName(option) || 'none'))));

/** Scatter and parallel coordinates of runs with `config` and `metrics`, by a chosen parameter and metric. `metric`:
    the usual one, '' for none. `changed`: called after another choice, instead of drawing again. */
export const spaceView = (runs, query, metric, changed) => {
  const keys = varying(runs);
  const metrics = numbersOf(runs);
  const usual = metric ?? metrics[0];
  if (!keys.length || !metrics.length) {
    return section('Parameters and metrics',
      el('p', {class: 'quiet'}, 'No parameter differs, or nothing was reported yet.'));
  }
  const box = el('div');
  const draw = () => {
    const parameter = query.get('parameter') ?? keys[0];
    const shown = query.get('metric') ?? usual;
    if (!shown) return box.replaceChildren();
    const items = runs.map((run) => {
      const config = flattened(run.config);
      const [x, y] = [config[parameter], numberAt(run, shown)];
      return {
        title: `${run.name}: ${briefName(parameter)} ${number(x)}, ${briefName(shown)} ${number(y ?? null)}`,
        href: `#/run/${encodeURIComponent(run.name)}`, x, y, values: {...config, [shown]: y},
      };
    });
    const axes = keys.filter((key) => key !== shown);
    return box.replaceChildren(
      scatter(parameter, shown, items),
      parallel([...axes.slice(0, MOST_AXES), shown], items),
      axes.length > MOST_AXES
        ? el('p', {class: 'quiet'}, `The first ${MOST_AXES} of ${axes.length} parameters that differ are axes.`)
        : '');
  };
  draw();
  const again = changed ?? draw;
  return section('Parameters and metrics',
    el('div', {class: 'bar'},
      choice('Parameter', 'parameter', query, keys, keys[0], again),
      choice('Metric', 'metric', query, usual ? metrics : ['', ...metrics], usual, again)),
    box);
};
