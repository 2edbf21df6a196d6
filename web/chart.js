// One chart on a canvas: curves with a band from the least to the largest value of each part, so that a spike among a
// million points is seen. Charts of a page share a Zoom, by axis: reports, steps of train.log, or the time since the
// run's start. With the keyboard: arrows move the cursor, + and - zoom, Escape shows all.
import {Axis, boundsOf, smoothed} from './axis.js';
import {colourOf, dashOf, isDark, swatch} from './palette.js';
import {iecBytes, sinceText, ticksOf, unitOf} from './ticks.js';
import {briefName, clipped, el, number} from './view.js';

const LEAST_TIME = 1e8; // seconds since 1970
const LEAST_LEFT = 40;
const TICK_GAP = 6;
const BOTTOM = 20;
const TOP = 6;
const RIGHT = 8;
const NEAR = 16; // pixels from the pointer to a curve
const FONT = '11px system-ui, sans-serif';

/** The parts that charts show, by axis. */
export class Zoom extends EventTarget {
  #parts = new Map();

  /** {from, to} of the axis; without them all of it. */
  of(axis) { return this.#parts.get(axis) ?? {}; }

  set(axis, from, to) {
    this.#parts.set(axis, {from, to});
    this.dispatchEvent(new Event('change'));
  }

  showAll() {
    if (!this.#parts.size) return;
    this.#parts.clear();
    this.dispatchEvent(new Event('change'));
  }
}

/** Whether the steps are Unix times in seconds, as in what a node records of itself. */
const isTimed = ({steps: [first], times}) => first >= LEAST_TIME && Math.abs(first - times[0] / 1000) < 2;

export class Chart {
  #canvas = el('canvas', {role: 'img', tabindex: 0});
  #output = el('output', {});
  #curves = [];
  #marks = [];
  #options = {logX: false, logY: false, smooth: 0, byTime: false, rank: 0};
  #cursor = undefined;
  #drag = undefined;
  #due = false;
  #steps;
  #highlighted = undefined;

  /** Called with the name of the curve at the pointer; with undefined when it leaves the curve. */
  onhover = () => {};

  /** `steps`: the axis of its curves' steps. The signal removes the chart's listeners. */
  constructor(title, zoom, signal, steps = 'steps') {
    this.#steps = steps;
    this.isTimed = false;
    this.title = title;
    this.unit = unitOf(title);
    this.zoom = zoom;
    this.node = el('figure', {}, el('figcaption', {}, clipped(title, 60), this.#output), this.#canvas);
    this.#canvas.setAttribute('aria-label', this.#summary());
    const on = (target, name, call) => target.addEventListener(name, call, {signal});
    on(zoom, 'change', () => this.draw());
    on(isDark, 'change', () => this.draw());
    on(this.#canvas, 'pointerdown', (event) => this.#press(event));
    on(this.#canvas, 'pointermove', (event) => this.#move(event));
    on(this.#canvas, 'pointerup', () => this.#release());
    on(this.#canvas, 'pointerleave', () => {
      this.#point(undefined);
      this.onhover(undefined);
    });
    on(this.#canvas, 'dblclick', () => zoom.showAll());
    on(this.#canvas, 'keydown', (event) => this.#key(event));
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(this.#canvas);
    signal.addEventListener('abort', () => sizes.disconnect(), {once: true});
  }

  /** The axis of its x. */
  get axis() { return this.isTimed || this.#options.byTime ? 'time' : this.#steps; }

  /** curves: {name, place, start, steps, times, min, max, mean, nonfinite}, as /curve answers; place: of its colour,
      else that in the list; start of the run in ms. marks: {time, text}. */
  show(curves, options = {}, marks = this.#marks) {
    this.#curves = curves.map((curve, at) => ({...curve, place: curve.place ?? at}));
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

  /** Draws the curve of that name strongly and the others weakly; without a name all alike. */
  highlight(name) {
    if (name === this.#highlighted) return;
    this.#highlighted = name;
    this.draw();
  }

  draw() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#paint();
    });
  }

  #xs(curve) {
    if (this.axis !== 'time') return curve.steps;
    return curve.seconds ??= curve.times.map((time) => this.#secondsOf(curve, time));
  }

  #secondsOf(curve, time) { return (time - (curve.start ?? curve.times[0])) / 1000; }

  #summary() {
    const parts = this.#curves.map((curve) => {
      const bounds = boundsOf([curve.min, curve.max]);
      const name = briefName(curve.name);
      if (!bounds) return `${name}: no finite values`;
      const last = (curve.mean ?? curve.min).findLast((value) => value !== null);
      const [least, most] = bounds.map((value) => this.#valueText(value));
      return `${name}: from ${least} to ${most}, last ${this.#valueText(last)}`;
    });
    return `Chart of ${briefName(this.title)}. ${parts.join('; ')}`;
  }

  #valueText(value) { return this.unit && value !== null ? iecBytes(value) : number(value); }

  /** Its values within the part of the axis. */
  #shownValues(curve, from, to) {
    const lists = [curve.min, curve.max].filter(Boolean);
    if (from === undefined) return lists;
    const xs = this.#xs(curve);
    return lists.map((list) => list.filter((_, at) => (xs[at + 1] ?? xs[at]) >= from && (xs[at - 1] ?? xs[at]) <= to));
  }

  #axes(g, width, height) {
    const {logX, logY} = this.#options;
    const {from, to} = this.zoom.of(this.axis);
    const xs = boundsOf(this.#curves.map((curve) => this.#xs(curve)), logX);
    const ys = boundsOf(this.#curves.flatMap((curve) => this.#shownValues(curve, from, to)), logY);
    if (!xs || !ys) return undefined;
    const x = new Axis(from ?? xs[0], to ?? xs[1], logX);
    const pad = logY ? 0 : (ys[1] - ys[0]) * 0.04;
    const y = new Axis(ys[0] - pad, ys[1] + pad, logY);
    const yTicks = ticksOf(y, 5, this.unit);
    const left = Math.max(LEAST_LEFT, ...yTicks.map(({text}) => Math.ceil(g.measureText(text).width) + TICK_GAP + 2));
    return {
      x, y, yTicks, left,
      px: (value) => left + x.place(value) * (width - left - RIGHT),
      py: (value) => height - BOTTOM - y.place(value) * (height - BOTTOM - TOP),
    };
  }

  #paint() {
    const ratio = devicePixelRatio || 1;
    const {clientWidth: width, clientHeight: height} = this.#canvas;
    if (!width) return;
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    const g = this.#canvas.getContext('2d');
    g.scale(ratio, ratio);
    const style = getComputedStyle(this.#canvas);
    const theme = {text: style.getPropertyValue('--quiet'), line: style.getPropertyValue('--line')};
    g.font = FONT;
    const axes = this.axes = this.#axes(g, width, height);
    if (!axes) {
      g.fillStyle = theme.text;
      g.fillText(this.#emptyText(), LEAST_LEFT, height / 2);
      return;
    }
    this.#paintGrid(g, axes, width, height, theme);
    g.save();
    g.beginPath();
    g.rect(axes.left, TOP, width - axes.left - RIGHT, height - BOTTOM - TOP);
    g.clip();
    this.#paintMarks(g, axes, height, theme);
    this.#paintCurves(g, axes);
    this.#paintCursor(g, axes, height, theme);
    g.restore();
  }

  #emptyText() {
    if (!this.#curves.length) return 'loading';
    if (this.#curves.every((curve) => curve.is_omitted)) return 'not in this file';
    const isPart = this.zoom.of(this.axis).from !== undefined;
    return isPart ? 'no values in this part' : `no values of rank ${this.#options.rank} yet`;
  }

  #paintGrid(g, axes, width, height, theme) {
    g.strokeStyle = theme.line;
    g.fillStyle = theme.text;
    g.lineWidth = 1;
    g.beginPath();
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const {value, text} of axes.yTicks) {
      const y = Math.round(axes.py(value)) + 0.5;
      g.moveTo(axes.left, y);
      g.lineTo(width - RIGHT, y);
      g.fillText(text, axes.left - TICK_GAP, y);
    }
    g.textBaseline = 'alphabetic';
    g.textAlign = 'center';
    const most = Math.max(2, Math.floor((width - axes.left) / 90));
    const ticks = ticksOf(axes.x, most, this.axis === 'time' ? 's' : 'count');
    for (const {value, text} of ticks) {
      const x = Math.round(axes.px(value)) + 0.5;
      g.moveTo(x, TOP);
      g.lineTo(x, height - BOTTOM);
      const half = g.measureText(text).width / 2;
      g.fillText(text, Math.max(half, Math.min(x, width - half)), height - 6);
    }
    g.stroke();
  }

  #xText(value) { return this.axis === 'time' ? sinceText(value) : number(value, 9); }

  #paintMarks(g, axes, height, theme) {
    const [first] = this.#curves;
    g.strokeStyle = theme.text;
    g.setLineDash([2, 3]);
    for (const {time} of first ? this.#marks : []) {
      const at = first.times.findIndex((each) => each >= time);
      if (at < 0) continue;
      const x = axes.px(this.axis === 'time' ? this.#secondsOf(first, time) : first.steps[at]);
      g.beginPath();
      g.moveTo(x, TOP);
      g.lineTo(x, height - BOTTOM);
      g.stroke();
    }
    g.setLineDash([]);
  }

  // The highlighted curve is the topmost.
  #paintCurves(g, axes) {
    const top = this.#curves.find(({name}) => name === this.#highlighted);
    for (const curve of this.#curves) if (curve !== top) this.#paintCurve(g, axes, curve, top ? 0.2 : 1, 1.7);
    if (top) this.#paintCurve(g, axes, top, 1, 2.6);
  }

  #paintCurve(g, axes, curve, strength, lineWidth) {
    const xs = this.#xs(curve);
    const middle = curve.mean ?? curve.min;
    g.strokeStyle = g.fillStyle = colourOf(curve.place);
    g.lineJoin = 'round';
    g.globalAlpha = 0.4 * strength;
    if (curve.max) this.#paintBand(g, axes, xs, curve);
    const {smooth} = this.#options;
    g.globalAlpha = 0.35 * strength;
    if (smooth > 0) this.#paintLine(g, axes, xs, middle, 1);
    g.globalAlpha = strength;
    g.setLineDash(dashOf(curve.place));
    this.#paintLine(g, axes, xs, smooth > 0 ? smoothed(middle, smooth) : middle, lineWidth);
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  // Drawn as lines, not as an area: a single spike may be narrower than a pixel. Two pixels wide it covers one of them.
  #paintBand(g, axes, xs, curve) {
    const floor = axes.y.log ? axes.y.from : -Infinity;
    g.lineWidth = Math.max(2, (axes.px(xs.at(-1)) - axes.px(xs[0])) / Math.max(1, xs.length));
    g.beginPath();
    for (let i = 0; i < xs.length; ++i) {
      if (curve.max[i] === null || curve.max[i] <= floor && axes.y.log) continue;
      const x = axes.px(xs[i]);
      g.moveTo(x, axes.py(Math.max(curve.min[i], floor)) + 0.5);
      g.lineTo(x, axes.py(curve.max[i]) - 0.5);
    }
    g.stroke();
  }

  #paintLine(g, axes, xs, ys, lineWidth) {
    g.lineWidth = lineWidth;
    g.beginPath();
    let isOpen = false;
    let drawn = 0;
    for (let i = 0; i < xs.length; ++i) {
      const x = axes.px(xs[i]);
      const y = ys[i] === null ? NaN : axes.py(ys[i]);
      if (Number.isNaN(x) || Number.isNaN(y)) {
        isOpen = false;
        continue;
      }
      if (isOpen) g.lineTo(x, y);
      else g.moveTo(x, y);
      isOpen = true;
      ++drawn;
    }
    g.stroke();
    if (drawn > 60) return;
    for (let i = 0; i < xs.length; ++i) {
      if (ys[i] !== null) g.fillRect(axes.px(xs[i]) - 2, axes.py(ys[i]) - 2, 4, 4);
    }
  }

  #paintCursor(g, axes, height, theme) {
    if (this.#drag) {
      g.globalAlpha = 0.2;
      g.fillStyle = theme.text;
      const [a, b] = [axes.px(this.#drag[0]), axes.px(this.#drag[1])];
      g.fillRect(Math.min(a, b), TOP, Math.abs(b - a), height - TOP - BOTTOM);
      g.globalAlpha = 1;
    }
    if (this.#cursor === undefined) return;
    g.strokeStyle = theme.text;
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(axes.px(this.#cursor), TOP);
    g.lineTo(axes.px(this.#cursor), height - BOTTOM);
    g.stroke();
  }

  #valueAt(event) {
    if (!this.axes) return undefined;
    const box = this.#canvas.getBoundingClientRect();
    const place = (event.clientX - box.left - this.axes.left) / (box.width - this.axes.left - RIGHT);
    return this.axes.x.value(Math.min(1, Math.max(0, place)));
  }

  #press(event) {
    const value = this.#valueAt(event);
    if (value !== undefined && event.button === 0) this.#drag = [value, value];
  }

  #move(event) {
    const value = this.#valueAt(event);
    if (value === undefined) return;
    if (this.#drag) this.#drag[1] = value;
    this.#point(value);
    this.onhover(this.#curveAt(event, value)?.name);
  }

  // The curve next to the pointer; undefined if none is near.
  #curveAt(event, value) {
    const y = event.clientY - this.#canvas.getBoundingClientRect().top;
    const distanceOf = (curve) => {
      const at = this.#nearest(this.#xs(curve), value);
      const middle = (curve.mean ?? curve.min)[at];
      return at < 0 || middle === null ? Infinity : Math.abs(this.axes.py(middle) - y);
    };
    const [nearest] = this.#curves.map((curve) => [distanceOf(curve), curve]).sort(([a], [b]) => a - b);
    return nearest && nearest[0] <= NEAR ? nearest[1] : undefined;
  }

  #release() {
    if (!this.#drag || !this.axes) return;
    const [from, to] = this.#drag.toSorted((a, b) => a - b);
    this.#drag = undefined;
    const isWide = this.axes.px(to) - this.axes.px(from) > 5;
    if (isWide) this.#zoomTo(from, to);
    else this.draw();
  }

  #point(value) {
    if (value === undefined) this.#drag = undefined;
    this.#cursor = value;
    this.#output.classList.toggle('many', value !== undefined && this.#curves.length > 1);
    this.#output.replaceChildren(...value === undefined || !this.#curves.length ? [] : this.#readout(value));
    this.draw();
  }

  // The values of all curves at the x of the first one; another x is named.
  #readout(value) {
    const places = this.#curves.map((curve) => this.#nearest(this.#xs(curve), value));
    const xOf = (at) => this.#xs(this.#curves[at])[places[at]];
    const first = places.findIndex((place) => place >= 0);
    if (first < 0) return [];
    const rows = this.#curves.map((curve, at) => {
      if (places[at] < 0) return '';
      const x = xOf(at) === xOf(first) ? '' : ` at ${this.#xText(xOf(at))}`;
      const text = this.#textAt(curve, places[at]) + x;
      return this.#curves.length > 1 ? el('span', {}, swatch(curve.place), clipped(curve.name), ` ${text}`) : text;
    });
    return [`${this.#xText(xOf(first))}: `, ...rows];
  }

  #textAt(curve, at) {
    const middle = this.#valueText((curve.mean ?? curve.min)[at]);
    const isBand = curve.max && curve.max[at] !== curve.min[at];
    const band = isBand ? ` (${this.#valueText(curve.min[at])} … ${this.#valueText(curve.max[at])})` : '';
    const bad = curve.nonfinite?.[at] ? ` ${curve.nonfinite[at]} not finite` : '';
    return `${middle}${band}${bad}`;
  }

  #nearest(xs, value) {
    let low = 0;
    let high = xs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low > 0 && value - xs[low - 1] < xs[low] - value ? low - 1 : low < xs.length ? low : -1;
  }

  #key(event) {
    const filled = this.#curves.find((curve) => curve.steps.length);
    const xs = filled ? this.#xs(filled) : [];
    if (!xs.length) return;
    const at = this.#cursor === undefined ? -1 : this.#nearest(xs, this.#cursor);
    const moves = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1};
    if (event.key in moves) this.#point(xs[Math.min(xs.length - 1, Math.max(0, moves[event.key]))]);
    else if (event.key === 'Escape') this.zoom.showAll();
    else if (event.key === '+') this.#zoomBy(0.5, this.#cursor ?? xs[xs.length >> 1]);
    else if (event.key === '-') this.#zoomBy(2, this.#cursor ?? xs[xs.length >> 1]);
    else return;
    event.preventDefault();
  }

  #zoomBy(factor, centre) {
    if (!this.axes) return;
    const half = (this.axes.x.to - this.axes.x.from) * factor / 2;
    this.#zoomTo(centre - half, centre + half);
  }

  #zoomTo(from, to) {
    const isTime = this.axis === 'time';
    this.zoom.set(this.axis, isTime ? from : Math.floor(from), isTime ? to : Math.ceil(to));
  }
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
