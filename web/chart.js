// One chart on a canvas: curves with a band from the least to the largest value of each part, so that a spike among a
// million points is seen. Charts of a page share a Zoom. With the keyboard: arrows move the cursor, + and - zoom,
// Escape shows all.
import {Axis, boundsOf, smoothed} from './axis.js';
import {el, number} from './view.js';

const LIGHT = ['#0b5a94', '#b3261e', '#1a6e33', '#8a5300', '#6f3fa0', '#00707a', '#a3246f', '#4a5560'];
const DARK = ['#7cc0f2', '#ff9088', '#6fd08c', '#f0b45a', '#c7a2f5', '#5fd0da', '#ff9ad1', '#b8c2cc'];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const LEFT = 56;
const BOTTOM = 20;
const TOP = 6;
const RIGHT = 8;

const isDark = matchMedia('(prefers-color-scheme: dark)');
const colourOf = (index) => (isDark.matches ? DARK : LIGHT)[index % LIGHT.length];
const dashOf = (index) => DASHES[Math.floor(index / LIGHT.length) % DASHES.length];

/** The part of the x axis that all charts show; undefined: all of it. */
export class Zoom extends EventTarget {
  from = undefined;
  to = undefined;

  set(from, to) {
    if (this.from === from && this.to === to) return;
    this.from = from;
    this.to = to;
    this.dispatchEvent(new Event('change'));
  }
}

/** The legend: the colour and dashes of each curve, by its place in the list. */
export const legend = (names) => el('ul', {class: 'legend'},
  names.map((name, index) => el('li', {},
    el('svg', {viewBox: '0 0 18 8', 'aria-hidden': 'true'},
      el('path', {
        d: 'M0 4h18', fill: 'none', stroke: colourOf(index), 'stroke-width': 2,
        'stroke-dasharray': dashOf(index).join(' ') || undefined,
      })),
    name)));

export class Chart {
  #canvas = el('canvas', {role: 'img', tabindex: 0});
  #output = el('output', {});
  #curves = [];
  #marks = [];
  #options = {logX: false, logY: false, smooth: 0, byTime: false};
  #cursor = undefined;
  #drag = undefined;
  #due = false;

  /** The signal removes the chart's listeners. */
  constructor(title, zoom, signal) {
    this.title = title;
    this.zoom = zoom;
    this.node = el('figure', {}, el('figcaption', {}, el('span', {}, title), this.#output), this.#canvas);
    const on = (target, name, call) => target.addEventListener(name, call, {signal});
    on(zoom, 'change', () => this.draw());
    on(isDark, 'change', () => this.draw());
    on(this.#canvas, 'pointerdown', (event) => this.#press(event));
    on(this.#canvas, 'pointermove', (event) => this.#move(event));
    on(this.#canvas, 'pointerup', () => this.#release());
    on(this.#canvas, 'pointerleave', () => this.#point(undefined));
    on(this.#canvas, 'dblclick', () => zoom.set(undefined, undefined));
    on(this.#canvas, 'keydown', (event) => this.#key(event));
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(this.#canvas);
    signal.addEventListener('abort', () => sizes.disconnect(), {once: true});
  }

  /** curves: {name, steps, times, min, max, mean, nonfinite}, as /curve answers. marks: {time, text}. */
  show(curves, options = {}, marks = this.#marks) {
    this.#curves = curves;
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

  draw() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#paint();
    });
  }

  #xs(curve) { return this.#options.byTime ? curve.times : curve.steps; }

  #summary() {
    const parts = this.#curves.map((curve) => {
      const bounds = boundsOf([curve.min, curve.max]);
      if (!bounds) return `${curve.name}: no finite values`;
      const last = (curve.mean ?? curve.min).findLast((value) => value !== null);
      return `${curve.name}: from ${number(bounds[0])} to ${number(bounds[1])}, last ${number(last)}`;
    });
    return `Chart of ${this.title}. ${parts.join('; ')}`;
  }

  #axes(width, height) {
    const {logX, logY} = this.#options;
    const xs = boundsOf(this.#curves.map((curve) => this.#xs(curve)), logX);
    const ys = boundsOf(this.#curves.flatMap((curve) => [curve.min, curve.max]), logY);
    if (!xs || !ys) return undefined;
    const x = new Axis(this.zoom.from ?? xs[0], this.zoom.to ?? xs[1], logX);
    const pad = logY ? 0 : (ys[1] - ys[0]) * 0.04;
    const y = new Axis(ys[0] - pad, ys[1] + pad, logY);
    return {
      x, y,
      px: (value) => LEFT + x.place(value) * (width - LEFT - RIGHT),
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
    g.font = '11px system-ui, sans-serif';
    const axes = this.axes = this.#axes(width, height);
    if (!axes) {
      g.fillStyle = theme.text;
      g.fillText('no values yet', LEFT, height / 2);
      return;
    }
    this.#paintGrid(g, axes, width, height, theme);
    g.save();
    g.beginPath();
    g.rect(LEFT, TOP, width - LEFT - RIGHT, height - BOTTOM - TOP);
    g.clip();
    this.#paintMarks(g, axes, height, theme);
    this.#curves.forEach((curve, index) => this.#paintCurve(g, axes, curve, index));
    this.#paintCursor(g, axes, height, theme);
    g.restore();
  }

  #paintGrid(g, axes, width, height, theme) {
    g.strokeStyle = theme.line;
    g.fillStyle = theme.text;
    g.lineWidth = 1;
    g.beginPath();
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const tick of axes.y.ticks(5)) {
      const y = Math.round(axes.py(tick)) + 0.5;
      g.moveTo(LEFT, y);
      g.lineTo(width - RIGHT, y);
      g.fillText(number(tick, 4), LEFT - 6, y);
    }
    g.textBaseline = 'alphabetic';
    const ticks = axes.x.ticks(Math.max(2, Math.floor((width - LEFT) / 90)));
    ticks.forEach((tick, at) => {
      const x = Math.round(axes.px(tick)) + 0.5;
      g.moveTo(x, TOP);
      g.lineTo(x, height - BOTTOM);
      g.textAlign = at === ticks.length - 1 && x > width - 40 ? 'right' : 'center';
      g.fillText(this.#xText(tick), Math.min(x, width - RIGHT), height - 6);
    });
    g.stroke();
  }

  #xText(value) {
    return this.#options.byTime ? new Date(value).toISOString().slice(11, 19) : number(value, 6);
  }

  #paintMarks(g, axes, height, theme) {
    const times = this.#curves[0]?.times ?? [];
    g.strokeStyle = theme.text;
    g.setLineDash([2, 3]);
    for (const mark of this.#marks) {
      const at = times.findIndex((each) => each >= mark.time);
      if (at < 0) continue;
      const x = axes.px(this.#xs(this.#curves[0])[at]);
      g.beginPath();
      g.moveTo(x, TOP);
      g.lineTo(x, height - BOTTOM);
      g.stroke();
    }
    g.setLineDash([]);
  }

  #paintCurve(g, axes, curve, index) {
    const xs = this.#xs(curve);
    const middle = curve.mean ?? curve.min;
    g.strokeStyle = g.fillStyle = colourOf(index);
    g.lineJoin = 'round';
    if (curve.max) this.#paintBand(g, axes, xs, curve);
    const {smooth} = this.#options;
    if (smooth > 0) {
      g.globalAlpha = 0.35;
      this.#paintLine(g, axes, xs, middle, 1);
      g.globalAlpha = 1;
    }
    g.setLineDash(dashOf(index));
    this.#paintLine(g, axes, xs, smooth > 0 ? smoothed(middle, smooth) : middle, 1.7);
    g.setLineDash([]);
  }

  // Drawn as lines, not as an area: a single spike may be narrower than a pixel.
  #paintBand(g, axes, xs, curve) {
    const floor = axes.y.log ? axes.y.from : -Infinity;
    g.globalAlpha = 0.4;
    g.lineWidth = Math.max(1.5, (axes.px(xs.at(-1)) - axes.px(xs[0])) / Math.max(1, xs.length));
    g.beginPath();
    for (let i = 0; i < xs.length; ++i) {
      if (curve.max[i] === null || curve.max[i] <= floor && axes.y.log) continue;
      const x = axes.px(xs[i]);
      g.moveTo(x, axes.py(Math.max(curve.min[i], floor)) + 0.5);
      g.lineTo(x, axes.py(curve.max[i]) - 0.5);
    }
    g.stroke();
    g.globalAlpha = 1;
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
    const place = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
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
  }

  #release() {
    if (!this.#drag || !this.axes) return;
    const [from, to] = this.#drag.toSorted((a, b) => a - b);
    this.#drag = undefined;
    const isWide = this.axes.px(to) - this.axes.px(from) > 5;
    if (isWide) this.zoom.set(Math.floor(from), Math.ceil(to));
    else this.draw();
  }

  // Moves to the nearest part of the first curve, and shows the values of all curves there.
  #point(value) {
    if (value === undefined) this.#drag = undefined;
    this.#cursor = value;
    const first = this.#curves[0];
    if (value === undefined || !first) this.#output.textContent = '';
    else this.#output.textContent = this.#textAt(value);
    this.draw();
  }

  #textAt(value) {
    const texts = this.#curves.slice(0, 4).map((curve) => {
      const at = this.#nearest(this.#xs(curve), value);
      if (at < 0) return '';
      const middle = number((curve.mean ?? curve.min)[at]);
      const isBand = curve.max && curve.max[at] !== curve.min[at];
      const band = isBand ? ` (${number(curve.min[at])} … ${number(curve.max[at])})` : '';
      const bad = curve.nonfinite?.[at] ? ` ${curve.nonfinite[at]} not finite` : '';
      return `${middle}${band}${bad}`;
    });
    const at = this.#nearest(this.#xs(this.#curves[0]), value);
    return `${this.#xText(this.#xs(this.#curves[0])[at])}: ${texts.join(' · ')}`;
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
    const xs = this.#curves[0] ? this.#xs(this.#curves[0]) : [];
    if (!xs.length) return;
    const at = this.#cursor === undefined ? -1 : this.#nearest(xs, this.#cursor);
    const moves = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1};
    if (event.key in moves) this.#point(xs[Math.min(xs.length - 1, Math.max(0, moves[event.key]))]);
    else if (event.key === 'Escape') this.zoom.set(undefined, undefined);
    else if (event.key === '+') this.#zoomBy(0.5, this.#cursor ?? xs[xs.length >> 1]);
    else if (event.key === '-') this.#zoomBy(2, this.#cursor ?? xs[xs.length >> 1]);
    else return;
    event.preventDefault();
  }

  #zoomBy(factor, centre) {
    if (!this.axes) return;
    const half = (this.axes.x.to - this.axes.x.from) * factor / 2;
    this.zoom.set(Math.floor(centre - half), Math.ceil(centre + half));
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
