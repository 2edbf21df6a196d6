// The checkpoints of a run.
import {get, runPath} from '../server/api.js';
import {metricsView} from '../base/metrics.js';
import {bytes, el, section, table, time} from '../base/view.js';

const MOST_ROWS = 1000;

const marksOf = (each) =>
  [each.best && 'best', each.latest && 'latest', each.status !== 'COMMITTED' && each.status.toLowerCase()]
    .filter(Boolean).join(' ');

const content = (rows, total) => {
  if (!rows.length) {
    return el('p', {class: 'empty'}, 'No checkpoint: train.report(metrics, {checkpoint = …}) makes one.');
  }
  return section('Checkpoints',
    total > rows.length ? el('p', {class: 'quiet'}, `The newest ${rows.length} of ${total}; the API has all.`) : '',
    table('Checkpoints',
      [{title: 'Name'}, {title: 'Report', number: true}, {title: 'Created (UTC)', time: true},
        {title: 'Size', number: true}, {title: ''}, {title: 'Metrics', wide: true}],
      rows.map((each) => [each.name, each.index, time(each.created_at), bytes(each.size_bytes), marksOf(each),
        metricsView(each.metrics)])));
};

/** The newest checkpoints. A file without a server has them in the run's document. */
const newest = async (run, signal) => {
  const path = `${runPath(run.name)}/checkpoints`;
  const {checkpoints, total} = await get(path, {limit: MOST_ROWS}, signal);
  if (total <= MOST_ROWS) return {rows: checkpoints, total};
  const last = await get(path, {limit: MOST_ROWS, offset: total - MOST_ROWS}, signal);
  return {rows: last.checkpoints, total};
};

export const showCheckpoints = async (page, box, signal) => {
  let saved;
  const load = async () => {
    const {rows, total} = await newest(page.run, signal);
    box.replaceChildren(content(rows, total));
  };
  box.replaceChildren(content(page.run.checkpoints, page.run.checkpoints.length));
  return {
    filled: () => load(),
    live: (now) => {
      if (saved !== now.last_checkpoint) load().catch(() => {});
      saved = now.last_checkpoint;
    },
  };
};
