// The charts of a page: a metric of one run or of several in each, those that were reported and logged first, what
// rtrain records of itself last. A metric that was both reported and logged has two. Some are drawn at first, the
// others at a click or by a part of their names.
import {get, runPath} from './api.js';
import {Chart, Zoom} from './chart.js';
import {controls, optionsOf} from './controls.js';
import {meanCurve} from './mean.js';
import {placeOfName} from './palette.js';
import {el, later, section} from './view.js';

const FEW = 60;
const POINTS = 800;
const OWN = ['data/', 'gpu/', 'host/', 'process/', 'time/'];
const NONE = {steps: [], times: [], min: [], nonfinite: [], total: 0};

const isOfRtrain = ({name}) => OWN.some((prefix) => name.startsWith(prefix));
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
    .sort((a, b) => isOfRtrain(a) - isOfRtrain(b) || compareNames(a, b) || a.isLogged - b.isLogged);
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
  #zoom = new Zoom();
  #charts = new Map();
  #answers = [];
  #shown = [];
  #part = '';
  #most = FEW;
  #box = el('div', {class: 'charts'});
  #said = el('p', {class: 'quiet', role: 'status'});
  #more = el('button', {type: 'button', hidden: true, onclick: () => this.#show(this.#most + FEW)}, 'Show more');
  #isUnknown = false;
  #isStale = false;
  #isLoading = false;
  #isCompared;
  #highlighted = undefined;
  #onhover;

  /** runs: {name, started_at}; a group of runs has `members`, a list of them, and is drawn as their mean. marks: {time,
      text}. isWanted: of the name of a metric. hidesEmpty: a rank need not have what others have. isCompared: curves
      have the names and colours of runs. onhover: called with the name of the run whose curve is at the pointer, or
      with undefined. */
  constructor({
    runs, query, signal, rank = 0, marks = [], isWanted = () => true, hidesEmpty = false, isCompared = runs.length > 1,
    onhover = () => {},
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
    this.#zoom.addEventListener('change', () => this.reload(), {signal});
  }

  /** The number of metrics. */
  get count() { return this.metrics?.length ?? 0; }

  node(title, ...head) {
    let {byTime} = optionsOf(this.#query);
    const redraw = () => {
      const options = optionsOf(this.#query);
      this.#charts.forEach((chart) => chart.configure(options));
      if (options.byTime !== byTime) this.reload(); // the other axis shows another part
      ({byTime} = options);
    };
    const search = later(200, (part) => {
      this.#part = part;
      this.#show(FEW);
    });
    return section(title,
      controls(this.#query, this.#zoom, redraw,
        el('label', {}, 'Metrics with',
          el('input', {
            name: 'metrics', size: 16, value: this.#part, oninput: (event) => search(event.target.value.trim()),
          }))),
      head, this.#box, el('div', {class: 'bar'}, this.#said, this.#more));
  }

  /** Asks which metrics there are. */
  async find() {
    const namesOf = ({name, members}) => get(`${runPath(members?.[0].name ?? name)}/curves`, {}, this.#signal);
    this.#runs = this.#wanted;
    this.#answers = await Promise.all(this.#runs.map(namesOf));
    this.metrics = metricsOf(this.#answers).filter(({name}) => !isOfOperator(name) && this.#isWanted(name));
    this.#arrange();
  }

  /** Draws other runs. */
  async setRuns(runs) {
    this.#wanted = runs;
    this.#isUnknown = true;
    await this.reload();
  }

  /** Draws the curves of that run strongly and the others weakly; without a name all alike. */
  highlight(name) {
    this.#highlighted = name;
    this.#charts.forEach((chart) => chart.highlight(name));
  }

  #show(most) {
    this.#most = most;
    this.#arrange();
    this.reload();
  }

  // Moves no node that is in its place: a chart keeps its cursor and its focus.
  #arrange() {
    const found = this.metrics.filter(({title}) => title.includes(this.#part));
    this.#shown = found.slice(0, this.#most);
    this.#shown.forEach((metric, at) => {
      const {node} = this.#chartOf(metric);
      if (this.#box.children[at] !== node) this.#box.insertBefore(node, this.#box.children[at] ?? null);
    });
    while (this.#box.children.length > this.#shown.length) this.#box.lastChild.remove();
    this.#say(found.length);
  }

  #say(found) {
    const left = found - this.#shown.length;
    this.#more.hidden = !left;
    this.#more.textContent = `Show ${Math.min(FEW, left)} more`;
    if (!this.metrics.length) this.#said.textContent = 'Nothing was reported yet.';
    else if (!found) this.#said.textContent = `None of ${this.metrics.length} metrics has this in its name.`;
    else this.#said.textContent = left ? `The first ${this.#shown.length} of ${found} charts are drawn.` : '';
  }

  #chartOf({key, title, isLogged}) {
    if (!this.#charts.has(key)) {
      const chart = new Chart(title, this.#zoom, this.#signal, isLogged ? 'steps' : 'reports');
      chart.onhover = this.#onhover;
      chart.highlight(this.#highlighted);
      this.#charts.set(key, chart);
    }
    return this.#charts.get(key);
  }

  /** Loads what is shown. */
  async load() { await Promise.all(this.#shown.map((metric) => this.#loadOne(metric))); }

  async #loadOne(metric) {
    const chart = this.#chartOf(metric);
    const curves = await Promise.all(this.#runs.map((run, at) => this.#curveOf(metric, run, at, chart)));
    chart.node.hidden = this.#hidesEmpty && this.#zoom.of(chart.axis).from === undefined
      && curves.every(({total}) => !total);
    chart.show(curves, {...optionsOf(this.#query), rank: this.#rank}, this.#marks);
  }

  async #curveOf(metric, run, at, chart) {
    const label = this.#isCompared ? {name: run.name, place: placeOfName(run.name)} : {name: metric.name};
    if (!metric.runs.has(at)) return {...NONE, ...label};
    const members = run.members ?? [run];
    const curves = await Promise.all(members.map((member) => this.#curveOfRun(metric, member, at, chart)));
    return {...run.members ? meanCurve(curves) : curves[0], ...label};
  }

  async #curveOfRun({name, isLogged}, run, at, chart) {
    const start = Date.parse(run.started_at);
    const curve = await get(`${runPath(run.name)}/curve`, {
      name, rank: this.#rank, points: POINTS, ...this.#partOf(chart, start),
      logged: isLogged && this.#answers[at].reported.includes(name),
    }, this.#signal);
    return {...curve, start};
  }

  /** The steps to ask for. The server knows steps alone: by time it sends all. */
  #partOf(chart, start) {
    const {from, to} = this.#zoom.of(chart.axis);
    if (from === undefined || chart.axis !== 'time') return {from, to};
    return chart.isTimed ? {from: Math.floor(start / 1000 + from), to: Math.ceil(start / 1000 + to)} : {};
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
        await this.load();
        // A long run costs the server more, so the pause is as long as the load took.
        await new Promise((resolve) => setTimeout(resolve, Math.max(50, performance.now() - began)));
      }
    } catch { /* the next event tries again */ }
    this.#isLoading = false;
  }
}
