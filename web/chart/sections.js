// Charts in sections: those that are pinned, then by the first part of a metric's name, at last what rtrain records of
// itself, which is folded. The viewer's order, pins, folds and number of charts in a row are remembered.
import {recall, recallList, remember} from '../base/remembered.js';
import {el, everyOf} from '../base/view.js';

const OWN = ['data', 'gpu', 'host', 'process', 'time'];
const TITLES = {pinned: 'Pinned', plain: 'Metrics', own: 'System'};
const COLUMNS = ['auto', '1', '2', '3', '4'];

/** The section of a metric's name: 'plain' without a prefix, 'own' for rtrain's own, else 'of/' and the prefix. */
const sectionOf = ({name}) => {
  const slash = name.indexOf('/');
  if (slash < 0) return 'plain';
  const prefix = name.slice(0, slash);
  return OWN.includes(prefix) ? 'own' : `of/${prefix}`;
};

const rankOf = (key) => ['pinned', 'plain'].indexOf(key) + 1 || (key === 'own' ? 4 : 3);
const titleOf = (key) => TITLES[key] ?? `${key.slice('of/'.length)}/`;

/** [[key, metrics]] in their order. `order`: the titles that the viewer has moved, before the others.
    @return {[string, any[]][]} */
const grouped = (metrics, pins, order) => {
  const place = new Map(order.map((title, at) => [title, at]));
  const placeOf = (list) => ({title}) => (list.includes(title) ? list.indexOf(title) : place.get(title) ?? Infinity);
  const groups = [...Map.groupBy(metrics, (metric) => (pins.includes(metric.title) ? 'pinned' : sectionOf(metric)))];
  return groups
    .sort(([a], [b]) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1))
    .map(([key, each]) => {
      const at = placeOf(key === 'pinned' ? pins : []);
      const known = new Map(each.map((metric) => [metric, at(metric)]));
      return [key, each.toSorted((a, b) => (known.get(a) === known.get(b) ? 0 : known.get(a) - known.get(b)))];
    });
};

export class Sections {
  #sections = new Map();
  #nodeOf;
  #metrics = [];
  #part = '';
  #isSearch = false;
  #dragged = undefined;

  node = el('div', {class: 'sections'});

  /** nodeOf: the node of a metric's chart. */
  constructor(nodeOf) {
    this.#nodeOf = nodeOf;
    this.#setColumns(recall('chart-columns') ?? 'auto');
  }

  /** The titles of the charts that are pinned. */
  get pins() { return recallList('chart-pins'); }

  isPinned(title) { return this.pins.includes(title); }

  togglePin(title) {
    const pins = this.pins.filter((each) => each !== title);
    remember('chart-pins', pins.length < this.pins.length ? pins : [...pins, title]);
    this.#arrange();
  }

  /** Shows the metrics whose titles contain the text, in any case. */
  show(metrics, part = this.#part) {
    this.#metrics = metrics;
    this.#isSearch = part !== '';
    this.#part = part;
    this.#arrange();
  }

  get found() {
    const part = this.#part.toLowerCase();
    return this.#metrics.filter(({title}) => title.toLowerCase().includes(part));
  }

  // Moves no node that is in its place: a chart keeps its cursor and its focus.
  #arrange() {
    const groups = grouped(this.found, this.pins, recallList('chart-order'));
    groups.forEach(([key, metrics], at) => {
      const {node, grid, count} = this.#sectionOf(key);
      count.textContent = String(metrics.length);
      node.open = this.#isSearch || groups.length === 1 || this.#isOpen(key);
      this.#put(this.node, node, at);
      metrics.forEach((metric, place) => this.#put(grid, this.#nodeOf(metric), place));
      while (grid.children.length > metrics.length) grid.lastChild.remove();
    });
    while (this.node.children.length > groups.length) this.node.lastChild.remove();
  }

  #put(box, node, at) {
    if (box.children[at] !== node) box.insertBefore(node, box.children[at] ?? null);
  }

  #isOpen(key) { return (recall('chart-sections') ?? {})[key] ?? key !== 'own'; }

  #sectionOf(key) {
    if (!this.#sections.has(key)) {
      const count = el('span', {class: 'quiet'});
      const grid = el('div', {class: 'charts'});
      // Of a click or a key on the summary alone: a search opens sections too.
      const keep = () => {
        if (!this.#isSearch) remember('chart-sections', {...recall('chart-sections'), [key]: !node.open});
      };
      const node = el('details', {data: {section: key}},
        el('summary', {onclick: keep}, `${titleOf(key)} `, count), grid);
      this.#sections.set(key, {node, grid, count});
    }
    return this.#sections.get(key);
  }

  /** Moves a chart by a number of places within its section. */
  move(title, by) {
    const [, metrics] = grouped(this.found, this.pins, recallList('chart-order'))
      .find(([, each]) => each.some((metric) => metric.title === title));
    const titles = metrics.map((metric) => metric.title);
    const at = titles.indexOf(title);
    const to = Math.min(titles.length - 1, Math.max(0, at + by));
    this.#order(titles.toSpliced(at, 1).toSpliced(to, 0, title));
  }

  // Remembers the order of charts of one section.
  #order(titles) {
    if (titles.every((title) => this.isPinned(title))) remember('chart-pins', titles);
    else remember('chart-order', [...recallList('chart-order').filter((each) => !titles.includes(each)), ...titles]);
    const [focused] = everyOf(':focus');
    this.#arrange();
    if (focused?.isConnected) focused.focus({preventScroll: true});
  }

  /** Lets the chart be dragged by its handle to the place of another chart of its section. */
  makeMovable(title, node, handle, signal) {
    const on = (target, name, call) => target.addEventListener(name, call, {signal});
    handle.draggable = true;
    on(handle, 'dragstart', () => { this.#dragged = {title, node}; });
    on(handle, 'dragend', () => { this.#dragged = undefined; });
    on(node, 'dragover', (event) => { if (this.#canDrop(node)) event.preventDefault(); });
    on(node, 'drop', (event) => {
      if (!this.#canDrop(node)) return;
      event.preventDefault();
      const places = [...node.parentNode.children];
      this.move(this.#dragged.title, places.indexOf(node) - places.indexOf(this.#dragged.node));
    });
  }

  #canDrop(node) { return this.#dragged && this.#dragged.node.parentNode === node.parentNode; }

  #setColumns(columns) {
    this.node.dataset.columns = COLUMNS.includes(columns) ? columns : 'auto';
  }

  /** Chooses how many charts are in a row. */
  columns() {
    return el('label', {class: 'inline'}, 'In a row', el('select', {name: 'columns', onchange: (event) => {
      remember('chart-columns', event.target.value);
      this.#setColumns(event.target.value);
    }}, COLUMNS.map((each) => el('option', {value: each, selected: each === this.node.dataset.columns},
      each === 'auto' ? 'as many as fit' : each))));
  }
}
