// The colours and dashes of curves, by their places in a list, and legends.
import {el} from './view.js';

const LIGHT = ['#0b5a94', '#b3261e', '#1a6e33', '#8a5300', '#6f3fa0', '#00707a', '#a3246f', '#4a5560'];
const DARK = ['#7cc0f2', '#ff9088', '#6fd08c', '#f0b45a', '#c7a2f5', '#5fd0da', '#ff9ad1', '#b8c2cc'];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

export const isDark = matchMedia('(prefers-color-scheme: dark)');
export const colourOf = (index) => (isDark.matches ? DARK : LIGHT)[index % LIGHT.length];
export const dashOf = (index) => DASHES[Math.floor(index / LIGHT.length) % DASHES.length];

/** A short piece of a curve's line. */
export const swatch = (index) => el('svg', {class: 'swatch', viewBox: '0 0 18 8', 'aria-hidden': 'true'},
  el('path', {
    d: 'M0 4h18', fill: 'none', stroke: colourOf(index), 'stroke-width': 2,
    'stroke-dasharray': dashOf(index).join(' ') || undefined,
  }));

export const legend = (names) =>
  el('ul', {class: 'legend'}, names.map((name, index) => el('li', {}, swatch(index), name)));
