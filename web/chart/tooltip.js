// The values of all curves next to the cursor, the nearest first. It stands on a side of the cursor's line, so it never
// covers a point that it is about. Once it is kept it can be scrolled.
import {swatch} from './palette.js';
import {clipped, el} from '../base/view.js';

const GAP = 14;
const EDGE = 4;
const MANY = 12; // rows that are seen without scrolling

const rowOf = ({place, name, text, where}) => el('li', {}, swatch(place),
  el('span', {class: 'name'}, clipped(name, 48)), el('strong', {}, text), el('span', {class: 'quiet'}, where));

class Tooltip {
  #title = el('p', {});
  #rows = el('ol', {tabindex: -1});
  #hint = el('p', {class: 'quiet'});
  #node = el('div', {class: 'tooltip'}, this.#title, this.#rows, this.#hint);

  /** point: {x, y} in pixels of the window. rows: {place, name, text, where}. */
  show(figure, point, {title, rows, isKept}) {
    if (this.#node.parentNode !== figure) figure.append(this.#node);
    this.#title.textContent = title;
    this.#rows.replaceChildren(...rows.map(rowOf));
    this.#rows.tabIndex = isKept ? 0 : -1;
    const many = rows.length > MANY ? `${rows.length} curves. ` : '';
    this.#hint.textContent = `${many}${isKept ? 'Escape lets go.' : `Click to keep${many && ' and scroll'}.`}`;
    this.#node.classList.toggle('kept', isKept);
    this.#place(figure, point);
    this.#rows.scrollTop = 0;
  }

  hide() { this.#node.remove(); }

  // Right of the cursor, else left of it; where both sides are too narrow above or below the point.
  #place(figure, {x, y}) {
    const {clientWidth: width, clientHeight: height} = document.documentElement;
    const own = this.#node.getBoundingClientRect();
    const clamp = (value, most) => Math.max(EDGE, Math.min(value, most - EDGE));
    let left = x + GAP;
    let top = clamp(y - own.height / 2, height - own.height);
    if (left + own.width > width - EDGE) left = x - GAP - own.width;
    if (left < EDGE) {
      left = clamp(x - own.width / 2, width - own.width);
      top = y + GAP + own.height > height ? y - GAP - own.height : y + GAP;
    }
    const box = figure.getBoundingClientRect();
    this.#node.style.left = `${left - box.left - figure.clientLeft}px`;
    this.#node.style.top = `${top - box.top - figure.clientTop}px`;
  }
}

/** There is one cursor, so there is one. */
export const tooltip = new Tooltip();
