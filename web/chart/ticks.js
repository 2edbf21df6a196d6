// The ticks of an axis and their texts: numbers with SI prefixes, bytes with IEC ones, durations. Neighbours differ.
import {Axis} from './axis.js';
import {duration} from '../base/view.js';

const SI = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const IEC = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const LEAST_SI = 1e4;
const MOST_SI = 1e21;
const LEAST_PLAIN = 1e-4;
const MOST_DECIMALS = 6;
const TOLERANCE = 1e-9;
const [MINUTE, HOUR, DAY] = [60, 3600, 86400];
// Seconds between two ticks; below a second and above a day they are as round as other numbers.
const TIMES = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,
  2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY];

/** The unit of a metric's values, by its name: 'bytes', 'bytes/s' or ''. */
export const unitOf = (name) => {
  if (/(^|_)bytes_per_s$/.test(name)) return 'bytes/s';
  return /(^|[_/])bytes$/.test(name) ? 'bytes' : '';
};

const largestOf = (values) => Math.max(...values.map(Math.abs));
const gapOf = (values) => Math.min(...values.slice(1).map((value, at) => value - values[at]));

/** 'e+7' as 'e7'. */
const exponential = (value, digits) => value.toExponential(digits).replace('e+', 'e').replace(/e0$/, '');

/** How many decimals tell numbers apart that are multiples of the step. */
const decimalsOf = (step) => {
  for (let decimals = 0; decimals <= 15; ++decimals) {
    const scaled = step * 10 ** decimals;
    if (scaled >= 1 && Math.abs(scaled - Math.round(scaled)) < scaled * 1e-6) return decimals;
  }
  return 16;
};

const withExponents = (values, step) => {
  const power = Math.floor(Math.log10(step) + TOLERANCE);
  const place = power - (decimalsOf(step / 10 ** power) ? 1 : 0);
  return values.map((value) => {
    if (Math.abs(value) < step * TOLERANCE) return '0';
    const digits = Math.floor(Math.log10(Math.abs(value)) + TOLERANCE) - place;
    return exponential(value, Math.min(16, Math.max(0, digits)));
  });
};

/** Texts of numbers in equal steps, all with the same prefix. */
const linearTexts = (values, suffix = '') => {
  const largest = largestOf(values);
  const step = values.length > 1 ? gapOf(values) : largest || 1;
  const power = largest >= LEAST_SI && largest < MOST_SI ? Math.floor(Math.log10(largest) / 3 + TOLERANCE) : 0;
  const scale = 1000 ** power;
  const decimals = decimalsOf(step / scale);
  if (decimals > MOST_DECIMALS || largest >= MOST_SI || (largest > 0 && largest < LEAST_PLAIN)) {
    return withExponents(values, step).map((text) => text + suffix);
  }
  return values.map((value) => {
    if (Math.abs(value) < step * TOLERANCE) return `0${suffix}`;
    return `${(value / scale).toFixed(decimals)}${SI[power]}${suffix}`;
  });
};

/** The text of one number of a logarithmic axis. */
const logText = (value) => {
  if (value < LEAST_PLAIN || value >= MOST_SI) return exponential(value, 0);
  const power = value >= LEAST_SI ? Math.floor(Math.log10(value) / 3 + TOLERANCE) : 0;
  return `${Number((value / 1000 ** power).toPrecision(3))}${SI[power]}`;
};

const plainTicks = (axis, most, isWhole) => {
  const all = axis.ticks(most);
  const whole = isWhole ? all.filter(Number.isInteger) : [];
  const values = whole.length ? whole : all;
  if (!values.length) return [];
  const areDecades = axis.log && values.length > 1 && values[1] / values[0] > 9.5;
  const texts = areDecades ? values.map(logText) : linearTexts(values);
  return values.map((value, at) => ({value, text: texts[at]}));
};

const iecPower = (largest) => {
  const power = largest >= 1 ? Math.floor(Math.log2(largest) / 10 + TOLERANCE) : 0;
  return Math.min(IEC.length - 1, Math.max(0, power));
};

/** A number of bytes with four digits: "78.2 MiB". */
export const iecBytes = (value) => {
  const power = iecPower(Math.abs(value));
  return `${Number((value / 1024 ** power).toPrecision(4))} ${IEC[power]}`;
};

const powersOfTwo = (axis, most) => {
  const first = Math.ceil(Math.log2(axis.from) - TOLERANCE);
  const last = Math.floor(Math.log2(axis.to) + TOLERANCE);
  const step = Math.ceil((last - first + 1) / most);
  const out = [];
  for (let power = first; power <= last; power += step) out.push({value: 2 ** power, text: iecBytes(2 ** power)});
  return out;
};

const byteTicks = (axis, most, suffix) => {
  const powers = axis.log ? powersOfTwo(axis, most) : [];
  if (powers.length > 1) return powers.map(({value, text}) => ({value, text: text + suffix}));
  const power = iecPower(largestOf([axis.from, axis.to]));
  const scale = 1024 ** power;
  const scaled = new Axis(axis.from / scale, axis.to / scale, false);
  const values = scaled.ticks(most).filter((value) => !axis.log || value > 0);
  const texts = values.length ? linearTexts(values, ` ${IEC[power]}${suffix}`) : [];
  return values.map((value, at) => ({value: value * scale, text: texts[at]}));
};

/** A time since the start, to the parts that the distance of two ticks needs. */
const timeText = (seconds, step) => {
  const sign = seconds < 0 ? '−' : '';
  const whole = Math.round(Math.abs(seconds));
  const [days, hours] = [Math.floor(whole / DAY), Math.floor(whole / HOUR) % 24];
  const [minutes, rest] = [Math.floor(whole / MINUTE) % 60, whole % 60];
  const parts = [days && `${days} d`, hours && `${hours} h`, step < HOUR && minutes && `${minutes} m`,
    step < MINUTE && rest && `${rest} s`].filter(Boolean);
  return parts.length ? sign + parts.join(' ') : '0 s';
};

/** A time since the start: "12.3 s", "1 h 2 m 3 s". */
export const sinceText = (seconds) => (Math.abs(seconds) < MINUTE ? duration(seconds) : timeText(seconds, 1));

const timeTicks = (axis, most) => {
  const range = axis.to - axis.from;
  if (axis.log || range / most < TIMES[0]) {
    return plainTicks(axis, most).map(({value, text}) => ({value, text: `${text} s`}));
  }
  const step = TIMES.find((each) => range / each <= most);
  const values = step === undefined
    ? new Axis(axis.from / DAY, axis.to / DAY, false).ticks(most).map((value) => value * DAY)
    : Array.from({length: Math.floor(axis.to / step) - Math.ceil(axis.from / step) + 1},
      (_, at) => (Math.ceil(axis.from / step) + at) * step);
  const gap = values.length > 1 ? gapOf(values) : step ?? DAY;
  return values.map((value) => ({value, text: timeText(value, gap)}));
};

/** A moment as short as its neighbours in steps of that many seconds allow, in UTC. */
const clockText = (seconds, step) => {
  const text = new Date(seconds * 1000).toISOString();
  if (step >= DAY) return text.slice(0, 10);
  if (step >= MINUTE) return text.slice(11, 16);
  return text.slice(11, step < 1 ? 23 : 19);
};

/** The first tick of a day has the day. */
const clockTicks = (axis, most) => {
  const range = axis.to - axis.from;
  const step = TIMES.find((each) => range / each <= most);
  if (range / most < TIMES[0]) return axis.ticks(most).map((value) => ({value, text: clockText(value, 0)}));
  const days = Math.ceil(range / DAY / most);
  const each = step ?? days * DAY;
  let day = '';
  return Array.from({length: Math.floor(axis.to / each) - Math.ceil(axis.from / each) + 1}, (_, at) => {
    const value = (Math.ceil(axis.from / each) + at) * each;
    const own = new Date(value * 1000).toISOString().slice(5, 10);
    const text = each < DAY && day !== '' && own !== day ? own : clockText(value, each);
    day = own;
    return {value, text};
  });
};

/** [{value, text}]: about `most` ticks. unit: '', 'bytes', 'bytes/s', 's', 'clock' for seconds since 1970, or 'count'
    for whole numbers. */
export const ticksOf = (axis, most, unit = '') => {
  if (unit === 'bytes') return byteTicks(axis, most, '');
  if (unit === 'bytes/s') return byteTicks(axis, most, '/s');
  if (unit === 'clock') return clockTicks(axis, most);
  return unit === 's' ? timeTicks(axis, most) : plainTicks(axis, most, unit === 'count');
};
