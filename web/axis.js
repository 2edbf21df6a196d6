// Numbers and their places on an axis, linear or logarithmic, with round ticks.

/** 1, 2, 2.5 or 5 times a power of ten. */
const roundStep = (least) => {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 2.5, 5, 10].find((each) => each * power >= least * 0.999999);
  return factor * power;
};

export class Axis {
  constructor(from, to, log) {
    this.log = log && to > 0;
    if (this.log && from <= 0) from = to / 1e6;
    if (from === to) {
      const around = Math.abs(from) / 10 || 1;
      from = this.log ? from / 2 : from - around;
      to = this.log ? to * 2 : to + around;
    }
    this.from = from;
    this.to = to;
  }

  /** 0 at the beginning, 1 at the end. NaN for what has no place on it. */
  place(value) {
    if (!this.log) return (value - this.from) / (this.to - this.from);
    return value > 0 ? Math.log(value / this.from) / Math.log(this.to / this.from) : NaN;
  }

  value(place) {
    return this.log ? this.from * (this.to / this.from) ** place : this.from + place * (this.to - this.from);
  }

  ticks(most) {
    if (!this.log) return this.#linear(most);
    const first = Math.ceil(Math.log10(this.from) - 1e-9);
    const last = Math.floor(Math.log10(this.to) + 1e-9);
    if (last - first < 1) return this.#linear(most).filter((tick) => tick > 0);
    const step = Math.ceil((last - first + 1) / most);
    const out = [];
    for (let power = first; power <= last; power += step) out.push(10 ** power);
    return out;
  }

  #linear(most) {
    const step = roundStep((this.to - this.from) / most);
    const out = [];
    for (let at = Math.ceil(this.from / step - 1e-9); at * step <= this.to + step * 1e-9; ++at) out.push(at * step);
    return out;
  }
}

/** The least and largest of what is finite; undefined without. */
export const boundsOf = (lists, positive = false) => {
  let least = Infinity;
  let largest = -Infinity;
  for (const list of lists) {
    for (const value of list ?? []) {
      if (value === null || (positive && value <= 0)) continue;
      if (value < least) least = value;
      if (value > largest) largest = value;
    }
  }
  return least <= largest ? [least, largest] : undefined;
};

/** An exponential mean that does not lean to 0 at its beginning; `weight` from 0 (none) to 1. */
export const smoothed = (values, weight) => {
  let mean = 0;
  let sum = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = weight * mean + (1 - weight) * value;
    sum = weight * sum + (1 - weight);
    return mean / sum;
  });
};
