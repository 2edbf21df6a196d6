// How curves are drawn. The viewer's settings are part of the address.
import {byMetric, metricOf} from './abscissa.js';
import {setQuery} from '../base/place.js';
import {brief, el} from '../base/view.js';

const RANGE = 'y:';
const BY = [['', 'step or report'], ['time', 'time since the start'], ['clock', 'time (UTC)']];

/** The choice of x in an address; '' for one that is not known. */
const byOf = (query) => {
  const by = query.get('by') ?? '';
  return metricOf(by) !== undefined || BY.some(([value]) => value === by) ? by : '';
};

export const optionsOf = (query) => ({
  smooth: Number(query.get('smooth') ?? 0),
  logX: query.get('logx') === '1',
  logY: query.get('logy') === '1',
  hidesOutliers: query.get('outliers') === '0',
  by: byOf(query),
});

/** The range of y of a chart, [from, to], that the viewer has chosen; empty without one. */
export const rangeOf = (query, title) => {
  const text = query.get(RANGE + title);
  if (text === null) return [];
  const parts = text.split(',').map((part) => (part === '' ? undefined : Number(part)));
  return parts.length === 2 && !parts.some(Number.isNaN) ? parts : [];
};

const change = (query, name, value) => {
  if (value === '') query.delete(name);
  else query.set(name, value);
  setQuery({[name]: value});
};

export const setRange = (query, title, range) =>
  change(query, RANGE + title, range.map((value) => value ?? '').join(','));

/** A choice of x. `offer(names)` adds the values of metrics. */
const chooserOfX = (query, set) => {
  const chosen = byOf(query);
  const option = ([value, text]) => el('option', {value, selected: value === chosen}, brief(text, 40));
  const metrics = el('optgroup', {label: 'Values of a metric'});
  const select = el('select', {name: 'by', onchange: () => set('by', select.value)}, BY.map(option), metrics);
  const offer = (names) => {
    const {value} = select;
    metrics.replaceChildren(...names.map((name) => option([byMetric(name), name])));
    if (document.activeElement === select) select.value = value;
  };
  return {node: el('label', {class: 'inline'}, 'x', select), offer};
};

/** {node, offer}. Calls `redraw` after each change of the query, which it also writes into the address. `offer(names)`:
    the metrics whose values can be x. `others`: more of the bar. */
export const controls = (query, linked, redraw, ...others) => {
  const set = (name, value) => {
    change(query, name, value);
    redraw();
  };
  const box = (label, name, on = '1') => el('label', {class: 'inline'}, el('input', {
    type: 'checkbox', name, checked: query.get(name) === on,
    onchange: (event) => set(name, event.target.checked ? on : ''),
  }), label);
  const {smooth} = optionsOf(query);
  const shown = el('output', {}, smooth ? smooth.toFixed(2) : 'off');
  const x = chooserOfX(query, set);
  const node = el('div', {class: 'bar'},
    el('label', {class: 'inline'}, 'Smoothing',
      el('input', {type: 'range', name: 'smooth', min: 0, max: 0.99, step: 0.01, value: smooth, oninput: (event) => {
        const value = Number(event.target.value);
        shown.textContent = value ? value.toFixed(2) : 'off';
        set('smooth', value || '');
      }}),
      shown),
    x.node,
    box('logarithmic y', 'logy'),
    box('logarithmic x', 'logx'),
    box('without outliers', 'outliers', '0'),
    el('button', {type: 'button', onclick: () => linked.showAll()}, 'Show all'),
    others);
  return {node, offer: x.offer};
};
