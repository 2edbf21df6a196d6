// One chart of a metric: a figure with its curves on a canvas. Charts of a page share a cursor and the parts of their
// axes (Linked).
import {axisOf, isTimed, metricOf, titleOf, unitOfX, xAt, xsOf, xText} from './abscissa.js';
import {Axis, boundsOf} from './axis.js';
import {contextOf, paintCrosshair} from './crosshair.js';
import {frameOf} from './frame.js';
import {FONT, paint} from './painter.js';
import {colourOf, dashOf, isDark, themeOf} from './palette.js';
import {Pointing} from './pointing.js';
import {byDistance, readingsAt, readingText} from './reading.js';
import {iecBytes, unitOf} from './ticks.js';
import {tooltip} from './tooltip.js';
import {briefName, clipped, el, number} from '../base/view.js';

const NEAR = 16; // pixels from the pointer to a curve
const EMPTY_LEFT = 40;

export class Chart {
  #canvas = el('canvas', {role: 'img', tabindex: 0});
  #over = el('canvas', {class: 'cursor', 'aria-hidden': 'true'});
  #said = el('output', {class: 'hidden'});
  #value = el('span', {class: 'value'});
  #curves = [];
  #marks = [];
  #options = {by: '', logX: false, logY: false, smooth: 0, hidesOutliers: false, range: [], rank: 0};
  #due = false;
  #isSeen = true;
  #steps;
  #linked;
  #pointing;

  /** Where its buttons are. */
  tools = el('span', {class: 'buttons'});
  /** Called with the name of the curve at the pointer; with undefined when it leaves the curve. */
  onhover = (_name) => {};
  /** What the last painting drew: {curve, xs, place, name, colour, dash, isStrong}, and its Frame. */
  drawn = [];
  frame = undefined;

  /** `steps`: the axis of its curves' steps. The signal removes the chart's listeners. */
  constructor(title, linked, signal, steps = 'steps') {
    this.#steps = steps;
    this.#linked = linked;
    this.isTimed = false;
    this.title = title;
    this.unit = unitOf(title);
    this.node = el('figure', {},
      el('figcaption', {}, clipped(title, 60), this.#value, this.tools),
      el('div', {class: 'plot'}, this.#canvas, this.#over),
      this.#said);
    this.#pointing = new Pointing(this, this.#canvas, linked, signal);
    this.#canvas.setAttribute('aria-label', this.#summary());
    const on = (target, name, call) => target.addEventListener(name, call, {signal});
    on(linked, 'change', () => this.draw());
    on(linked, 'curves', () => this.draw());
    on(linked, 'cursor', () => this.pointed());
    on(isDark, 'change', () => this.draw());
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(this.#canvas);
    signal.addEventListener('abort', () => sizes.disconnect(), {once: true});
  }

  /** The axis of its x. */
  get axis() { return axisOf(this.#options.by, this.#steps, this.isTimed); }

  /** What the curves are drawn over. */
  get xTitle() { return titleOf(this.axis); }

  get options() { return this.#options; }

  /** curves: {name, run, place, start, steps, times, min, max, mean, nonfinite}, as /curve answers; place: of its
      colour, else that in the list; start of the run in ms. marks: {time, text}. */
  show(curves, options = {}, marks = this.#marks) {
    this.#curves = curves.map((curve, at) => ({...curve, place: curve.place ?? at, run: curve.run ?? curve.name}));
    if (curves.some(({steps}) => steps.length)) this.isTimed = curves.some(isTimed);
    this.#marks = marks;
    Object.assign(this.#options, options);
    this.#canvas.setAttribute('aria-label', this.#summary());
    this.draw();
  }

  /** Draws the same data with other options. */
  configure(options) {
    Object.assign(this.#options, options);
    this.draw();
  }

  /** A chart that is not in sight is not drawn, and has no pixels. */
  set isSeen(isSeen) {
    this.#isSeen = isSeen;
    if (isSeen) this.draw();
    else for (const canvas of [this.#canvas, this.#over]) canvas.width = canvas.height = 0;
  }

  get isSeen() { return this.#isSeen; }

  draw() {
    if (this.#due || !this.#isSeen) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      if (this.#isSeen && this.#canvas.clientWidth) this.#paint();
    });
  }

  #summary() {
    const parts = this.#curves.map((curve) => {
      const bounds = boundsOf([curve.min, curve.max]);
      const name = briefName(curve.name);
      if (!bounds) return `${name}: no finite values`;
      const last = (curve.mean ?? curve.min).findLast((value) => value !== null);
      const [least, most] = bounds.map((value) => this.valueText(value));
      return `${name}: from ${least} to ${most}, last ${this.valueText(last)}`;
    });
    return `Chart of ${briefName(this.title)}. ${parts.join('; ')}`;
  }

  valueText = (value) => (this.unit && value !== null ? iecBytes(value) : number(value));

  get theme() { return themeOf(this.#canvas); }

  /** The curves that are not hidden, the highlighted one last. */
  #shownCurves() {
    const shown = this.#curves.filter(({run}) => !this.#linked.isHidden(run)).map((curve) => ({
      curve, xs: xsOf(this.axis, curve), place: curve.place, name: curve.run,
      colour: colourOf(curve.place), dash: dashOf(curve.place), isStrong: curve.run === this.#linked.highlighted,
    }));
    return shown.sort((a, b) => Number(a.isStrong) - Number(b.isStrong));
  }

  /** Paints it on a context of that size. Returns its frame; undefined without values. */
  paintOn(g, width, height) {
    g.font = FONT;
    const curves = this.drawn = this.#shownCurves();
    const {axis, theme} = this;
    const isLog = this.#options.logY ? ', logarithmic' : '';
    const frame = frameOf(g, {
      width, height, curves, part: this.#linked.of(axis), options: this.#options,
      xUnit: unitOfX(axis), yUnit: this.unit, titles: [this.xTitle, this.title + isLog], valueText: this.valueText,
    });
    if (frame) paint(g, frame, {curves, marks: this.#placesOfMarks(), smooth: this.#options.smooth, theme});
    return frame;
  }

  #paint() {
    const g = contextOf(this.#canvas);
    const {clientWidth: width, clientHeight: height} = this.#canvas;
    this.frame = this.paintOn(g, width, height);
    if (!this.frame) {
      g.fillStyle = this.theme.text;
      g.fillText(this.#emptyText(), EMPTY_LEFT, height / 2);
    }
    this.pointed();
  }

  #emptyText() {
    if (!this.#curves.length) return 'loading';
    if (!this.drawn.length) return 'all curves are hidden: the legend shows them again';
    if (this.#curves.every((curve) => curve.is_omitted)) return 'not in this file';
    const metric = metricOf(this.axis);
    if (metric !== undefined && this.#curves.some(({total}) => total)) return `no values of ${briefName(metric, 40)}`;
    const isPart = this.#linked.of(this.axis).from !== undefined;
    return isPart ? 'no values in this part' : `no values of rank ${this.#options.rank} yet`;
  }

  #placesOfMarks() {
    const [first] = this.#curves;
    return (first ? this.#marks : []).map(({time}) => this.#xOf(first, time)).filter((x) => x !== undefined);
  }

  // The x of a moment of the curve; undefined after its end.
  #xOf(curve, ms) {
    const x = xAt(this.axis, curve, ms);
    if (x !== undefined) return x;
    const at = curve.times.findIndex((each) => each >= ms);
    return at < 0 ? undefined : xsOf(this.axis, curve)[at];
  }

  /** Moves the cursor of all charts to the point next to the x, of the curve next to y, in pixels. */
  point(x, y, isKept = false) {
    const readings = readingsAt(this.drawn, x, this.frame, this.#options.smooth);
    const [first] = y === undefined ? readings : byDistance(readings, y);
    if (!first) return;
    this.#linked.point({
      axis: this.axis, x: first.x, y: y ?? first.y ?? this.frame.top, time: first.curve.times[first.at],
      run: first.name, isKept, owner: this,
    });
  }

  /** The same by keys, which also say what is there. */
  pointKeyed(x) {
    this.point(x);
    const rows = this.#rows(readingsAt(this.drawn, x, this.frame, this.#options.smooth));
    const texts = rows.map(({name, text}) => (rows.length > 1 ? `${name} ${text}` : text));
    this.#said.textContent = `${xText(this.axis, x)}: ${texts.join(', ')}`;
  }

  /** Says which curve is at these pixels. */
  hover(x, y) {
    const readings = x === undefined || !this.frame
      ? []
      : readingsAt(this.drawn, this.frame.x.value(x), this.frame, this.#options.smooth);
    const [first] = byDistance(readings, y);
    this.onhover(first && Math.abs(first.y - y) <= NEAR ? first.name : undefined);
  }

  // The x of the cursor; of a cursor on another axis that of the same moment.
  #cursorX(cursor) {
    if (cursor.axis === this.axis) return cursor.x;
    const {curve} = this.drawn.find(({name}) => name === cursor.run) ?? this.drawn[0] ?? {};
    return curve && this.#xOf(curve, cursor.time);
  }

  #rows(readings) {
    const {smooth} = this.#options;
    const steps = this.isTimed ? 'time' : this.#steps;
    return readings.map((reading) => ({
      place: reading.place, name: reading.name, text: readingText(reading, smooth, this.valueText),
      where: xText(steps, xsOf(steps, reading.curve)[reading.at]),
    }));
  }

  /** Draws the cursor where it is now. */
  pointed() {
    const {cursor} = this.#linked;
    const isOwn = cursor?.owner === this;
    if (!this.frame || !this.#isSeen) return;
    const x = cursor && this.#cursorX(cursor);
    const readings = x === undefined ? [] : readingsAt(this.drawn, x, this.frame, this.#options.smooth);
    paintCrosshair(this.#over, this.frame,
      {x: x === undefined ? undefined : this.frame.x.at(x), readings, drag: this.#pointing.drag, theme: this.theme});
    this.#value.textContent = !isOwn && readings.length === 1 ? this.valueText(readings[0].value) : '';
    if (!isOwn || !readings.length) {
      if (this.#isPointed) tooltip.hide();
      this.#isPointed = false;
      return;
    }
    this.#isPointed = true;
    const box = this.#canvas.getBoundingClientRect();
    tooltip.show(this.node, {x: box.left + this.frame.x.at(x), y: box.top + cursor.y}, {
      title: xText(this.axis, x), rows: this.#rows(byDistance(readings, cursor.y)), isKept: cursor.isKept,
    });
  }

  #isPointed = false;
}

/** A curve of a few values in a line of a table. */
export const spark = (values) => {
  const canvas = el('canvas', {class: 'spark', 'aria-hidden': 'true', width: 220, height: 48});
  const bounds = boundsOf([values]);
  if (!bounds) return '';
  const g = canvas.getContext('2d');
  const axis = new Axis(bounds[0], bounds[1], false);
  g.strokeStyle = colourOf(0);
  g.lineWidth = 3;
  g.beginPath();
  values.forEach((value, at) => {
    if (value !== null) g.lineTo(4 + at / Math.max(1, values.length - 1) * 212, 44 - axis.place(value) * 40);
  });
  g.stroke();
  return canvas;
};
