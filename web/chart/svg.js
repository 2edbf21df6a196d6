// A surface that records what is painted on it as SVG, with the calls of a canvas that web/chart/painter.js makes.
import {el} from '../base/view.js';

const ANCHORS = {left: 'start', center: 'middle', right: 'end'};
const two = (value) => Number(value.toFixed(2));

export class SvgSurface {
  #measure = document.createElement('canvas').getContext('2d');
  #states = [];
  #node;
  #path = [];
  #dash = [];
  #turn = '';
  #clips = 0;
  strokeStyle = '#000';
  fillStyle = '#000';
  lineWidth = 1;
  lineJoin = 'miter';
  globalAlpha = 1;
  textAlign = 'left';
  textBaseline = 'alphabetic';

  constructor(width, height, font) {
    this.root = el('svg', {width, height, viewBox: `0 0 ${width} ${height}`});
    this.#node = this.root;
    this.font = font;
  }

  set font(font) {
    this.#measure.font = font;
    const [, size, family] = this.#measure.font.match(/([\d.]+px)\S* (.*)/);
    this.root.setAttribute('font-size', size);
    this.root.setAttribute('font-family', family.replaceAll('"', "'"));
  }

  measureText(text) { return this.#measure.measureText(text); }
  setLineDash(dash) { this.#dash = dash; }
  beginPath() { this.#path = []; }
  moveTo(x, y) { this.#path.push(`M${two(x)} ${two(y)}`); }
  lineTo(x, y) { this.#path.push(`L${two(x)} ${two(y)}`); }

  rect(x, y, width, height) {
    this.moveTo(x, y);
    this.#path.push(`h${two(width)}v${two(height)}h${two(-width)}z`);
  }

  translate(x, y) { this.#turn += `translate(${two(x)} ${two(y)})`; }
  rotate(angle) { this.#turn += `rotate(${two(angle * 180 / Math.PI)})`; }

  save() { this.#states.push([this.#node, this.#turn]); }

  restore() { [this.#node, this.#turn] = this.#states.pop(); }

  /** Clips to the path. */
  clip() {
    const id = `clip${++this.#clips}`;
    const group = el('g', {'clip-path': `url(#${id})`});
    this.root.append(el('clipPath', {id}, el('path', {d: this.#path.join('')})));
    this.#node.append(group);
    this.#node = group;
  }

  stroke() {
    if (!this.#path.length) return;
    this.#add('path', {
      d: this.#path.join(''), fill: 'none', stroke: this.strokeStyle, 'stroke-width': two(this.lineWidth),
      'stroke-linejoin': this.lineJoin, 'stroke-dasharray': this.#dash.join(' ') || undefined,
    });
  }

  fill() { if (this.#path.length) this.#add('path', {d: this.#path.join(''), fill: this.fillStyle}); }

  fillRect(x, y, width, height) {
    this.#add('rect', {x: two(x), y: two(y), width: two(width), height: two(height), fill: this.fillStyle});
  }

  fillText(text, x, y) {
    this.#add('text', {
      x: two(x), y: two(y), fill: this.fillStyle, 'text-anchor': ANCHORS[this.textAlign],
      'dominant-baseline': this.textBaseline === 'middle' ? 'central' : undefined, transform: this.#turn || undefined,
    }, text);
  }

  #add(name, attributes, ...children) {
    const opacity = this.globalAlpha < 1 ? two(this.globalAlpha) : undefined;
    this.#node.append(el(name, {...attributes, opacity}, ...children));
  }
}
