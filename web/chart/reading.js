// What the curves of a chart have at an x: the point next to it of each, as places and texts.
import {nearest} from './abscissa.js';
import {lineOf} from './painter.js';

/** drawn: {curve, xs, place, name}. Returns for each with values {curve, place, name, at, x, value, y}: y in pixels,
    undefined for a value without a place. */
export const readingsAt = (drawn, x, frame, smooth) => drawn.flatMap(({curve, xs, place, name}) => {
  const at = nearest(xs, x);
  if (at < 0) return [];
  const value = lineOf(curve, smooth)[at];
  const y = value === null ? NaN : frame.y.at(value);
  return [{curve, place, name, at, x: xs[at], value, y: Number.isNaN(y) ? undefined : y}];
});

/** Those whose points are nearest to a pixel come first. */
export const byDistance = (readings, y) => {
  const distance = (reading) => (reading.y === undefined ? Infinity : Math.abs(reading.y - y));
  return readings.toSorted((a, b) => distance(a) - distance(b));
};

/** "0.25", with what the line does not show: the value before smoothing, the band, what is not finite. */
export const readingText = ({curve, at, value}, smooth, textOf) => {
  const parts = [value === null ? '' : textOf(value)];
  if (smooth && value !== null) parts.push(`raw ${textOf(lineOf(curve, 0)[at])}`);
  if (curve.max && curve.max[at] !== curve.min[at]) parts.push(`(${textOf(curve.min[at])} … ${textOf(curve.max[at])})`);
  if (curve.nonfinite?.[at]) parts.push(`${curve.nonfinite[at]} not finite`);
  return parts.filter(Boolean).join(' ');
};
