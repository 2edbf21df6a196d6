// The mean of curves of several runs, such as seeds of one configuration, with a band of one standard deviation.

/** The value of a curve at a step, between its points; undefined outside of them. */
const valueAt = ({steps, min, mean = min}, step) => {
  let low = 0;
  let high = steps.length - 1;
  if (high < 0 || step < steps[0] || step > steps[high]) return undefined;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  if (steps[low] === step || mean[low] === null || mean[low - 1] === null) return mean[low] ?? undefined;
  const part = (step - steps[low - 1]) / (steps[low] - steps[low - 1]);
  return mean[low - 1] + part * (mean[low] - mean[low - 1]);
};

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The mean of curves at a step: {mean, min, max}; null without a value. */
const pointOf = (curves, step) => {
  const values = curves.map((curve) => valueAt(curve, step)).filter((value) => value !== undefined);
  if (!values.length) return {mean: null, min: null, max: null};
  const mean = sum(values) / values.length;
  const band = values.length < 2 ? 0 : Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (values.length - 1));
  return {mean, min: mean - band, max: mean + band};
};

/** One curve of those that /curve answers, at the steps of the one that gets furthest. At each of them it is the mean
    of those that have got there; `min` and `max` are one standard deviation away from it. */
export const meanCurve = (curves) => {
  const furthest = curves.toSorted((a, b) => (b.steps.at(-1) ?? -Infinity) - (a.steps.at(-1) ?? -Infinity))[0];
  const points = furthest.steps.map((step) => pointOf(curves, step));
  return {
    ...furthest, mean: points.map(({mean}) => mean), min: points.map(({min}) => min), max: points.map(({max}) => max),
  };
};
