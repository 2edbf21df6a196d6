// Points over two axes, each a link: runs by two of their values, or by time.
import {Scale} from './scale.js';
import {briefName, el} from '../base/view.js';

const WIDTH = 1000;
const HEIGHT = 320;
const LEFT = 70;
const RIGHT = 20;
const BOTTOM = 34;
const TOP = 10;

const text = (x, y, content, anchor) => el('text', {x, y, 'text-anchor': anchor}, content);
const line = (x1, y1, x2, y2) => el('line', {x1, y1, x2, y2, class: 'axis'});

/** An element as a link with a title. */
export const linked = ({href, title}, node) => {
  node.append(el('title', {}, title));
  return el('svg:a', {href, 'aria-label': title}, node);
};

/** items: {title, href, x, y, colour, isOut}: those that are out are weak. path: the places of a line, as [x, y]
    values. xText: the text of a value of x. */
export const plane = (xName, yName, items, {path = [], xText = undefined} = {}) => {
  const x = new Scale(xName, items.map((item) => item.x));
  const y = new Scale(yName, items.map((item) => item.y));
  const px = (at) => LEFT + at * (WIDTH - LEFT - RIGHT);
  const py = (at) => HEIGHT - BOTTOM - at * (HEIGHT - BOTTOM - TOP);
  const pointOf = ([a, b]) => `${px(x.place(a)).toFixed(1)} ${py(y.place(b)).toFixed(1)}`;
  const seen = items.filter((item) => x.place(item.x) !== undefined && y.place(item.y) !== undefined);
  const title = `${briefName(yName)} against ${briefName(xName)}`;
  const lacking = items.length - seen.length;
  return el('figure', {class: 'plane'},
    el('figcaption', {}, title, lacking ? el('span', {class: 'quiet'}, `${lacking} runs lack one of both`) : ''),
    el('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group', 'aria-label': `${title}: ${seen.length} runs`},
      line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM),
      line(LEFT, TOP, LEFT, HEIGHT - BOTTOM),
      x.ticks(8, xText).map((tick) => text(px(tick.at), HEIGHT - BOTTOM + 16, tick.text, 'middle')),
      y.ticks(6).map((tick) => text(LEFT - 6, py(tick.at) + 4, tick.text, 'end')),
      text((LEFT + WIDTH) / 2, HEIGHT - 4, briefName(xName), 'middle'),
      path.length ? el('path', {class: 'steps', d: `M${path.map(pointOf).join('L')}`}) : '',
      seen.map((item) => linked(item, el('circle', {
        cx: px(x.place(item.x)), cy: py(y.place(item.y)), r: 5, class: item.isOut ? 'point out' : 'point',
        fill: item.colour,
      })))));
};
