// The frame of a chart: the ranges of its axes, their ticks, its margins, and the places of values in pixels.
import {Axis, boundsOf} from './axis.js';
import {ticksOf} from './ticks.js';
import {briefName} from '../base/view.js';

const TOP = 8;
const RIGHT = 10;
const BOTTOM = 36;
const TITLE = 16; // the height of a line of text
const TICK_GAP = 6;
const STRIP = 16; // of values without a logarithm
const X_TICK = 90;
const Y_TICK = 40;
const FENCE = 1.5;

/** The places of an axis from one pixel to another. A logarithmic axis may have a strip for values up to 0. */
class Scale {
  constructor(axis, from, to, hasStrip) {
    const direction = Math.sign(to - from);
    this.axis = axis;
    this.strip = hasStrip ? from + direction * STRIP / 2 : undefined;
    this.from = hasStrip ? from + direction * STRIP : from;
    this.to = to;
  }

  at(value) {
    if (value <= 0 && this.axis.log) return this.strip ?? NaN;
    return this.from + this.axis.place(value) * (this.to - this.from);
  }

  /** The nearest value on the axis; 0 in the strip. */
  value(pixel) {
    const place = (pixel - this.from) / (this.to - this.from);
    if (this.strip !== undefined && place < 0) return 0;
    return this.axis.value(Math.min(1, Math.max(0, place)));
  }
}

const quantile = (sorted, part) => sorted[Math.round(part * (sorted.length - 1))];

/** The bounds without outliers: values that are further from the middle nine tenths than one and a half times their
    width. */
const centralBounds = (lists, isLog) => {
  const isIn = (value) => value !== null && (!isLog || value > 0);
  const sorted = Float64Array.from(lists.flatMap((list) => list.filter(isIn))).sort();
  const [low, high] = [quantile(sorted, 0.05), quantile(sorted, 0.95)].map((each) => (isLog ? Math.log(each) : each));
  if (!(high > low)) return [sorted[0], sorted.at(-1)];
  const fence = FENCE * (high - low);
  const [least, most] = [low - fence, high + fence].map((each) => (isLog ? Math.exp(each) : each));
  return [sorted.find((each) => each >= least), sorted.findLast((each) => each <= most)];
};

/** The values within the part of the axis, and their neighbours. */
const shownValues = ({curve, xs}, {from, to}) => {
  const lists = [curve.min, curve.max].filter(Boolean);
  if (from === undefined) return lists;
  return lists.map((list) => list.filter((_, at) => (xs[at + 1] ?? xs[at]) >= from && (xs[at - 1] ?? xs[at]) <= to));
};

/** {axis, all: the bounds of all values, hasZero, isRefused}; undefined without values. */
const yOf = (lists, {logY, hidesOutliers, range = []}) => {
  const positive = logY ? boundsOf(lists, true) : undefined;
  const isLog = positive !== undefined;
  const all = boundsOf(lists);
  if (!all) return undefined;
  let [from, to] = hidesOutliers ? centralBounds(lists, isLog) : isLog ? positive : all;
  const pad = isLog ? 0 : (to - from) * 0.04;
  from = range[0] !== undefined && (!isLog || range[0] > 0) ? range[0] : from - pad;
  to = range[1] !== undefined && range[1] > from ? range[1] : to + pad;
  return {
    axis: new Axis(Math.min(from, to), to, isLog), all, hasZero: isLog && all[0] <= 0, isRefused: logY && !isLog,
  };
};

const xOf = (curves, {from, to}, isLog) => {
  const lists = curves.map(({xs}) => xs);
  const all = boundsOf(lists, isLog) ?? boundsOf(lists);
  if (!all) return undefined;
  const axis = new Axis(from ?? all[0], to ?? all[1], isLog);
  return {axis, hasZero: axis.log && from === undefined && boundsOf(lists)[0] <= 0};
};

/** What the ranges leave out, as texts. */
const notesOf = (y, text) => {
  const notes = [];
  if (y.all[1] > y.axis.to) notes.push(`▲ up to ${text(y.all[1])}`);
  if (y.all[0] < y.axis.from && !y.hasZero) notes.push(`▼ down to ${text(y.all[0])}`);
  if (y.hasZero) notes.push(`${y.all[0] < 0 ? '≤ 0' : '0'} is at the bottom`);
  if (y.isRefused) notes.push('no value above 0: linear y');
  return notes;
};

/** curves: {curve, xs}. part: {from, to} of x. xUnit and yUnit: as ticksOf has them. titles: of both axes.
    valueText: the text of a value of y. Undefined without values. */
export const frameOf = (g, {width, height, curves, part, options, xUnit, yUnit, titles, valueText}) => {
  const lists = curves.flatMap((each) => shownValues(each, part));
  const x = xOf(curves, part, options.logX && xUnit !== 'clock');
  const y = yOf(lists, options);
  if (!x || !y) return undefined;
  const bottom = height - BOTTOM;
  const yScale = new Scale(y.axis, bottom, TOP, y.hasZero);
  const yTicks = ticksOf(y.axis, Math.max(2, Math.floor((bottom - TOP) / Y_TICK)), yUnit)
    .map(({value, text}) => ({at: yScale.at(value), text}));
  if (y.hasZero) yTicks.push({at: yScale.strip, text: y.all[0] < 0 ? '≤ 0' : '0'});
  const left = TITLE + TICK_GAP + Math.max(24, ...yTicks.map(({text}) => Math.ceil(g.measureText(text).width) + 2));
  const right = width - RIGHT;
  const xScale = new Scale(x.axis, left, right, x.hasZero);
  const xTicks = ticksOf(x.axis, Math.max(2, Math.floor((right - left) / X_TICK)), xUnit)
    .map(({value, text}) => ({at: xScale.at(value), text}));
  if (x.hasZero) xTicks.unshift({at: xScale.strip, text: boundsOf(curves.map(({xs}) => xs))[0] < 0 ? '≤ 0' : '0'});
  return {
    width, height, left, right, top: TOP, bottom, x: xScale, y: yScale, yTicks, tickGap: TICK_GAP,
    xTicks: apart(g, xTicks, width),
    titles: titles.map((title) => briefName(title, 40)),
    notes: notesOf(y, valueText),
  };
};

/** The ticks whose texts do not overlap, with the middle of each text within the picture. */
const apart = (g, ticks, width) => {
  let free = -Infinity;
  return ticks.map((tick) => {
    const half = g.measureText(tick.text).width / 2;
    const middle = Math.max(half + 1, Math.min(tick.at, width - half - 1));
    const hasRoom = middle - half >= free;
    if (hasRoom) free = middle + half + TICK_GAP;
    return {...tick, middle, text: hasRoom ? tick.text : ''};
  });
};
