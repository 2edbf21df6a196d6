// Runs as points and lines over their parameters and metrics: a scatter of two, and parallel coordinates of many.
import {Axis} from './axis.js';
import {brief, briefName, el, number} from './view.js';

const WIDTH = 1000;
const MOST_TEXTS = 12;
const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Maps values of a name to 0 … 1: numbers linearly, or logarithmically if they differ a lot, others in order. */
class Scale {
  constructor(name, values) {
    this.name = name;
    const known = values.filter((value) => value !== undefined && value !== null);
    this.isNumeric = known.length > 0 && known.every(isNumber);
    if (this.isNumeric) {
      const [least, largest] = [Math.min(...known), Math.max(...known)];
      this.axis = new Axis(least, largest, least > 0 && largest / least >= 100);
      return;
    }
    this.texts = [...new Set(known.map(textOf))].sort();
  }

  /** undefined for a value without a place. */
  place(value) {
    if (value === undefined || value === null) return undefined;
    if (!this.isNumeric) {
      return this.texts.length < 2 ? 0.5 : this.texts.indexOf(textOf(value)) / (this.texts.length - 1);
    }
    const at = isNumber(value) ? this.axis.place(value) : NaN;
    return Number.isNaN(at) ? undefined : at;
  }

  ticks(most) {
    if (this.isNumeric) {
      return this.axis.ticks(most).map((value) => ({at: this.axis.place(value), text: number(value, 4)}));
    }
    const every = Math.ceil(this.texts.length / MOST_TEXTS);
    return this.texts.filter((_, at) => at % every === 0)
      .map((text) => ({at: this.place(text), text: brief(text, 14)}));
  }
}

const text = (x, y, content, attributes = {}) => el('text', {x, y, ...attributes}, content);
const nameText = (x, y, name) => {
  const short = brief(name, 22);
  const node = text(x, y, short, {'text-anchor': 'middle', class: 'name'});
  if (short !== name) node.append(el('title', {}, name));
  return node;
};
const line = (x1, y1, x2, y2) => el('line', {x1, y1, x2, y2, class: 'axis'});

const linked = (item, node) => {
  node.append(el('title', {}, item.title));
  return el('svg:a', {href: item.href, 'aria-label': item.title}, node);
};

/** items: {title, href, x, y}. */
export const scatter = (xName, yName, items) => {
  const [height, left, bottom, top] = [320, 70, 34, 10];
  const x = new Scale(xName, items.map((item) => item.x));
  const y = new Scale(yName, items.map((item) => item.y));
  const px = (at) => left + at * (WIDTH - left - 20);
  const py = (at) => height - bottom - at * (height - bottom - top);
  const seen = items.filter((item) => x.place(item.x) !== undefined && y.place(item.y) !== undefined);
  const title = `${briefName(yName)} against ${briefName(xName)}`;
  const lacking = items.length - seen.length;
  return el('figure', {class: 'plane'},
    el('figcaption', {}, title, lacking ? el('span', {class: 'quiet'}, `${lacking} runs lack one of both`) : ''),
    el('svg', {viewBox: `0 0 ${WIDTH} ${height}`, role: 'group', 'aria-label': `${title}: ${seen.length} runs`},
      line(left, height - bottom, WIDTH - 20, height - bottom),
      line(left, top, left, height - bottom),
      x.ticks(8).map((tick) => text(px(tick.at), height - bottom + 16, tick.text, {'text-anchor': 'middle'})),
      y.ticks(6).map((tick) => text(left - 6, py(tick.at) + 4, tick.text, {'text-anchor': 'end'})),
      text((left + WIDTH) / 2, height - 4, briefName(xName), {'text-anchor': 'middle'}),
      seen.map((item) =>
        linked(item, el('circle', {cx: px(x.place(item.x)), cy: py(y.place(item.y)), r: 5, class: 'point'})))));
};

// Opacity by the value on the last axis: the largest value is the most visible.
const opacityOf = (at) => (at === undefined ? 0.15 : 0.25 + 0.75 * at);

/** names: of the axes; items: {title, href, values: {name: value}}. A line is as strong as its last value. */
export const parallel = (names, items) => {
  const [height, top, bottom] = [300, 26, 12];
  const scales = names.map((name) => new Scale(name, items.map((item) => item.values[name])));
  const px = (at) => 60 + (names.length < 2 ? 0 : at * (WIDTH - 140) / (names.length - 1));
  const py = (at) => height - bottom - at * (height - bottom - top);
  const pathOf = (item) =>
    scales.map((scale, at) => [px(at), scale.place(item.values[scale.name])])
      .filter(([, place]) => place !== undefined)
      .map(([x, place], at) => `${at ? 'L' : 'M'}${x.toFixed(1)} ${py(place).toFixed(1)}`).join('');
  return el('figure', {class: 'plane'},
    el('figcaption', {}, 'Parameters and metrics of all runs'),
    el('svg',
      {
        viewBox: `0 0 ${WIDTH} ${height}`, role: 'group',
        'aria-label': `${names.map((name) => brief(name, 22)).join(', ')}: ${items.length} runs`,
      },
      items.map((item) => linked(item, el('path', {
        d: pathOf(item), class: 'line',
        'stroke-opacity': opacityOf(scales.at(-1).place(item.values[names.at(-1)])).toFixed(2),
      }))),
      scales.map((scale, at) => el('g', {},
        line(px(at), top, px(at), height - bottom),
        nameText(px(at), 14, scale.name),
        scale.ticks(5).map((tick) => text(px(at) + 5, py(tick.at) + 4, tick.text))))));
};
