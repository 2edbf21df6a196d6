// Paints a chart on a canvas, or on an SvgSurface: axes, marks, curves, and what a range leaves out.
// A curve has a band from the least to the largest value of each part, so that a spike among a million points is seen.
import {smoothed} from './axis.js';

export const FONT = '11px system-ui, sans-serif';
const FEW_POINTS = 60;
const FAINT = 0.35;
const BACK = 0.15; // curves behind the one that stands out
const ARROW = 4;

/** The values that are drawn as the line of a curve. */
export const lineOf = (curve, weight) => {
  const middle = curve.mean ?? curve.min;
  if (!weight) return middle;
  return (curve.smoothed ??= new Map()).get(weight)
    ?? curve.smoothed.set(weight, smoothed(middle, weight)).get(weight);
};

const paintAxes = (g, frame, theme) => {
  g.strokeStyle = theme.line;
  g.fillStyle = theme.text;
  g.lineWidth = 1;
  g.beginPath();
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  for (const {at, text} of frame.yTicks) {
    const y = Math.round(at) + 0.5;
    g.moveTo(frame.left, y);
    g.lineTo(frame.right, y);
    g.fillText(text, frame.left - frame.tickGap, y);
  }
  g.textBaseline = 'alphabetic';
  g.textAlign = 'center';
  for (const {at, text, middle} of frame.xTicks) {
    const x = Math.round(at) + 0.5;
    g.moveTo(x, frame.top);
    g.lineTo(x, frame.bottom);
    if (text) g.fillText(text, middle, frame.bottom + 15);
  }
  g.stroke();
};

/** A text that fits into that many pixels. */
const fitted = (g, text, room) => {
  while (text.length > 2 && g.measureText(text).width > room) text = `${text.replace(/…$/, '').slice(0, -1)}…`;
  return text;
};

const paintTitles = (g, frame, theme) => {
  const [x, y] = frame.titles;
  g.fillStyle = theme.text;
  g.textAlign = 'center';
  g.fillText(fitted(g, x, frame.right - frame.left), (frame.left + frame.right) / 2, frame.height - 5);
  g.save();
  g.translate(11, (frame.top + frame.bottom) / 2);
  g.rotate(-Math.PI / 2);
  g.fillText(fitted(g, y, frame.bottom - frame.top), 0, 0);
  g.restore();
};

const paintMarks = (g, frame, marks, theme) => {
  g.strokeStyle = theme.text;
  g.lineWidth = 1;
  g.setLineDash([2, 3]);
  g.beginPath();
  for (const value of marks) {
    g.moveTo(frame.x.at(value), frame.top);
    g.lineTo(frame.x.at(value), frame.bottom);
  }
  g.stroke();
  g.setLineDash([]);
};

// A column for each point: a single spike may be narrower than a pixel. Two pixels wide it covers one of them.
const paintBand = (g, frame, xs, {min, max}) => {
  const places = xs.map((x) => frame.x.at(x));
  g.beginPath();
  for (let i = 0; i < xs.length; ++i) {
    if (max[i] === null) continue;
    const left = ((places[i - 1] ?? places[i]) + places[i]) / 2;
    const width = Math.max(2, (places[i] + (places[i + 1] ?? places[i])) / 2 - left);
    const top = frame.y.at(max[i]);
    g.rect(left, top - 0.5, width, frame.y.at(min[i]) - top + 1);
  }
  g.fill();
};

const paintLine = (g, frame, xs, ys, lineWidth) => {
  g.lineWidth = lineWidth;
  g.beginPath();
  let isOpen = false;
  const dots = [];
  for (let i = 0; i < xs.length; ++i) {
    const x = frame.x.at(xs[i]);
    const y = ys[i] === null ? NaN : frame.y.at(ys[i]);
    if (Number.isNaN(x) || Number.isNaN(y)) {
      isOpen = false;
      continue;
    }
    if (isOpen) g.lineTo(x, y);
    else g.moveTo(x, y);
    isOpen = true;
    dots.push([x, y]);
  }
  g.stroke();
  if (dots.length <= FEW_POINTS) dots.forEach(([x, y]) => g.fillRect(x - 2, y - 2, 4, 4));
};

/** Arrows at the edge where values are beyond it. */
const paintLeftOut = (g, frame, xs, {min, max}) => {
  const {axis: {from, to}, strip} = frame.y;
  const arrow = (x, y, height) => {
    g.moveTo(x - ARROW, y + height);
    g.lineTo(x, y);
    g.lineTo(x + ARROW, y + height);
  };
  g.beginPath();
  for (let i = 0; i < xs.length; ++i) {
    if (min[i] === null) continue;
    if ((max ?? min)[i] > to) arrow(frame.x.at(xs[i]), frame.top, 1.5 * ARROW);
    if (min[i] < from && strip === undefined) arrow(frame.x.at(xs[i]), frame.bottom, -1.5 * ARROW);
  }
  g.fill();
};

const paintCurve = (g, frame, {curve, xs, colour, dash, isStrong}, smooth, strength) => {
  g.strokeStyle = g.fillStyle = colour;
  g.lineJoin = 'round';
  if (curve.max) {
    g.globalAlpha = 0.4 * strength;
    paintBand(g, frame, xs, curve);
  }
  if (smooth > 0) {
    g.globalAlpha = FAINT * strength;
    paintLine(g, frame, xs, lineOf(curve, 0), 1);
  }
  g.globalAlpha = strength;
  g.setLineDash(dash);
  paintLine(g, frame, xs, lineOf(curve, smooth), isStrong ? 3 : 1.7);
  g.setLineDash([]);
  paintLeftOut(g, frame, xs, curve);
  g.globalAlpha = 1;
};

const paintNotes = (g, frame, theme) => {
  if (!frame.notes.length) return;
  const text = fitted(g, frame.notes.join('   '), frame.right - frame.left - 16);
  const width = g.measureText(text).width;
  g.textAlign = 'right';
  g.globalAlpha = 0.85;
  g.fillStyle = theme.back;
  g.fillRect(frame.right - width - 10, frame.top + 8, width + 8, 16);
  g.globalAlpha = 1;
  g.fillStyle = theme.text;
  g.fillText(text, frame.right - 6, frame.top + 20);
};

/** curves: {curve, xs, colour, dash, isStrong}, the last in front. marks: x of lines. theme: {back, text, line}. */
export const paint = (g, frame, {curves, marks, smooth, theme}) => {
  paintAxes(g, frame, theme);
  paintTitles(g, frame, theme);
  g.save();
  g.beginPath();
  g.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
  g.clip();
  paintMarks(g, frame, marks, theme);
  const hasStrong = curves.some(({isStrong}) => isStrong);
  for (const each of curves) paintCurve(g, frame, each, smooth, hasStrong && !each.isStrong ? BACK : 1);
  g.restore();
  paintNotes(g, frame, theme);
};
