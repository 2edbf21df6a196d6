// The charts of a page: a metric of one run or of several in each, in sections. A metric that was both reported and
// logged has two. Charts load and draw while they are in sight.
import {isTimed, metricOf, over} from './abscissa.js';
import {get, runPath} from '../server/api.js';
import {Chart} from './chart.js';
import {addMenu} from './chartmenu.js';
import {controls, optionsOf, rangeOf, setRange} from './controls.js';
import {legend} from './legend.js';
import {Linked} from './linked.js';
import {meanCurve} from './mean.js';
import {placeOfName} from './palette.js';
import {setQuery} from '../base/place.js';
import {Sections} from './sections.js';
import {el, later, section} from '../base/view.js';

const POINTS = 800;
const NEAR = '300px'; // from the window's edges
const SETTLED_MS = 60;
const NONE = {steps: [], times: [], min: [], nonfinite: [], total: 0};
const UNKNOWN = -1;

// The table of a dataset has them.
const isOfOperator = (name) => name.startsWith('data/') && name.includes('/operators/');

const compareNames = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** The metrics of runs, in the order of their charts: {key, name, title, isLogged, runs: a Set of places}. */
const metricsOf = (answers) => {
  const found = new Map();
  const add = (name, isLogged, run) => {
    const key = `${isLogged ? 'logged' : 'reported'}\n${name}`;
    if (!found.has(key)) found.set(key, {key, name, isLogged, runs: new Set()});
    found.get(key).runs.add(run);
  };
  answers.forEach(({reported, logged}, run) => {
    reported.forEach((name) => add(name, false, run));
    logged.forEach((name) => add(name, true, run));
  });
  const isBoth = ({name}) => found.has(`logged\n${name}`) && found.has(`reported\n${name}`);
  return [...found.values()]
    .map((metric) => ({
      ...metric, title: isBoth(metric) ? `${metric.name}, ${metric.isLogged ? 'logged' : 'reported'}` : metric.name,
    }))
    .sort((a, b) => compareNames(a, b) || a.isLogged - b.isLogged);
};

export class Curves {
  #runs;
  #wanted; // the runs from the next question for metrics on
  #rank;
  #query;
  #signal;
  #marks;
  #isWanted;
  #hidesEmpty;
  #linked;
  #charts = new Map(); // by a metric's key: {chart, metric, version of what it shows}
  #answers = [];
  #version = 0;
  #abscissas = new Map(); // answers that all charts of one load share
  #sections = new Sections((metric) => this.#entryOf(metric).chart.node);
  #sight;
  #said = el('p', {class: 'quiet', role: 'status'});
  #offer = (_names) => {};
  #part;
  #legend = el('div');
  #isUnknown = false;
  #isStale = false;
  #isLoading = false;
  #isCompared;
  #onhover;

  metrics = [];

  /** runs: {name, started_at}; a group of runs has `members`, a list of them, and is drawn as their mean. marks: {time,
      text}. isWanted: of the name of a metric. hidesEmpty: a rank need not have what others have. isCompared: curves
      have the names and colours of runs. onhover: called with the name of the run whose curve is at the pointer, or
      with undefined. */
  constructor({
    runs, query, signal, rank = 0, marks = [], isWanted = (_name) => true, hidesEmpty = false,
    isCompared = runs.length > 1, onhover = (_name) => {},
  }) {
    this.#runs = this.#wanted = runs;
    this.#isCompared = isCompared;
    this.#onhover = onhover;
    this.#rank = rank;
    this.#query = query;
    this.#part = query.get('metrics') ?? '';
    this.#signal = signal;
    this.#marks = marks;
    this.#isWanted = isWanted;
    this.#hidesEmpty = hidesEmpty;
    this.#linked = new Linked(signal);
    this.#linked.addEventListener('change', () => this.reload(), {signal});
    const settled = later(SETTLED_MS, () => this.load().catch(() => {}));
    this.#sight = new IntersectionObserver((entries) => {
      for (const {target, isIntersecting} of entries) {
        this.#charts.get(target.getAttribute('data-key')).chart.isSeen = isIntersecting;
      }
      settled();
    }, {rootMargin: NEAR});
    signal.addEventListener('abort', () => this.#sight.disconnect(), {once: true});
  }

  /** The number of metrics. */
  get count() { return this.metrics.length; }

  node(title, ...head) {
    let {by} = optionsOf(this.#query);
    const redraw = () => {
      const options = optionsOf(this.#query);
      // Another x needs other data: it is drawn with them.
      this.#charts.forEach(({chart}) => chart.configure({...options, by: chart.options.by}));
      if (options.by !== by) this.reload();
      ({by} = options);
    };
    const search = later(200, (part) => {
      setQuery({metrics: part});
      this.#arrange(part);
    });
    const bar = controls(this.#query, this.#linked, redraw,
      el('label', {class: 'inline'}, 'Metrics with', el('input', {
        name: 'metrics', type: 'search', size: 16, value: this.#part,
        oninput: (event) => search(event.target.value.trim()),
      })),
      this.#sections.columns());
    this.#offer = bar.offer;
    this.#offerMetrics();
    return section(title, bar.node, head, this.charts);
  }

  /** The charts and their legend, without a title and settings. */
  get charts() { return [this.#legend, this.#said, this.#sections.node]; }

  /** Asks which metrics there are. */
  async find() {
    const namesOf = ({name, members}) => get(`${runPath(members?.[0].name ?? name)}/curves`, {}, this.#signal);
    this.#runs = this.#wanted;
    this.#answers = await Promise.all(this.#runs.map(namesOf));
    this.metrics = metricsOf(this.#answers).filter(({name}) => !isOfOperator(name) && this.#isWanted(name));
    for (const metric of this.metrics) if (this.#charts.has(metric.key)) this.#entryOf(metric).metric = metric;
    this.#version += 1;
    this.#offerMetrics();
    this.#legend.replaceChildren(
      this.#isCompared ? legend(this.#runs.map(({name}) => name), this.#linked, this.#signal) : '');
    this.#arrange();
  }

  #offerMetrics() { this.#offer([...new Set(this.metrics.map(({name}) => name))]); }

  /** Draws other runs. */
  async setRuns(runs) {
    this.#wanted = runs;
    this.#isUnknown = true;
    await this.reload();
  }

  /** Draws the curves of that run strongly and the others weakly; without a name all alike. */
  highlight(name) { this.#linked.highlight(name); }

  #arrange(part = this.#part) {
    this.#part = part;
    this.#sections.show(this.metrics, part);
    if (!this.metrics.length) this.#said.textContent = 'Nothing was reported yet.';
    else if (this.#sections.found.length) this.#said.textContent = '';
    else this.#said.textContent = `None of ${this.metrics.length} metrics has this in its name.`;
  }

  #entryOf(metric) {
    if (!this.#charts.has(metric.key)) this.#charts.set(metric.key, {chart: this.#chartOf(metric), metric, version: 0});
    return this.#charts.get(metric.key);
  }

  #chartOf({key, title, isLogged}) {
    const chart = new Chart(title, this.#linked, this.#signal, isLogged ? 'steps' : 'reports');
    chart.isSeen = false;
    chart.onhover = this.#onhover;
    chart.configure({range: rangeOf(this.#query, title)});
    chart.node.dataset.key = key;
    addMenu(chart, {
      isPinned: () => this.#sections.isPinned(title),
      pin: () => this.#sections.togglePin(title),
      move: (by) => this.#sections.move(title, by),
      setRange: (range) => {
        setRange(this.#query, title, range);
        chart.configure({range});
      },
    });
    this.#sections.makeMovable(title, chart.node, chart.node.querySelector('figcaption'), this.#signal);
    this.#sight.observe(chart.node);
    return chart;
  }

  /** Loads what is in sight and is not as new as the last question. */
  async load() {
    const stale = [...this.#charts.values()].filter(({chart, version}) => chart.isSeen && version !== this.#version);
    await Promise.all(stale.map((entry) => this.#loadOne(entry)));
  }

  async #loadOne(entry) {
    const {chart, metric} = entry;
    const version = entry.version = this.#version;
    try {
      const options = {...optionsOf(this.#query), rank: this.#rank};
      const curves = await Promise.all(this.#runs.map((run, at) => this.#curveOf(metric, run, at, chart, options.by)));
      if (version !== entry.version) return; // a newer load shows more
      const isEmpty = this.#linked.of(chart.axis).from === undefined && curves.every(({total}) => !total);
      chart.node.hidden = this.#hidesEmpty && isEmpty;
      chart.show(curves, options, this.#marks);
    } catch (error) {
      entry.version = UNKNOWN;
      throw error;
    }
  }

  async #curveOf(metric, run, at, chart, by) {
    const label = this.#isCompared
      ? {name: run.name, run: run.name, place: placeOfName(run.name)}
      : {name: metric.name, run: run.name, place: 0};
    if (!metric.runs.has(at)) return {...NONE, ...label};
    const curve = {...await this.#meanOf(metric, run, at, chart), ...label};
    const other = metricOf(by);
    return other === undefined || !curve.steps.length ? curve : this.#overMetric(curve, other, metric, run, at);
  }

  // With the values of the other metric as x.
  async #overMetric(curve, name, {isLogged}, run, at) {
    const {reported, logged} = this.#answers[at];
    const isOfLog = logged.includes(name) && (isLogged || !reported.includes(name));
    if (!isOfLog && !reported.includes(name)) return {...curve, ...NONE, total: curve.total};
    const key = `${at} ${isOfLog}`;
    if (!this.#abscissas.has(key)) this.#abscissas.set(key, this.#meanOf({name, isLogged: isOfLog}, run, at));
    const other = await this.#abscissas.get(key);
    const areSteps = isOfLog === isLogged && !isTimed(curve) && !(other.steps.length && isTimed(other));
    return over(curve, other, areSteps ? 'steps' : 'times');
  }

  async #meanOf(metric, run, at, chart) {
    const members = run.members ?? [run];
    const curves = await Promise.all(members.map((member) => this.#curveOfRun(metric, member, at, chart)));
    return run.members ? meanCurve(curves) : curves[0];
  }

  async #curveOfRun({name, isLogged}, run, at, chart) {
    const start = Date.parse(run.started_at);
    const curve = await get(`${runPath(run.name)}/curve`, {
      name, rank: this.#rank, points: POINTS, ...chart ? this.#partOf(chart, start) : {},
      logged: isLogged && this.#answers[at].reported.includes(name),
    }, this.#signal);
    return {...curve, start};
  }

  /** The steps to ask for. The server knows steps alone: by another x it sends all. */
  #partOf({axis, isTimed: areTimes}, start) {
    const {from, to} = this.#linked.of(axis);
    if (axis === 'steps' || axis === 'reports') return {from, to};
    if (from === undefined || !areTimes || metricOf(axis) !== undefined) return {};
    const second = axis === 'time' ? start / 1000 : 0;
    return {from: Math.floor(second + from), to: Math.ceil(second + to)};
  }

  /** Loads again, one load at a time: a request during a load starts another one afterwards. `names`: the metrics. */
  async reload(names = []) {
    this.#isUnknown ||= names.some((name) => !this.#answers.some((answer) => answer.names.includes(name)));
    this.#isStale = true;
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      while (this.#isStale && !this.#signal.aborted) {
        const began = performance.now();
        this.#isStale = false;
        if (this.#isUnknown) await this.find();
        this.#isUnknown = false;
        this.#version += 1;
        this.#abscissas.clear();
        await this.load();
        // A long run costs the server more, so the pause is as long as the load took.
        await new Promise((resolve) => setTimeout(resolve, Math.max(50, performance.now() - began)));
      }
    } catch { /* the next event tries again */ }
    this.#isLoading = false;
  }
}
