// The attempts of a run and the ranks of its last one.
import {fileUrl, runPath} from '../server/api.js';
import {stackView} from './stack.js';
import {storedAt} from '../server/stored.js';
import {timeline} from './timeline.js';
import {el, linkTo, section, table} from '../base/view.js';

const endOf = (worker) => {
  if (worker.signal != null) return `signal ${worker.signal}`;
  return worker.exit_code != null ? `exit ${worker.exit_code}` : '';
};

const outputLink = (run, attempt, {rank}) => {
  if (storedAt) return '';
  const href = fileUrl(`${runPath(run.name)}/logs/file`, {rank, attempt: attempt.attempt});
  return el('a', {href, 'aria-label': `Output of rank ${rank}`}, 'as text');
};

// What a rank that slows the others down costs them.
const costOf = ({lost_s: lost}) => lost > 0 ? `${Math.round(1000 * lost)} ms a step` : '';

const rankTable = (run) => {
  const last = run.attempts.at(-1);
  if (!last?.workers.length) return '';
  const isSlow = last.workers.some(costOf);
  return section('Ranks',
    el('p', {}, linkTo(`nodes?run=${encodeURIComponent(run.name)}`, 'Their nodes')),
    table('Ranks',
      [{title: 'Rank', number: true}, {title: 'Node'}, {title: 'Process', number: true}, {title: 'Device'},
        ...isSlow ? [{title: 'Others wait', number: true}] : [], {title: 'Ended'}, {title: storedAt ? '' : 'Output'}],
      last.workers.map((worker) => [
        linkTo(`run/${encodeURIComponent(run.name)}/rank/${worker.rank}`, `rank ${worker.rank}`),
        worker.host, worker.pid, worker.device,
        ...isSlow ? [costOf(worker)] : [], endOf(worker), outputLink(run, last, worker),
      ])));
};

export const showRanks = async (page, box) => {
  const lists = el('div');
  const fill = () => lists.replaceChildren(timeline(page.run), rankTable(page.run));
  fill();
  box.replaceChildren(lists, page.writes && page.run.live ? stackView(page.run) : '');
  return {filled: fill};
};
