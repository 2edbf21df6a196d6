// What train.log_image and similar functions recorded, by name: all runs and ranks next to each other, at one step.
import {setQuery} from '../base/place.js';
import {get, runPath} from '../server/api.js';
import {Cell} from './cell.js';
import {Shades} from './heatmap.js';
import {clipped, el, later, section} from '../base/view.js';

const PAGE_ROWS = 1000;
const MOST_ROWS = 5000;
const MOST_OPEN = 60;
const NEAR = '400px'; // from what is in sight
const SETTLED_MS = 200;
const PAUSE_MS = 2000; // between questions of a live run

const rowsOf = async (run, signal) => {
  const out = [];
  for (let total = 1; out.length < Math.min(total, MOST_ROWS);) {
    const page = await get(`${runPath(run.name)}/media`, {limit: PAGE_ROWS, offset: out.length}, signal);
    total = page.total;
    if (!page.media.length) break;
    out.push(...page.media.map((row) => ({...row, run: run.name})));
  }
  return out;
};

/** The records of one name and kind. Those that are not in sight, or folded, are not asked for. */
class Named {
  #cells = new Map();
  #options;
  #box = el('div', {class: 'media'});
  #step;
  #isSeen = false;

  constructor({name, kind}, isOpen, options) {
    this.#options = {...options, shades: new Shades()};
    this.node = el('details', {open: isOpen, ontoggle: () => this.#draw()},
      el('summary', {}, clipped(name), ` (${kind})`), this.#box);
  }

  /** rows: all records. */
  set rows(rows) {
    for (const [key, each] of Map.groupBy(rows, (row) => `${row.run}\n${row.rank}`)) {
      if (!this.#cells.has(key)) {
        this.#cells.set(key, new Cell(each[0], this.#options));
        this.#box.append(this.#cells.get(key).node);
      }
      this.#cells.get(key).rows = each;
    }
  }

  set isSeen(isSeen) {
    this.#isSeen = isSeen;
    this.#draw();
  }

  get isPlaying() { return [...this.#cells.values()].some((cell) => cell.isPlaying); }

  show(step) {
    this.#step = step;
    this.#draw();
  }

  #draw() {
    if (!this.#isSeen || !this.node.open) return;
    for (const cell of this.#cells.values()) cell.show(this.#step).catch(() => {});
  }
}

/** A slider over the steps; `choose` is called with each step that is chosen. */
class StepSlider {
  #steps = [];
  #said = el('output', {});
  #input;
  #label;

  constructor(choose) {
    this.#input = el('input', {
      type: 'range', name: 'step', min: 0, max: 0, 'aria-label': 'Step',
      oninput: () => choose(this.#steps[this.#input.value]),
    });
    this.#label = el('label', {class: 'inline'}, 'Step', this.#input);
    this.node = el('div', {class: 'bar stepped'}, this.#label, this.#said);
  }

  set steps(steps) {
    this.#steps = steps;
    this.#input.max = steps.length - 1;
    this.#label.hidden = steps.length < 2;
  }

  show(step) {
    this.#input.value = this.#steps.indexOf(step);
    this.#input.setAttribute('aria-valuetext', `step ${step}`);
    this.#said.textContent = `step ${step}`;
  }
}

export class MediaView {
  #runs;
  #signal;
  #wanted;
  #slider = new StepSlider((step) => this.#choose(step));
  #names = new Map();
  #steps = [];
  #step;
  #note = el('p', {class: 'quiet'});
  #timer;
  #sight;
  #nothing;
  #keep = later(SETTLED_MS, () => {
    if (!this.#signal.aborted) setQuery({step: this.#step === this.#steps.at(-1) ? '' : this.#step});
  });

  node = section('Media', this.#note, this.#slider.node);

  /** nothing: a node that is in sight while there are no records. */
  constructor(runs, query, signal, nothing = el('p')) {
    this.#runs = runs;
    this.#nothing = nothing;
    this.#signal = signal;
    this.#wanted = Number(query.get('step') ?? Infinity);
    this.#sight = new IntersectionObserver((entries) => {
      for (const {target, isIntersecting} of entries) {
        [...this.#names.values()].find(({node}) => node === target).isSeen = isIntersecting;
      }
    }, {rootMargin: NEAR});
    signal.addEventListener('abort', () => {
      this.#sight.disconnect();
      clearTimeout(this.#timer);
    }, {once: true});
  }

  /** Reads what there is. The newest step is shown if it was shown before, unless the viewer plays something. */
  async load() {
    const byRun = await Promise.all(this.#runs.map((run) => rowsOf(run, this.#signal)));
    this.#note.textContent = byRun.some((each) => each.length >= MOST_ROWS)
      ? `Of each run the first ${MOST_ROWS} records: the API has all.`
      : '';
    const rows = byRun.flat();
    this.node.hidden = !rows.length;
    this.#nothing.hidden = rows.length > 0;
    if (!rows.length) return;
    const isNewest = this.#step === undefined || this.#step === this.#steps.at(-1);
    this.#slider.steps = this.#steps = [...new Set(rows.map((row) => row.step))].sort((a, b) => a - b);
    for (const [key, each] of Map.groupBy(rows, (row) => `${row.kind}\n${row.name}`)) this.#take(key, each);
    const isPlaying = [...this.#names.values()].some((each) => each.isPlaying);
    if (isNewest && !isPlaying) this.#step = this.#steps.findLast((step) => step <= this.#wanted) ?? this.#steps.at(-1);
    this.#show();
  }

  /** Reads again soon what a live run has. */
  reload() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.load().catch(() => {}); // the next change tries again
    }, PAUSE_MS);
  }

  #take(key, rows) {
    if (!this.#names.has(key)) {
      const options = {
        severalRuns: this.#runs.length > 1, choose: (step) => this.#choose(step), signal: this.#signal,
      };
      const named = new Named(rows[0], this.#names.size < MOST_OPEN, options);
      this.#names.set(key, named);
      this.node.append(named.node);
      this.#sight.observe(named.node);
    }
    this.#names.get(key).rows = rows;
  }

  #choose(step) {
    this.#step = step;
    this.#wanted = Infinity;
    this.#show();
    this.#keep();
  }

  #show() {
    this.#slider.show(this.#step);
    for (const named of this.#names.values()) named.show(this.#step);
  }
}
