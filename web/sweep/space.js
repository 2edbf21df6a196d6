// Runs plotted by their parameters and metrics: parallel coordinates, in which parts of the axes can be chosen, and a
// scatter of any two. The viewer's choice is part of the address.
import {numberAt, numbersOf} from '../base/metrics.js';
import {Parallel} from '../chart/parallel.js';
import {plane} from '../chart/plane.js';
import {setQuery} from '../base/place.js';
import {colourFor, strengthLegend, strengths} from '../chart/strength.js';
import {briefName, clipped, el, flattened, number, section} from '../base/view.js';

const MOST_AXES = 10;
const CHOSEN = 'in:';

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

/** The chosen parts of axes: a Map of names to [from, to]. */
const chosenIn = (query) => new Map([...query].filter(([name]) => name.startsWith(CHOSEN))
  .map(([name, part]) => /** @type {[string, number[]]} */ ([name.slice(CHOSEN.length), part.split('_').map(Number)]))
  .filter(([, part]) => part.length === 2 && part.every((at) => at >= 0 && at <= 1)));

const keepChosen = (query, chosen) => {
  const changes = {};
  for (const name of [...query.keys()]) if (name.startsWith(CHOSEN)) changes[name] = '';
  for (const [name, part] of chosen) changes[CHOSEN + name] = part.map((at) => at.toFixed(3)).join('_');
  for (const [name, text] of Object.entries(changes)) {
    if (text) query.set(name, text);
    else query.delete(name);
  }
  setQuery(changes);
};

/** The items of runs by name of a parameter or metric, coloured by a metric, the best last. */
const itemsOf = (runs, metric, mode) => {
  const values = runs.map((run) => numberAt(run, metric));
  const strengthAt = strengths(values, mode);
  return runs.map((run, at) => ({
    run, strength: strengthAt(at), colour: colourFor(strengthAt(at)),
    title: `${run.name}: ${briefName(metric)} ${number(values[at] ?? null)}`,
    href: `#/run/${encodeURIComponent(run.name)}`, values: {...flattened(run.config), [metric]: values[at]},
  })).sort((a, b) => a.strength - b.strength);
};

/** Scatter and parallel coordinates of runs with `config` and `metrics`, coloured by a metric, '' for none. mode:
    whether 'min' or 'max' is best. changed: called with the runs within the chosen parts, at first too. */
export const spaceView = (runs, query, {metric, mode}, changed = (_runs) => {}) => {
  const keys = varying(runs);
  const metrics = numbersOf(runs);
  if (!keys.length || !metrics.length) {
    changed(runs);
    return section('Parameters and metrics',
      el('p', {class: 'empty'}, 'No parameter differs, or nothing was reported yet.'));
  }
  const axes = keys.filter((key) => key !== metric);
  const items = itemsOf(runs, metric, mode);
  const scatter = el('div');
  const said = el('span', {role: 'status', class: 'quiet'});
  const everything = [...keys, ...metrics.filter((name) => !keys.includes(name))];
  const draw = () => {
    const x = query.get('x') ?? keys[0];
    const y = query.get('y') ?? (metric || metrics[0]);
    const valueOf = (item, name) => item.values[name] ?? numberAt(item.run, name);
    const found = items.filter((item) => parallel.has(item));
    said.textContent = found.length < items.length ? `${found.length} of ${items.length} runs are chosen.` : '';
    scatter.replaceChildren(plane(x, y, items.map((item) => ({
      ...item, x: valueOf(item, x), y: valueOf(item, y), isOut: !found.includes(item),
      title: `${item.title}, ${briefName(x)} ${number(valueOf(item, x) ?? null)}`,
    }))));
    changed(found.map((item) => item.run));
  };
  const chosen = chosenIn(query);
  const parallel = new Parallel([...axes.slice(0, MOST_AXES), ...metric ? [metric] : []], items, chosen, () => {
    keepChosen(query, chosen);
    draw();
  });
  draw();
  return section('Parameters and metrics',
    metric ? strengthLegend(clipped(metric)) : '',
    axes.length > MOST_AXES
      ? el('p', {class: 'quiet'}, `The first ${MOST_AXES} of ${axes.length} parameters that differ are axes.`)
      : '',
    parallel.node,
    el('div', {class: 'bar'},
      choice('Across', 'x', query, everything, keys[0], draw),
      choice('Up', 'y', query, everything, metric || metrics[0], draw),
      said),
    scatter);
};
