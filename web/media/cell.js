// What one run's rank has logged by one name: the last record up to a step, and of histograms a heat map of all steps.
import {contentUrl, get, getText, runPath} from '../server/api.js';
import {bars} from './bars.js';
import {HeatMap} from './heatmap.js';
import {bytes, el, number, table} from '../base/view.js';
import {isPlaying, video} from './video.js';

const TABLE_ROWS = 100;

const loggedTable = ({columns, rows}, title) => [
  table(title, columns.map((column) => ({title: String(column)})),
    rows.slice(0, TABLE_ROWS).map((row) => row.map((cell) => number(cell)))),
  rows.length > TABLE_ROWS ? el('p', {class: 'quiet'}, `and ${rows.length - TABLE_ROWS} rows more`) : ''];

/** The nodes for one record; an error text if it cannot be loaded. */
const contentOf = async (row, signal) => {
  const title = `${row.name} of ${row.run}, rank ${row.rank}, step ${row.step}`;
  const path = `${runPath(row.run)}/media/content`;
  try {
    const src = contentUrl(path, {hash: row.hash});
    if (row.kind === 'image') return [el('img', {src, alt: title, loading: 'lazy'})];
    if (row.kind === 'video') return video(src, title);
    if (row.kind === 'audio') return [el('audio', {src, controls: true, preload: 'metadata', 'aria-label': title})];
    if (row.kind === 'text') return [el('pre', {tabindex: 0}, await getText(path, {hash: row.hash}, signal))];
    const document = await get(path, {hash: row.hash}, signal);
    return row.kind === 'histogram' ? [bars(document, title)] : loggedTable(document, title);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return [el('p', {class: 'quiet'}, error.message)];
  }
};

export class Cell {
  #rows;
  #who;
  #signal;
  #heat;
  #caption = el('p', {class: 'quiet'});
  #content = el('div');
  #shown;

  node = el('div', {}, this.#caption, this.#content);

  /** severalRuns: whether the page shows more than one run. shades: of the heat maps of that name. choose: called with
      the step that the viewer chooses in a heat map. */
  constructor({run, rank, name, kind}, {severalRuns, shades, choose, signal}) {
    this.#who = [severalRuns && run, `rank ${rank}`].filter(Boolean).join(', ');
    this.#signal = signal;
    if (kind !== 'histogram') return;
    this.#heat = new HeatMap({run, name, rank, shades}, choose, signal);
    this.#caption.after(this.#heat.node);
  }

  /** rows: all records, by step. */
  set rows(rows) {
    this.#rows = rows;
    this.node.classList.toggle('wide', this.#heat !== undefined && rows.at(-1).step > rows[0].step);
  }

  get isPlaying() { return isPlaying(this.#content); }

  /** Shows the last record up to that step. A record that is shown already stays: audio is not interrupted. */
  async show(step) {
    this.#heat?.load(this.#rows.length).catch(() => {});
    this.#heat?.show(step);
    const row = this.#rows.findLast((each) => each.step <= step);
    if (row && row.hash === this.#shown?.hash && row.step === this.#shown.step) return;
    this.#shown = row;
    const content = row ? await contentOf(row, this.#signal) : [];
    if (row !== this.#shown || this.#signal.aborted) return;
    this.#caption.textContent = row
      ? `${this.#who}, step ${row.step}, ${bytes(row.bytes)}`
      : `${this.#who}: nothing up to step ${step}`;
    this.#content.replaceChildren(...content.filter(Boolean));
  }
}
