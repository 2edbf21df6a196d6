// The colours and dashes of curves, by their places. Where runs are next to each other, the place of each follows from
// its name: a run has the same colour on all pages, for all viewers. The palette is our own: a random search from blue,
// red, green, amber, violet, teal, pink and grey for the largest least distance between two colours (CIEDE2000), for
// usual eyes and for eyes without one of the three cones (Machado et al., 2009). It is 12 or more, and each colour has
// a contrast of 4.5 or more with the page (tests/browser/test_colours.py).
import {theme} from '../base/theme.js';
import {el} from '../base/view.js';

const LIGHT = ['#156efa', '#ce323f', '#236906', '#51260b', '#043ec6', '#08857b', '#8d036b', '#4b4847'];
const DARK = ['#a4b3ff', '#ef460f', '#78e8a5', '#e4c618', '#ab62d1', '#2b9789', '#ff77af', '#dbd9ee'];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

/** `matches`, and the event `change`. */
export const isDark = theme;
export const colourOf = (index) => (isDark.matches ? DARK : LIGHT)[index % LIGHT.length];
export const dashOf = (index) => DASHES[Math.floor(index / LIGHT.length) % DASHES.length];

/** The place of a run, or of a group of runs, by its name. Names that differ in a number at the end, as those of a
    sweep, have neighbouring places. */
export const placeOfName = (name) => {
  const [stem, number] = /^(.*?)(\d{0,9})$/s.exec(name).slice(1);
  let hash = 2166136261; // FNV-1a
  for (let at = 0; at < stem.length; ++at) hash = Math.imul(hash ^ stem.charCodeAt(at), 16777619);
  hash = Math.imul(hash ^ hash >>> 15, 0x2c1b3c6d);
  return (((hash ^ hash >>> 13) >>> 0) + Number(number)) % (LIGHT.length * DASHES.length);
};

/** A short piece of a curve's line. */
export const swatch = (index) => el('svg', {class: 'swatch', viewBox: '0 0 18 8', 'aria-hidden': 'true'},
  el('path', {
    d: 'M0 4h18', fill: 'none', stroke: colourOf(index), 'stroke-width': 2,
    'stroke-dasharray': dashOf(index).join(' ') || undefined,
  }));

/** The colours of a chart's canvas, as the theme has them now. */
export const themeOf = (canvas) => {
  const style = getComputedStyle(canvas);
  const [back, text, line, link] = ['back', 'quiet', 'line', 'link'].map((name) => style.getPropertyValue(`--${name}`));
  return {back, text, line, link};
};
