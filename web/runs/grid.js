// A table with many rows of the same height, of which those in sight are in the document. Columns can be resized, and
// the first ones stay in sight.
import {el, keepingFocus} from '../base/view.js';

const ROW = 34; // style.css has it too
const AHEAD = 12;
const LEAST_WIDTH = 48;
const STEP = 16;

export class Grid {
  #box;
  #table;
  #columns = [];
  #cols = el('colgroup');
  #head = el('thead');
  #before = el('tbody', {class: 'gap', 'aria-hidden': 'true'}, el('tr', {}, el('td')));
  #body = el('tbody');
  #after = el('tbody', {class: 'gap', 'aria-hidden': 'true'}, el('tr', {}, el('td')));
  #total = 0;
  #drawn = new Map();
  #due = false;

  /** itemAt(index): what a row shows; undefined while it is not known. rowOf(item, index): its element. onsight(first,
      last): rows came in sight. onwidth(key, width): a column was resized. */
  constructor({label, itemAt, rowOf, onsight, onwidth, signal}) {
    this.itemAt = itemAt;
    this.rowOf = rowOf;
    this.onsight = onsight;
    this.onwidth = onwidth;
    this.#table = el('table', {}, this.#cols, this.#head, this.#body);
    this.#box = el('div', {class: 'grid', tabindex: 0, role: 'region', 'aria-label': label}, this.#table);
    this.#box.addEventListener('scroll', () => this.#soon(), {passive: true, signal});
    this.#box.addEventListener('focusout', () => this.#soon(), {signal});
    const sizes = new ResizeObserver(() => this.#soon());
    sizes.observe(this.#box);
    signal.addEventListener('abort', () => sizes.disconnect(), {once: true});
  }

  get node() { return this.#box; }

  /** columns: {key, width, isPinned, head: node}; those that are pinned first. */
  setColumns(columns) {
    this.#cols.replaceChildren(...columns.map(() => el('col')));
    this.setHeads(columns);
    this.#size();
    this.redraw();
  }

  /** The same columns with other heads: the rows stay. */
  setHeads(columns) {
    this.#columns = columns;
    const row = el('tr', {}, columns.map((column) => this.#headOf(column)));
    [...row.children].forEach((cell, column) => this.#pin(cell, column));
    keepingFocus(this.#head, () => this.#head.replaceChildren(row));
  }

  setTotal(total) {
    this.#total = total;
    this.#table.setAttribute('aria-rowcount', total + 1);
  }

  setBusy(isBusy) { this.#body.setAttribute('aria-busy', String(isBusy)); }

  /** The first row and the last one in sight. */
  get sight() {
    const first = Math.floor(this.#box.scrollTop / ROW);
    return [first, Math.min(this.#total, first + Math.ceil(this.#box.clientHeight / ROW) + 1)];
  }

  toTop() { this.#box.scrollTop = 0; }

  /** Draws all rows in sight again. */
  redraw() {
    this.#drawn.clear();
    this.draw();
  }

  /** Draws the rows in sight: those of the same items stay. Waits while a cell is edited. */
  draw() {
    if (this.#body.querySelector('td input:not([type=checkbox])')) return;
    const [seen, end] = this.sight;
    const first = Math.max(0, seen - AHEAD);
    const last = Math.min(this.#total, end + AHEAD);
    const drawn = new Map();
    for (let at = first; at < last; ++at) {
      const item = this.itemAt(at);
      const known = this.#drawn.get(at);
      drawn.set(at, known && known.item === item ? known : {item, node: this.#rowAt(item, at)});
    }
    const rows = [...drawn.values()].map(({node}) => node);
    const {children} = this.#body;
    const isSame = rows.length === children.length && rows.every((row, at) => row === children[at]);
    if (!isSame) keepingFocus(this.#body, () => this.#body.replaceChildren(...rows));
    this.#drawn = drawn;
    this.#gap(this.#before, first, () => this.#body.before(this.#before));
    this.#gap(this.#after, this.#total - last, () => this.#body.after(this.#after));
    this.onsight(first, last);
  }

  #rowAt(item, at) {
    const node = item === undefined
      ? el('tr', {class: 'unknown'}, this.#columns.map(() => el('td', {}, '…')))
      : this.rowOf(item, at);
    node.setAttribute('aria-rowindex', at + 2);
    [...node.children].forEach((cell, column) => this.#pin(cell, column));
    return node;
  }

  #gap(node, rows, add) {
    node.firstChild.style.height = `${rows * ROW}px`;
    if (!rows) node.remove();
    else if (!node.isConnected) add();
  }

  #soon() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      if (this.#box.isConnected) this.draw();
    });
  }

  #size() {
    this.#columns.forEach(({width}, at) => { this.#cols.children[at].style.width = `${width}px`; });
    this.#table.style.width = `${this.#columns.reduce((sum, {width}) => sum + width, 0)}px`;
    for (const row of this.#table.rows) [...row.children].forEach((cell, column) => this.#pin(cell, column));
  }

  #pin(cell, at) {
    const column = this.#columns[at];
    if (!column?.isPinned) return;
    cell.classList.add('pinned');
    cell.style.left = `${this.#columns.slice(0, at).reduce((sum, {width}) => sum + width, 0)}px`;
  }

  #headOf(column) {
    if (column.isFixed) return column.head;
    const handle = el('span', {
      class: 'resizer', role: 'separator', tabindex: 0, 'aria-orientation': 'vertical', 'aria-valuenow': column.width,
      'aria-label': `Width of ${column.key}`,
    });
    const set = (width) => {
      column.width = Math.max(LEAST_WIDTH, Math.round(width));
      handle.setAttribute('aria-valuenow', column.width);
      this.#size();
    };
    handle.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      const from = event.clientX - column.width;
      handle.setPointerCapture(event.pointerId);
      handle.onpointermove = (moved) => set(moved.clientX - from);
      handle.onpointerup = handle.onpointercancel = () => {
        handle.onpointermove = handle.onpointerup = handle.onpointercancel = null;
        this.onwidth(column.key, column.width);
      };
    });
    handle.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      event.preventDefault();
      set(column.width + (event.key === 'ArrowRight' ? STEP : -STEP));
      this.onwidth(column.key, column.width);
    });
    column.head.append(handle);
    return column.head;
  }
}
