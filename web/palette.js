// The colours and dashes of curves, by their places, and legends. Where runs are next to each other, the place of each
// follows from its name: a run has the same colour on all pages, for all viewers.
import {el} from './view.js';

const LIGHT = ['#0b5a94', '#b3261e', '#1a6e33', '#8a5300', '#6f3fa0', '#00707a', '#a3246f', '#4a5560',
  '#5f7300', '#c4500c', '#3f51c1', '#7a4a2b'];
const DARK = ['#7cc0f2', '#ff9088', '#6fd08c', '#f0b45a', '#c7a2f5', '#5fd0da', '#ff9ad1', '#b8c2cc',
  '#c3d35a', '#ffa76b', '#a3b1ff', '#d7b08d'];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

export const isDark = matchMedia('(prefers-color-scheme: dark)');
export const colourOf = (index) => (isDark.matches ? DARK : LIGHT)[index % LIGHT.length];
export const dashOf = (index) => DASHES[Math.floor(index / LIGHT.length) % DASHES.length];

/** The place of a run, or of a group of runs, by its name. */
export const placeOfName = (name) => {
  let hash = 2166136261; // FNV-1a
  for (let at = 0; at < name.length; ++at) hash = Math.imul(hash ^ name.charCodeAt(at), 16777619);
  hash = Math.imul(hash ^ hash >>> 15, 0x2c1b3c6d);
  return ((hash ^ hash >>> 13) >>> 0) % (LIGHT.length * DASHES.length);
};

/** A short piece of a curve's line. */
export const swatch = (index) => el('svg', {class: 'swatch', viewBox: '0 0 18 8', 'aria-hidden': 'true'},
  el('path', {
    d: 'M0 4h18', fill: 'none', stroke: colourOf(index), 'stroke-width': 2,
    'stroke-dasharray': dashOf(index).join(' ') || undefined,
  }));

/** Runs with their colours. */
export const legend = (names) =>
  el('ul', {class: 'legend'}, names.map((name) => el('li', {}, swatch(placeOfName(name)), name)));
