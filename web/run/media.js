// Records of train.log_image and similar functions, by run and rank next to each other, at one step.
import {contentUrl, get, getText, runPath} from '../server/api.js';
import {boundsOf} from '../chart/axis.js';
import {bytes, clipped, el, number, section, table} from '../base/view.js';

const PAGE_ROWS = 1000;
const MOST_ROWS = 5000;
const MOST_OPEN = 60;
const TABLE_ROWS = 100;
const WIDTH = 320;
const HEIGHT = 120;

const rowsOf = async (run, signal) => {
  const out = [];
  for (let total = 1; out.length < Math.min(total, MOST_ROWS);) {
    const page = await get(`${runPath(run.name)}/media`, {limit: PAGE_ROWS, offset: out.length}, signal);
    total = page.total;
    if (!page.media.length) break;
    out.push(...page.media.map((row) => ({...row, run: run.name})));
  }
  return out;
};

const histogram = ({edges, counts, min, max, num, nonfinite}, title) => {
  const highest = Math.max(1, ...counts);
  const [from, to] = boundsOf([edges]) ?? [0, 1];
  const place = (value) => (value - from) / (to - from || 1) * WIDTH;
  const others = nonfinite ? ` and ${number(nonfinite)} not finite` : '';
  return el('figure', {},
    el('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'bars', role: 'img', 'aria-label': title},
      counts.map((count, at) => el('rect', {
        x: place(edges[at]), y: HEIGHT - count / highest * HEIGHT,
        width: Math.max(1, place(edges[at + 1]) - place(edges[at]) - 1), height: count / highest * HEIGHT,
      }))),
    el('p', {class: 'quiet'}, `${number(min)} to ${number(max)}, ${number(num)} numbers${others}`));
};

const loggedTable = ({columns, rows}, title) => [
  table(title, columns.map((column) => ({title: String(column)})),
    rows.slice(0, TABLE_ROWS).map((row) => row.map((cell) => number(cell)))),
  rows.length > TABLE_ROWS ? el('p', {class: 'quiet'}, `and ${rows.length - TABLE_ROWS} rows more`) : ''];

/** The node for one row; an error text if it cannot be loaded. */
const contentOf = async (row, signal) => {
  const title = `${row.name} of ${row.run}, rank ${row.rank}, step ${row.step}`;
  const path = `${runPath(row.run)}/media/content`;
  try {
    if (row.kind === 'image') return el('img', {src: contentUrl(path, {hash: row.hash}), alt: title, loading: 'lazy'});
    if (row.kind === 'audio') {
      const src = contentUrl(path, {hash: row.hash});
      return el('audio', {src, controls: true, preload: 'metadata', 'aria-label': title});
    }
    if (row.kind === 'text') return el('pre', {tabindex: 0}, await getText(path, {hash: row.hash}, signal));
    const document = await get(path, {hash: row.hash}, signal);
    return row.kind === 'histogram' ? histogram(document, title) : loggedTable(document, title);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return el('p', {class: 'quiet'}, error.message);
  }
};

/** The last row of each run and rank up to that step. */
const shownAt = (rows, step) => [...Map.groupBy(rows, (row) => `${row.run}\n${row.rank}`).values()]
  .map((each) => each.findLast((row) => row.step <= step)).filter(Boolean);

/** One name of one kind: a slider over its steps, and the rows at the chosen step, once it is open. */
const oneName = (rows, isOpen, signal) => {
  const [{name, kind}] = rows;
  const steps = [...new Set(rows.map((row) => row.step))].sort((a, b) => a - b);
  const severalRuns = new Set(rows.map((row) => row.run)).size > 1;
  const box = el('div', {class: 'media'});
  const said = el('output', {});
  let turn = 0;
  const draw = async (at) => {
    const mine = ++turn;
    said.textContent = `step ${steps[at]}`;
    const shown = shownAt(rows, steps[at]);
    const nodes = await Promise.all(shown.map((row) => contentOf(row, signal)));
    if (mine !== turn || signal.aborted) return;
    box.replaceChildren(...shown.map((row, place) => {
      const parts = [severalRuns && row.run, `rank ${row.rank}`, `step ${row.step}`, bytes(row.bytes)];
      return el('div', {}, el('p', {class: 'quiet'}, parts.filter(Boolean).join(', ')), nodes[place]);
    }));
  };
  const last = steps.length - 1;
  const slider = el('input', {
    type: 'range', name: 'step', min: 0, max: last, value: last, 'aria-label': `Step of ${name}`,
    oninput: (event) => draw(Number(event.target.value)).catch(() => {}),
  });
  const begin = () => { if (!turn) draw(last).catch(() => {}); };
  const node = el('details', {open: isOpen, ontoggle: begin},
    el('summary', {}, clipped(name), ` (${kind})`),
    el('div', {class: 'bar'}, last ? slider : '', said),
    box);
  return {node, ready: isOpen ? draw(last) : undefined};
};

/** Empty if no run has any media. */
export const mediaView = async (runs, signal) => {
  const byRun = await Promise.all(runs.map((run) => rowsOf(run, signal)));
  const rows = byRun.flat();
  if (!rows.length) return '';
  const groups = [...Map.groupBy(rows, (row) => `${row.kind}\n${row.name}`).values()];
  const shown = groups.map((each, at) => oneName(each, at < MOST_OPEN, signal));
  await Promise.all(shown.map((each) => each.ready));
  return section('Media',
    byRun.some((each) => each.length >= MOST_ROWS)
      ? el('p', {class: 'quiet'}, `Of each run the first ${MOST_ROWS} records: the API has all.`)
      : '',
    shown.map((each) => each.node));
};
