// A chart as a file: a picture with its title and legend (SVG, PNG), or the points that it draws (CSV).
import {FONT} from './painter.js';
import {SvgSurface} from './svg.js';
import {briefName, el} from '../base/view.js';

const LEAST_WIDTH = 640;
const LEAST_HEIGHT = 360;
const HEAD = 26;
const LINE = 18;
const MARGIN = 10;
const SCALE = 2; // of a PNG

const save = (name, blob) => {
  const href = URL.createObjectURL(blob);
  el('a', {href, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(href), 0);
};

const fileName = (title, extension) => `${title.replace(/[^\w.-]+/g, '_').slice(0, 80)}.${extension}`;

/** Where the entries of a legend stand: {name, colour, dash, x, y}. */
const legendOf = (g, curves, width, top) => {
  let [x, y] = [MARGIN, top];
  return curves.map(({name, colour, dash}) => {
    const text = briefName(name, 40);
    const own = g.measureText(text).width + 40;
    if (x > MARGIN && x + own > width) [x, y] = [MARGIN, y + LINE];
    const entry = {text, colour, dash, x, y};
    x += own;
    return entry;
  });
};

const paintLegend = (g, entries, theme) => {
  g.textAlign = 'left';
  for (const {text, colour, dash, x, y} of entries) {
    g.strokeStyle = colour;
    g.lineWidth = 2;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x, y - 4);
    g.lineTo(x + 20, y - 4);
    g.stroke();
    g.setLineDash([]);
    g.fillStyle = theme.text;
    g.fillText(text, x + 26, y);
  }
};

/** Paints the chart with its title and a legend of several curves. `surfaceOf` makes the surface of a size. */
const picture = (chart, surfaceOf) => {
  const {clientWidth, clientHeight} = chart.node.querySelector('canvas');
  const width = Math.max(LEAST_WIDTH, clientWidth);
  const height = Math.max(LEAST_HEIGHT, clientHeight);
  const {drawn, theme} = chart;
  const measure = document.createElement('canvas').getContext('2d');
  measure.font = FONT;
  const entries = drawn.length > 1 ? legendOf(measure, drawn, width, HEAD + height + LINE) : [];
  const full = HEAD + height + (entries.length ? entries.at(-1).y - HEAD - height + MARGIN : 0);
  const g = surfaceOf(width, full);
  g.font = FONT;
  g.fillStyle = theme.back;
  g.fillRect(0, 0, width, full);
  g.fillStyle = theme.text;
  g.textAlign = 'center';
  g.fillText(briefName(chart.title), width / 2, LINE);
  paintLegend(g, entries, theme);
  g.save();
  g.translate(0, HEAD);
  chart.paintOn(g, width, height);
  g.restore();
  return g;
};

export const saveSvg = (chart) => {
  const {root} = picture(chart, (width, height) => new SvgSurface(width, height, FONT));
  save(fileName(chart.title, 'svg'), new Blob([new XMLSerializer().serializeToString(root)], {type: 'image/svg+xml'}));
};

export const savePng = (chart) => {
  const {canvas} = picture(chart, (width, height) => {
    const g = el('canvas', {width: SCALE * width, height: SCALE * height}).getContext('2d');
    g.scale(SCALE, SCALE);
    return g;
  });
  canvas.toBlob((blob) => save(fileName(chart.title, 'png'), blob), 'image/png');
};

const field = (value) => {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** A row for each point that is drawn. A point of several values has their mean and their bounds. */
export const saveCsv = (chart) => {
  const rows = chart.drawn.flatMap(({curve, xs, name}) => curve.steps.map((step, at) => [
    name, step, new Date(curve.times[at]).toISOString(), xs[at], (curve.mean ?? curve.min)[at], curve.min[at],
    (curve.max ?? curve.min)[at],
  ]));
  const head = ['run', 'step', 'time', `x (${chart.xTitle})`, chart.title, 'min', 'max'];
  const text = [head, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
  save(fileName(chart.title, 'csv'), new Blob([text], {type: 'text/csv'}));
};
