// Places of values on an axis from 0 to 1: numbers linearly, or logarithmically if they differ a lot, others in order.
import {Axis} from './axis.js';
import {brief, number} from '../base/view.js';

const MOST_TEXTS = 12;
const FAR = 100;

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

export class Scale {
  constructor(name, values) {
    this.name = name;
    const known = values.filter((value) => value !== undefined && value !== null);
    this.isNumeric = known.length > 0 && known.every(isNumber);
    if (this.isNumeric) {
      const least = known.reduce((a, b) => Math.min(a, b));
      const largest = known.reduce((a, b) => Math.max(a, b));
      this.axis = new Axis(least, largest, least > 0 && largest / least >= FAR);
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

  /** The values between two places, as a text. */
  between(from, to) {
    if (this.isNumeric) return `${number(this.axis.value(from), 3)} to ${number(this.axis.value(to), 3)}`;
    return this.texts.filter((text) => this.place(text) >= from && this.place(text) <= to)
      .map((text) => brief(text, 14)).join(', ');
  }

  ticks(most, textFor = (value) => number(value, 4)) {
    if (this.isNumeric) {
      return this.axis.ticks(most).map((value) => ({at: this.axis.place(value), text: textFor(value)}));
    }
    const every = Math.ceil(this.texts.length / MOST_TEXTS);
    return this.texts.filter((_, at) => at % every === 0)
      .map((text) => ({at: this.place(text), text: brief(text, 14)}));
  }
}
