// The histogram of one step: a bar for each bin.
import {boundsOf} from '../chart/axis.js';
import {el, number} from '../base/view.js';

const WIDTH = 320;
const HEIGHT = 120;

export const bars = ({edges, counts, min, max, num, nonfinite}, title) => {
  const highest = Math.max(1, ...counts);
  const [from, to] = boundsOf([edges]) ?? [0, 1];
  const place = (value) => (value - from) / (to - from || 1) * WIDTH;
  const others = nonfinite ? ` and ${number(nonfinite)} not finite` : '';
  return el('figure', {},
    el('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'bars', role: 'img', 'aria-label': title},
      counts.map((count, at) => el('rect', {
        x: place(edges[at]), y: HEIGHT - count / highest * HEIGHT,
        width: Math.max(1, place(edges[at + 1]) - place(edges[at]) - 1), height: count / highest * HEIGHT,
      }))),
    el('p', {class: 'quiet'}, `${number(min)} to ${number(max)}, ${number(num)} numbers${others}`));
};
