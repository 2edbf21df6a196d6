// What the charts of a page share: the part of each axis that they show, the cursor, and which curves are drawn.
// Events: 'change' of a part, 'cursor', and 'curves' when curves are hidden, shown or highlighted.
export class Linked extends EventTarget {
  #parts = new Map();
  #hidden = new Set();

  /** {axis, x, time, run, isKept, owner}: where the pointer is, in the chart `owner`; undefined if it is in none. */
  cursor = undefined;
  /** The name of the run whose curves stand out; undefined without one. */
  highlighted = undefined;

  /** Escape lets a kept cursor go. The signal removes the listener. */
  constructor(signal) {
    super();
    document.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.cursor?.isKept) return;
      this.point(undefined);
      event.preventDefault();
      event.stopPropagation();
    }, {signal, capture: true});
  }

  /** {from, to} of the axis; without them all of it. */
  of(axis) { return this.#parts.get(axis) ?? {}; }

  set(axis, from, to) {
    this.#parts.set(axis, {from, to});
    this.dispatchEvent(new Event('change'));
  }

  /** Shows all of each axis. Returns whether that is another part. */
  showAll() {
    const isPart = this.#parts.size > 0;
    this.#parts.clear();
    if (isPart) this.dispatchEvent(new Event('change'));
    return isPart;
  }

  /** Moves the cursor of all charts. */
  point(cursor) {
    if (!cursor && !this.cursor) return;
    this.cursor = cursor;
    this.dispatchEvent(new Event('cursor'));
  }

  isHidden(run) { return this.#hidden.has(run); }

  /** Hides the curves of a run, or shows them again. */
  toggle(run) {
    if (!this.#hidden.delete(run)) this.#hidden.add(run);
    this.dispatchEvent(new Event('curves'));
  }

  /** Shows the curves of one run alone; of all runs if it is alone already. */
  only(run, runs) {
    const others = runs.filter((each) => each !== run);
    const isAlone = !this.#hidden.has(run) && others.every((each) => this.#hidden.has(each));
    this.#hidden = new Set(isAlone ? [] : others);
    this.dispatchEvent(new Event('curves'));
  }

  highlight(run) {
    if (this.highlighted === run) return;
    this.highlighted = run;
    this.dispatchEvent(new Event('curves'));
  }
}
