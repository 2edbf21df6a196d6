// Numbers and their places on an axis, linear or logarithmic, with round ticks.

const LEAST = 2.2250738585072014e-308;  // the smallest normal number
const MOST = Number.MAX_VALUE;
const within = (value) => Math.min(MOST, Math.max(-MOST, value));

/** 1, 2, 2.5 or 5 times a power of ten. */
const roundStep = (least) => {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 2.5, 5, 10].find((each) => each * power >= least * 0.999999 && each * power < Infinity) ?? 1;
  return factor * power;
};

/** The finest step: the distance of a number of that size to its neighbours. */
const finestStep = (from, to) => Math.max(LEAST, Math.max(Math.abs(from), Math.abs(to)) * Number.EPSILON);

/** The logarithm of to / from, also if the quotient is not a double. */
const logRatio = (from, to) =>
  (to / from >= LEAST && to / from <= MOST ? Math.log(to / from) : Math.log(to) - Math.log(from));

export class Axis {
  constructor(from, to, log) {
    this.log = log && to > 0;
    if (this.log && from <= 0) from = to / 1e6 || Number.MIN_VALUE;
    if (from === to) {
      const around = from === 0 ? 1 : Math.max(Math.abs(from) / 10, LEAST);
      from = this.log ? from / 2 || Number.MIN_VALUE : from - around;
      to = this.log ? to * 2 : to + around;
    }
    this.from = within(from);
    this.to = within(to);
  }

  /** 0 at the beginning, 1 at the end. NaN for a value without a place on the axis. */
  place(value) {
    // Halves large numbers, so that their difference does not overflow.
    const parts = Math.max(Math.abs(this.from), Math.abs(this.to)) > 1 ? 2 : 1;
    if (!this.log) return (value / parts - this.from / parts) / (this.to / parts - this.from / parts);
    return value > 0 ? logRatio(this.from, value) / logRatio(this.from, this.to) : NaN;
  }

  value(place) {
    if (!this.log) return this.from * (1 - place) + this.to * place;
    const half = Math.exp(place * logRatio(this.from, this.to) / 2);
    return Math.min(this.to, this.from * half * half);
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

  // Of the least doubles, all lie within a step's tolerance.
  #has(tick) {
    const place = this.place(tick);
    return place >= -1e-6 && place <= 1 + 1e-6;
  }

  // Multiplies the steps: above 2^53 adding one step may not change the sum.
  #linear(most) {
    const step = roundStep(Math.max(this.to / most - this.from / most, finestStep(this.from, this.to)));
    const first = Math.ceil(this.from / step - 1e-9);
    const count = Math.min(Math.floor(this.to / step + 1e-9) - first + 1, 2 * most);
    return Array.from({length: Math.max(0, count)}, (_, at) => within((first + at) * step))
      .filter((tick) => tick >= this.from - step * 1e-9 && tick <= this.to + step * 1e-9 && this.#has(tick));
  }
}

/** The least and largest finite value; undefined without any. */
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

/** An exponential mean without bias to 0 at its beginning; `weight` from 0 (none) to 1. */
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
