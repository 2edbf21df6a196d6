// What train.log_image and similar functions recorded, by name: all runs and ranks next to each other, at one step.
import {setQuery} from '../base/place.js';
import {get, runPath} from '../server/api.js';
import {Cell} from './cell.js';
import {clipped, el, later, section} from '../base/view.js';

const PAGE_ROWS = 1000;
const MOST_ROWS = 5000;
const MOST_OPEN = 60;
const NEAR = '400px'; // from what is in sight
const SETTLED_MS = 200;

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
  #cells;
  #step;
  #isSeen = false;

  constructor(rows, isOpen, options) {
    const [{name, kind}] = rows;
    const groups = Map.groupBy(rows, (row) => `${row.run}\n${row.rank}`);
    this.#cells = [...groups.values()].map((each) => new Cell(each, options));
    this.node = el('details', {open: isOpen, ontoggle: () => this.#draw()},
      el('summary', {}, clipped(name), ` (${kind})`),
      el('div', {class: 'media'}, this.#cells.map((cell) => cell.node)));
  }

  set isSeen(isSeen) {
    this.#isSeen = isSeen;
    this.#draw();
  }

  show(step) {
    this.#step = step;
    this.#draw();
  }

  #draw() {
    if (!this.#isSeen || !this.node.open) return;
    for (const cell of this.#cells) cell.show(this.#step).catch(() => {});
  }
}

/** A slider over the steps; `choose` is called with each step that is chosen. */
const stepSlider = (steps, choose) => {
  const said = el('output', {});
  const input = el('input', {
    type: 'range', name: 'step', min: 0, max: steps.length - 1, 'aria-label': 'Step',
    oninput: () => choose(steps[input.value]),
  });
  return {
    node: el('div', {class: 'bar stepped'},
      steps.length > 1 ? el('label', {class: 'inline'}, 'Step', input) : '', said),
    show: (step) => {
      input.value = steps.indexOf(step);
      input.setAttribute('aria-valuetext', `step ${step}`);
      said.textContent = `step ${step}`;
    },
  };
};

/** Empty if no run has any media. */
export const mediaView = async (runs, query, signal) => {
  const byRun = await Promise.all(runs.map((run) => rowsOf(run, signal)));
  const rows = byRun.flat();
  if (!rows.length) return '';
  const steps = [...new Set(rows.map((row) => row.step))].sort((a, b) => a - b);
  const keep = later(SETTLED_MS, (step) => {
    if (!signal.aborted) setQuery({step: step === steps.at(-1) ? '' : step});
  });
  const choose = (step) => {
    slider.show(step);
    names.forEach((each) => each.show(step));
    keep(step);
  };
  const slider = stepSlider(steps, choose);
  const options = {severalRuns: runs.length > 1, choose, signal};
  const names = [...Map.groupBy(rows, (row) => `${row.kind}\n${row.name}`).values()]
    .map((each, at) => new Named(each, at < MOST_OPEN, options));
  const sight = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) {
      names.find(({node}) => node === target).isSeen = isIntersecting;
    }
  }, {rootMargin: NEAR});
  names.forEach(({node}) => sight.observe(node));
  signal.addEventListener('abort', () => sight.disconnect(), {once: true});
  const wanted = Number(query.get('step') ?? Infinity);
  choose(steps.findLast((step) => step <= wanted) ?? steps.at(-1));
  return section('Media',
    byRun.some((each) => each.length >= MOST_ROWS)
      ? el('p', {class: 'quiet'}, `Of each run the first ${MOST_ROWS} records: the API has all.`)
      : '',
    slider.node,
    names.map((each) => each.node));
};
