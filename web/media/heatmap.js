// Histograms over steps as a heat map: x is the step, y the value, and the colour how large a share of the step's
// numbers is there. A click or an arrow chooses a step.
import {unitOfX} from '../chart/abscissa.js';
import {contextOf, paintCrosshair} from '../chart/crosshair.js';
import {frameOf} from '../chart/frame.js';
import {FONT, paint} from '../chart/painter.js';
import {isDark, themeOf} from '../chart/palette.js';
import {colourFor, strengthLegend} from '../chart/strength.js';
import {get, runPath} from '../server/api.js';
import {inCommonBins} from './bins.js';
import {el, number} from '../base/view.js';

const BINS = 100;
const SHADES = 24;
const OPTIONS = {logX: false, logY: false, hidesOutliers: false};

const percent = (share) => `${number(100 * share, 2)} %`;

/** What heat maps next to each other have in common: the range of y, and the share of the strongest colour. */
export class Shades {
  #maps = new Set();
  range;
  highest = 0;

  /** Draws all maps again if this one has larger values. */
  take(map, edges, highest) {
    this.#maps.add(map);
    const [least, largest] = this.range ?? [Infinity, -Infinity];
    this.range = [Math.min(least, edges[0]), Math.max(largest, edges.at(-1))];
    this.highest = Math.max(this.highest, highest);
    for (const each of this.#maps) each.draw();
  }
}

export class HeatMap {
  #canvas = el('canvas', {role: 'slider', tabindex: 0});
  #over = el('canvas', {class: 'cursor', 'aria-hidden': 'true'});
  #said = el('p', {class: 'quiet'});
  #of;
  #choose;
  #signal;
  #records = 0;
  #edges = [];
  #columns = []; // {step, num, counts, from, to: the part of x}
  #chosen = 0;
  #frame;

  #legend = el('div');
  #note = el('p', {class: 'quiet'});

  node = el('figure', {class: 'heat', hidden: true},
    el('div', {class: 'plot'}, this.#canvas, this.#over), this.#said, this.#legend, this.#note);

  /** of: {run, name, rank, shades}. choose: called with the step that the viewer chooses. */
  constructor(of, choose, signal) {
    this.#of = of;
    this.#choose = choose;
    this.#signal = signal;
    this.#canvas.setAttribute('aria-label', `Step of ${of.name} of ${of.run}, rank ${of.rank}`);
    const on = (target, name, call) => target.addEventListener(name, call, {signal});
    on(this.#canvas, 'click', ({offsetX}) => this.#choose(this.#columns[this.#columnAt(offsetX)].step));
    on(this.#canvas, 'keydown', (event) => this.#press(event));
    on(this.#canvas, 'pointermove', ({offsetX, offsetY}) => this.#read(offsetX, offsetY));
    on(this.#canvas, 'pointerleave', () => this.#point());
    on(isDark, 'change', () => this.draw());
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(this.#canvas);
    signal.addEventListener('abort', () => sizes.disconnect(), {once: true});
  }

  /** Asks for the histograms and draws them, if there are more records than the last time. */
  async load(records) {
    if (records <= this.#records) return;
    this.#records = records;
    const {run, name, rank} = this.#of;
    try {
      const {histograms, total} = await get(`${runPath(run)}/media/histograms`, {name, rank}, this.#signal);
      if (!this.#signal.aborted && histograms.length > 1) this.#fill(histograms, total);
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      this.#note.textContent = error.message;
      this.node.hidden = false;
    }
  }

  #fill(histograms, total) {
    const highest = this.#set(histograms);
    this.#note.textContent = histograms.length < total ? `${histograms.length} of ${total} steps are drawn.` : '';
    this.node.hidden = false;
    this.#of.shades.take(this, this.#edges, highest);
    this.#point();
  }

  /** Marks the last column up to that step. */
  show(step) {
    this.#chosen = step;
    if (this.#columns.length) this.#point();
  }

  // Returns the largest share of a step's numbers that is in one bin.
  #set(histograms) {
    const {edges, counts} = inCommonBins(histograms, BINS);
    const middle = (at) => (histograms[at].step + histograms[at + 1].step) / 2;
    const last = histograms.length - 1;
    this.#edges = edges;
    this.#columns = histograms.map(({step, num}, at) => ({
      step, num, counts: counts[at],
      from: at ? middle(at - 1) : 1.5 * step - histograms[1].step / 2,
      to: at < last ? middle(at) : 1.5 * step - histograms[last - 1].step / 2,
    }));
    return Math.max(...this.#columns.map((column) => Math.max(...column.counts) / column.num));
  }

  draw() {
    const {shades: {range, highest}} = this.#of;
    const {clientWidth: width, clientHeight: height} = this.#canvas;
    if (!width || !this.#columns.length) return;
    const g = contextOf(this.#canvas);
    const theme = themeOf(this.#canvas);
    const part = {from: this.#columns[0].from, to: this.#columns.at(-1).to};
    g.font = FONT;
    const frame = this.#frame = frameOf(g, {
      width, height, curves: [{curve: {min: range}, xs: [part.from, part.to]}], part, options: {...OPTIONS, range},
      xUnit: unitOfX('steps'), yUnit: '', titles: ['step', 'value'], valueText: number,
    });
    paint(g, frame, {curves: [], marks: [], smooth: 0, theme});
    const colours = Array.from({length: SHADES}, (_, at) => colourFor(at / (SHADES - 1), theme.link, theme.back));
    for (const column of this.#columns) this.#paint(g, column, colours, highest);
    this.#legend.replaceChildren(strengthLegend("share of a step's numbers in a bin", '0', percent(highest)));
    this.#point();
  }

  // The square root shows what is rare too. Whole pixels: nothing shines through between the cells.
  #paint(g, {from, to, num, counts}, colours, highest) {
    const {x, y} = this.#frame;
    const [left, right] = [from, to].map((each) => Math.round(x.at(each)));
    counts.forEach((count, bin) => {
      if (!count) return;
      const [bottom, top] = [this.#edges[bin], this.#edges[bin + 1]].map((each) => Math.round(y.at(each)));
      g.fillStyle = colours[Math.round(Math.sqrt(count / num / highest) * (SHADES - 1))];
      g.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
    });
  }

  #columnAt(x) {
    const value = this.#frame.x.value(x);
    return Math.max(0, this.#columns.findLastIndex(({from}) => from <= value));
  }

  get #chosenColumn() { return Math.max(0, this.#columns.findLastIndex(({step}) => step <= this.#chosen)); }

  #press(event) {
    const at = this.#chosenColumn;
    const last = this.#columns.length - 1;
    const next = {
      ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (this.#columns[next] && next !== at) this.#choose(this.#columns[next].step);
  }

  #binText(bin) { return `${number(this.#edges[bin], 4)} to ${number(this.#edges[bin + 1], 4)}`; }

  /** Says what is at these pixels. */
  #read(x, y) {
    const {step, num, counts} = this.#columns[this.#columnAt(x)];
    const value = this.#frame.y.value(y);
    const bin = Math.max(0, Math.min(BINS - 1, this.#edges.findLastIndex((edge) => edge <= value)));
    this.#said.textContent = `Step ${step}, ${this.#binText(bin)}: ${percent(counts[bin] / num)} of ${num} numbers`;
  }

  /** Marks the chosen step, and says what is there. */
  #point() {
    const column = this.#columns[this.#chosenColumn];
    const highest = Math.max(...column.counts);
    const text = `Step ${column.step}: ${column.num} numbers, the fullest bin from `
      + `${this.#binText(column.counts.indexOf(highest))} (${percent(highest / column.num)})`;
    this.#said.textContent = text;
    const range = {valuemin: this.#columns[0].step, valuemax: this.#columns.at(-1).step, valuenow: column.step};
    for (const [name, value] of Object.entries({...range, valuetext: text})) {
      this.#canvas.setAttribute(`aria-${name}`, value);
    }
    if (!this.#frame || !this.#canvas.clientWidth) return;
    paintCrosshair(this.#over, this.#frame, {x: this.#frame.x.at(column.step), theme: themeOf(this.#canvas)});
  }
}
