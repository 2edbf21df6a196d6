// Parallel coordinates: an axis for each parameter and metric, a line for each run. A part of an axis can be chosen,
// with the pointer or with keys: then only the runs within all chosen parts stay strong.
import {linked} from './plane.js';
import {Scale} from './scale.js';
import {brief, el} from '../base/view.js';

const WIDTH = 1000;
const HEIGHT = 300;
const TOP = 30;
const BOTTOM = 12;
const LONGEST = 22;
const KEY_STEP = 0.05;
const LEAST_DRAG = 0.02;

const clamp = (at) => Math.min(1, Math.max(0, at));
const yOf = (at) => HEIGHT - BOTTOM - at * (HEIGHT - BOTTOM - TOP);

export class Parallel {
  #scales;
  #items;
  #chosen;
  #changed;
  #lines;
  #brushes = new Map();
  #svg;

  /** names: of the axes. items: {title, href, colour, values: {name: value}}, the strongest last. chosen: a Map of
      names to [from, to], places on their axes. `changed` is called after each choice. */
  constructor(names, items, chosen, changed) {
    this.#items = items;
    this.#chosen = chosen;
    this.#changed = changed;
    this.#scales = names.map((name) => new Scale(name, items.map((item) => item.values[name])));
    this.#lines = items.map((item) => el('path', {d: this.#pathOf(item), class: 'line', stroke: item.colour}));
    this.#svg = el('svg', {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group',
      'aria-label': `${names.map((name) => brief(name, LONGEST)).join(', ')}: ${items.length} runs`,
    }, items.map((item, at) => linked(item, this.#lines[at])), this.#scales.map((scale, at) => this.#axis(scale, at)));
    this.node = el('figure', {class: 'plane'},
      el('figcaption', {}, 'Parameters and metrics of all runs',
        el('span', {class: 'quiet'}, 'Drag along an axis to choose a part of it, click to choose all')),
      this.#svg);
    this.#draw();
  }

  /** Whether a run is within all chosen parts. */
  has(item) {
    return this.#scales.every(({name}, at) => {
      const part = this.#chosen.get(name);
      if (!part) return true;
      const place = this.#scales[at].place(item.values[name]);
      return place !== undefined && place >= part[0] - 1e-9 && place <= part[1] + 1e-9;
    });
  }

  #xOf(at) { return 60 + (this.#scales.length < 2 ? 0 : at * (WIDTH - 140) / (this.#scales.length - 1)); }

  #pathOf(item) {
    return this.#scales.map((scale, at) => [this.#xOf(at), scale.place(item.values[scale.name])])
      .filter(([, place]) => place !== undefined)
      .map(([x, place], at) => `${at ? 'L' : 'M'}${x.toFixed(1)} ${yOf(place).toFixed(1)}`).join('');
  }

  #axis(scale, at) {
    const x = this.#xOf(at);
    const brush = el('rect', {class: 'brush', x: x - 7, width: 14, rx: 3});
    this.#brushes.set(scale.name, brush);
    const name = el('text', {x, y: 16, 'text-anchor': 'middle', class: 'name'}, brief(scale.name, LONGEST));
    if (scale.name.length > LONGEST) name.append(el('title', {}, scale.name));
    const node = el('g', {class: 'brushed', tabindex: 0, role: 'group'},
      el('line', {x1: x, y1: TOP, x2: x, y2: HEIGHT - BOTTOM, class: 'axis'}),
      el('rect', {class: 'handle', x: x - 14, y: TOP, width: 28, height: HEIGHT - BOTTOM - TOP}),
      brush, name,
      scale.ticks(5).map((tick) => el('text', {x: x + 5, y: yOf(tick.at) + 4}, tick.text)));
    this.#listen(node, scale);
    return node;
  }

  #listen(node, scale) {
    let from;
    node.addEventListener('pointerdown', (event) => {
      from = this.#placeOf(event);
      node.setPointerCapture(event.pointerId);
    });
    node.addEventListener('pointermove', (event) => {
      if (from !== undefined) this.#choose(scale.name, [from, this.#placeOf(event)].sort((a, b) => a - b));
    });
    node.addEventListener('pointerup', (event) => {
      if (from === undefined) return;
      const part = [from, this.#placeOf(event)].sort((a, b) => a - b);
      from = undefined;
      this.#choose(scale.name, part[1] - part[0] < LEAST_DRAG ? undefined : part);
      this.#changed();
    });
    node.addEventListener('keydown', (event) => this.#press(event, scale.name));
  }

  #placeOf({clientY}) {
    const box = this.#svg.getBoundingClientRect();
    const y = (clientY - box.top) / box.height * HEIGHT;
    return clamp((HEIGHT - BOTTOM - y) / (HEIGHT - BOTTOM - TOP));
  }

  /** The arrows move the upper end of the part, with Shift the lower one. */
  #press(event, name) {
    const [from, to] = this.#chosen.get(name) ?? [0, 1];
    const by = {ArrowUp: KEY_STEP, ArrowDown: -KEY_STEP}[event.key];
    if (event.key === 'Escape') this.#choose(name, undefined);
    else if (by === undefined) return;
    else if (event.shiftKey) this.#choose(name, [Math.min(to, clamp(from + by)), to]);
    else this.#choose(name, [from, Math.max(from, clamp(to + by))]);
    event.preventDefault();
    this.#changed();
  }

  #choose(name, part) {
    if (part && (part[0] > 0 || part[1] < 1)) this.#chosen.set(name, part);
    else this.#chosen.delete(name);
    this.#draw();
  }

  #draw() {
    for (const scale of this.#scales) {
      const part = this.#chosen.get(scale.name);
      const brush = this.#brushes.get(scale.name);
      const [from, to] = part ?? [0, 0];
      brush.setAttribute('y', yOf(to));
      brush.setAttribute('height', yOf(from) - yOf(to));
      brush.toggleAttribute('hidden', !part);
      brush.parentNode.setAttribute('aria-label', `${brief(scale.name)}: ${part ? scale.between(...part) : 'all'}. `
        + 'Arrow up and down move the end of the chosen part, with Shift its beginning');
    }
    this.#lines.forEach((node, at) => node.classList.toggle('out', !this.has(this.#items[at])));
  }
}
