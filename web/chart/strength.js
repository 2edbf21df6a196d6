// The colour of a run among others: the better its metric, the stronger. One hue from weak to strong, which all eyes
// can tell apart, in both themes.
import {el} from '../base/view.js';

const WEAKEST = 22;
const STEPS = 12;

/** The colour for a strength from 0 to 1. A canvas knows no variables: it names the colours. */
export const colourFor = (strength, link = 'var(--link)', back = 'var(--back)') =>
  `color-mix(in oklab, ${link} ${Math.round(WEAKEST + (100 - WEAKEST) * strength)}%, ${back})`;

/** A function of a run's place in `values`: 1 for the best, 0 for the worst and for one without a number. By order, so
    that a single bad value does not hide the differences of the others. */
export const strengths = (values, mode) => {
  const known = [...new Set(values.filter((value) => Number.isFinite(value)))].sort((a, b) => a - b);
  if (mode === 'min') known.reverse();
  const order = new Map(known.map((value, at) => [value, known.length < 2 ? 1 : at / (known.length - 1)]));
  return (at) => order.get(values[at]) ?? 0;
};

export const strengthLegend = (name, from = 'the worst', to = 'the best') => el('p', {class: 'quiet'},
  'Colour: ', name, `, from ${from} `,
  el('svg', {class: 'ramp', viewBox: `0 0 ${STEPS} 1`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    Array.from({length: STEPS}, (_, at) =>
      el('rect', {x: at, y: 0, width: 1.02, height: 1, fill: colourFor(at / (STEPS - 1))}))),
  ` to ${to}`);
