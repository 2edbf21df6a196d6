// The flame graph of a rank's newest samples, as `rtrain profile --flame` draws it: each box is a function or a line,
// as wide as the time that it was on the stack; what it has called is below it. A click on a box makes it as wide as
// the picture. With the keyboard: arrows move between boxes, Enter is a click, Escape shows all.
import {Outcome, flameAction} from '../server/actions.js';
import {fileUrl, get, runPath} from '../server/api.js';
import {storedAt} from '../server/stored.js';
import {duration, el, later, section} from '../base/view.js';

const WIDTH = 1200;
const ROW = 18;
const CHARACTER = 6.7;
const LEAST_TEXT = 3;
const TOLERANCE = 2e-5;

const percent = (part) => `${(100 * part).toFixed(2)} %`;

const shortened = (name, width) => {
  const fits = Math.floor((width - 6) / CHARACTER);
  if (fits < LEAST_TEXT) return '';
  return name.length <= fits ? name : `${name.slice(0, fits - 1)}…`;
};

/** A pattern that a name is tested with; a text that is none is searched as it is. */
const testOf = (text) => {
  try {
    const pattern = new RegExp(text, 'i');
    return (name) => pattern.test(name);
  } catch {
    return (name) => name.includes(text);
  }
};

class Graph {
  #found = el('output', {});
  #named = el('output', {});
  #focused;

  constructor(boxes) {
    this.items = boxes.map((box) => this.#itemOf(box));
    const rows = Math.max(...boxes.map((box) => box.depth)) + 1;
    this.picture = el('svg', {
      class: 'flame', viewBox: `0 0 ${WIDTH} ${rows * ROW}`, role: 'group', 'aria-label': `Flame graph of ${rows} rows`,
    }, this.items.map((item) => item.node));
    this.picture.addEventListener('keydown', (event) => this.#press(event));
    this.#reach(this.items[0]);
    this.zoom(this.items[0]);
  }

  node() {
    const search = later(150, (text) => this.search(text));
    return [
      el('div', {class: 'bar'},
        el('label', {}, 'Names with',
          el('input', {name: 'frames', size: 24, oninput: (event) => search(event.target.value)})),
        el('button', {type: 'button', onclick: () => this.zoom(this.items[0])}, 'Show all'),
        this.#found,
        this.#named),
      el('div', {class: 'scroll', role: 'region', 'aria-label': 'Flame graph'}, this.picture),
    ];
  }

  #itemOf(box) {
    const title = `${box.name} (${percent(box.width)}, ${box.seconds.toFixed(3)} s)`;
    const item = {...box, end: box.begin + box.width, text: el('text', {y: box.depth * ROW + ROW - 6})};
    item.rect = el('rect', {y: box.depth * ROW, height: ROW - 1, rx: 1, fill: box.colour});
    item.node = el('g', {
      role: 'button', tabindex: -1, 'aria-label': title, onclick: () => this.#choose(item),
      onfocus: () => { this.#named.textContent = title; },
    }, el('title', {}, title), item.rect, item.text);
    return item;
  }

  /** Only one box at a time is reached with the tab key: the others from it, with the arrows. */
  #reach(item) {
    this.#focused?.node.setAttribute('tabindex', -1);
    this.#focused = item;
    item.node.setAttribute('tabindex', 0);
  }

  /** The box that an arrow leads to: a caller, the longest callee, or a neighbour in the row. */
  #next(key) {
    const at = this.#focused;
    const shown = this.items.filter(({node}) => !node.hasAttribute('hidden'));
    const row = shown.filter(({depth}) => depth === at.depth).sort((a, b) => a.begin - b.begin);
    const place = row.indexOf(at);
    const callees = shown.filter(({depth, begin, end}) =>
      depth === at.depth + 1 && begin >= at.begin - TOLERANCE && end <= at.end + TOLERANCE);
    return {
      ArrowUp: shown.find(({depth, begin, end}) =>
        depth === at.depth - 1 && begin <= at.begin + TOLERANCE && end >= at.end - TOLERANCE),
      ArrowDown: callees.sort((a, b) => b.width - a.width)[0],
      ArrowLeft: row[place - 1],
      ArrowRight: row[place + 1],
      Home: this.items[0],
    }[key];
  }

  #press(event) {
    if (event.key === 'Escape') this.zoom(this.items[0]);
    else if (event.key === 'Enter' || event.key === ' ') this.zoom(this.#focused);
    else if (/^Arrow|^Home$/.test(event.key)) this.#focus(this.#next(event.key));
    else return;
    event.preventDefault();
  }

  #choose(item) {
    this.#reach(item);
    this.zoom(item);
  }

  #focus(item) {
    if (!item) return;
    this.#reach(item);
    item.node.focus();
  }

  /** Shows a box as wide as the picture, below those that called it. */
  zoom(target) {
    for (const item of this.items) {
      const isCaller = item.depth < target.depth && item.begin <= target.begin + TOLERANCE
        && item.end >= target.end - TOLERANCE;
      const isInside = item.depth >= target.depth && item.begin >= target.begin - TOLERANCE
        && item.end <= target.end + TOLERANCE;
      item.node.classList.toggle('callers', isCaller);
      item.node.toggleAttribute('hidden', !isCaller && !isInside);
      if (isCaller) this.#place(item, 0, WIDTH);
      if (isInside) {
        this.#place(item, (item.begin - target.begin) / target.width * WIDTH, item.width / target.width * WIDTH);
      }
    }
  }

  #place(item, x, width) {
    item.rect.setAttribute('x', x.toFixed(2));
    item.rect.setAttribute('width', Math.max(0, width).toFixed(2));
    item.text.setAttribute('x', (x + 3).toFixed(2));
    item.text.textContent = shortened(item.name, width);
  }

  /** Marks the boxes whose names match, and says how much of the time they have. */
  search(text) {
    const test = text ? testOf(text) : () => false;
    const counted = [];
    for (const item of this.items) {
      const isHit = test(item.name);
      item.node.classList.toggle('found', isHit);
      // Boxes come after those above them: what is below a hit is counted already.
      const isWithin = (other) => item.depth > other.depth && item.begin >= other.begin - TOLERANCE
        && item.end <= other.end + TOLERANCE;
      if (isHit && !counted.some(isWithin)) counted.push(item);
    }
    const share = counted.reduce((sum, item) => sum + item.width, 0);
    this.#found.textContent = text ? `found: ${percent(share)}` : '';
  }
}

const graphView = (run, rank, {title, seconds, boxes, file}) => {
  const href = fileUrl(`${runPath(run.name)}/flame/file`, {rank});
  return [
    el('p', {class: 'quiet'}, `${title}: ${duration(seconds)} of threads, in ${file}. `,
      storedAt ? '' : el('a', {href, download: 'flame.svg'}, 'As a picture')),
    ...new Graph(boxes).node(),
  ];
};

/** `writes`: whether this viewer may ask a live rank. */
export const flameView = async (run, rank, writes, signal) => {
  const load = async () => (await get(`${runPath(run.name)}/flame`, {rank}, signal)).flame;
  const box = el('div');
  const show = (flame) => box.replaceChildren(...flame ? graphView(run, rank, flame) : []);
  const first = await load();
  const isAsked = run.live && writes;
  if (!first && !isAsked) return '';
  show(first);
  const outcome = new Outcome();
  return section('Flame graph',
    isAsked ? el('div', {class: 'bar'}, flameAction(run, rank, outcome, async () => show(await load()))) : '',
    outcome.node,
    box);
};
