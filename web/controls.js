// How curves are drawn. The viewer's settings are part of the address.
import {setQuery} from './place.js';
import {el} from './view.js';

export const optionsOf = (query) => ({
  smooth: Number(query.get('smooth') ?? 0),
  logX: query.get('logx') === '1',
  logY: query.get('logy') === '1',
  byTime: query.get('by') === 'time',
});

/** Calls `redraw` after each change of the query, which it also writes into the address. `others`: more of the bar. */
export const controls = (query, zoom, redraw, ...others) => {
  const change = (name, value) => {
    if (value === '') query.delete(name);
    else query.set(name, value);
    setQuery({[name]: value});
    redraw();
  };
  const box = (label, name, on) => el('label', {class: 'inline'}, el('input', {
    type: 'checkbox', name, checked: query.get(name) === on,
    onchange: (event) => change(name, event.target.checked ? on : ''),
  }), label);
  const {smooth} = optionsOf(query);
  const shown = el('output', {}, smooth ? smooth.toFixed(2) : 'off');
  return el('div', {class: 'bar'},
    el('label', {class: 'inline'}, 'Smoothing',
      el('input', {type: 'range', name: 'smooth', min: 0, max: 0.99, step: 0.01, value: smooth, oninput: (event) => {
        const value = Number(event.target.value);
        shown.textContent = value ? value.toFixed(2) : 'off';
        change('smooth', value || '');
      }}),
      shown),
    box('logarithmic y', 'logy', '1'),
    box('logarithmic x', 'logx', '1'),
    box('by time', 'by', 'time'),
    el('button', {onclick: () => zoom.showAll()}, 'Show all'),
    others);
};
