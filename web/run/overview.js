// The first page of a run: its curves, and next to them its config, its last metrics and its facts.
import {noteView} from '../server/actions.js';
import {Curves} from '../chart/curves.js';
import {eachMetric, metricsView} from '../base/metrics.js';
import {clipped, clippedValue, el, facts, keepingFocus, mapView, section, table} from '../base/view.js';

const MOST_METRICS = 20;

/** All last metrics, folded, if the list has only some. */
const allMetrics = (metrics, isOpen) => {
  const all = eachMetric(metrics);
  if (all.length <= MOST_METRICS) return '';
  return el('details', {open: isOpen}, el('summary', {}, `All ${all.length} last metrics`),
    table('Last metrics', [{title: 'Metric'}, {title: 'Value'}],
      all.map(([name, value]) => [clipped(name), clippedValue(value)])));
};

const factsOf = (run) => facts([
  ['Script', run.script],
  ['Folder', run.path],
  ['Result', run.return_value === null ? '' : JSON.stringify(run.return_value)],
]);

/** The names of numbers that a live run has sent. */
const namesIn = (now) => [...eachMetric(now.metrics), ...eachMetric(now.logged)]
  .filter(([metric, value]) => typeof value === 'number' && metric !== 'step').map(([metric]) => metric);

/** Curves of rank 0 with the annotations of the run as marks. */
export const curvesOf = ({run, query}, signal, options = {}) => {
  const marks = run.annotations.map((note) => ({time: Date.parse(note.time), text: note.text}));
  return new Curves({runs: [run], query, signal, marks, ...options});
};

export const showOverview = async (page, box, signal) => {
  const curves = curvesOf(page, signal);
  const metrics = el('div');
  const rest = el('div');
  const showMetrics = (last) => {
    const isOpen = metrics.querySelector('details')?.open;
    metrics.replaceChildren(...metricsView(last, MOST_METRICS), allMetrics(last, isOpen));
  };
  const fill = () => {
    const {run, writes} = page;
    showMetrics(run.metrics);
    keepingFocus(rest, () => rest.replaceChildren(factsOf(run), noteView(run, writes, page.refresh)));
  };
  fill();
  const config = mapView('Config', page.run.config);
  box.replaceChildren(el('div', {class: 'overview'},
    curves.node('Curves'),
    el('div', {},
      config || section('Config', el('p', {class: 'quiet'}, 'The train function has none.')),
      section('Last metrics', metrics),
      section('About', rest))));
  await curves.find();
  await curves.load();
  return {
    filled: fill,
    live: (now) => {
      showMetrics(now.metrics);
      curves.reload(namesIn(now));
    },
  };
};

/** The curves alone, as wide as the window. */
export const showCharts = async (page, box, signal) => {
  const curves = curvesOf(page, signal);
  box.replaceChildren(curves.node('Charts'));
  await curves.find();
  await curves.load();
  return {live: (now) => curves.reload(namesIn(now))};
};
