// The pointer and the keys over a chart. The pointer moves the cursor of all charts, a drag shows a part, a click keeps
// the tooltip, a double click shows all. Keys: arrows move the cursor, Enter keeps the tooltip, + and - zoom, Escape
// lets go, then shows all.
import {isOfTime, nearest} from './abscissa.js';

const LEAST_DRAG = 5;

export class Pointing {
  #chart;
  #canvas;
  #linked;
  #from = undefined; // pixels

  /** Two pixels; undefined while nothing is dragged. */
  drag = undefined;

  constructor(chart, canvas, linked, signal) {
    this.#chart = chart;
    this.#canvas = canvas;
    this.#linked = linked;
    const on = (name, call) => canvas.addEventListener(name, call, {signal});
    on('pointerdown', (event) => { if (event.button === 0 && chart.frame) this.#from = this.#pixels(event).x; });
    on('pointermove', (event) => this.#move(event));
    on('pointerup', (event) => this.#release(event));
    on('pointerleave', () => this.#leave());
    on('dblclick', () => {
      linked.point(undefined);
      linked.showAll();
    });
    on('keydown', (event) => { if (this.#key(event)) event.preventDefault(); });
  }

  #pixels(event) {
    const box = this.#canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }

  #move(event) {
    const {frame} = this.#chart;
    if (!frame) return;
    const {x, y} = this.#pixels(event);
    const within = Math.min(frame.right, Math.max(frame.left, x));
    this.drag = this.#from === undefined || Math.abs(x - this.#from) <= LEAST_DRAG ? undefined : [this.#from, within];
    if (this.#linked.cursor?.isKept) this.#chart.pointed();
    else this.#chart.point(frame.x.value(within), y);
    this.#chart.hover(within, y);
  }

  #release(event) {
    const {frame} = this.#chart;
    if (this.#from === undefined || !frame) return;
    const {drag} = this;
    this.#from = this.drag = undefined;
    if (drag) {
      const [from, to] = drag.map((pixel) => frame.x.value(pixel)).sort((a, b) => a - b);
      this.#show(from, to);
      return;
    }
    const {x, y} = this.#pixels(event);
    if (this.#linked.cursor?.isKept && this.#linked.cursor.owner === this.#chart) this.#linked.point(undefined);
    else this.#chart.point(frame.x.value(x), y, true);
  }

  #leave() {
    this.#from = this.drag = undefined;
    this.#chart.hover(undefined);
    if (this.#linked.cursor?.isKept) this.#chart.pointed();
    else this.#linked.point(undefined);
  }

  /** Whether the key is one of the chart's. */
  #key({key}) {
    const xs = this.#chart.drawn.find((each) => each.xs.length)?.xs ?? [];
    const {cursor} = this.#linked;
    if (!xs.length || !this.#chart.frame) return false;
    const isOwn = cursor?.owner === this.#chart;
    const at = isOwn ? nearest(xs, cursor.x) : -1;
    const moves = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1};
    const centre = isOwn ? cursor.x : xs[xs.length >> 1];
    if (key in moves) this.#chart.pointKeyed(xs[Math.min(xs.length - 1, Math.max(0, moves[key]))]);
    else if (key === 'Enter' && isOwn) this.#linked.point({...cursor, isKept: !cursor.isKept});
    else if (key === 'Escape') return this.#linked.showAll();
    else if (key === '+') this.#zoomBy(0.5, centre);
    else if (key === '-') this.#zoomBy(2, centre);
    else return false;
    return true;
  }

  #zoomBy(factor, centre) {
    const {from, to} = this.#chart.frame.x.axis;
    const half = (to - from) * factor / 2;
    this.#show(centre - half, centre + half);
  }

  #show(from, to) {
    const {axis} = this.#chart;
    const isWhole = axis === 'steps' || axis === 'reports';
    if (isWhole) this.#linked.set(axis, Math.floor(from), Math.ceil(to));
    else if (to > from || isOfTime(axis)) this.#linked.set(axis, from, to);
  }
}
