// The datasets of a run: which operator limits them, and how long the loops waited for data.
import {Curves} from '../chart/curves.js';
import {bytes, duration, el, facts, later, linkTo, number, section, table} from '../base/view.js';

const PHASES = {
  wait_s: 'waiting for rows', ranks_s: 'waiting for other ranks', batching_s: 'batching', collate_s: 'collating',
  body_s: "the loop's body",
};
const LITTLE_STALL = 5;

const sum = (values) => values.reduce((all, value) => all + (value ?? 0), 0);
const most = (list, value) =>
  list.reduce((best, each) => (best === undefined || value(each) > value(best) ? each : best), undefined);

/** Each operator over all ranks, in order. */
const operatorsOf = (ranks) => (ranks[0]?.times.operators ?? []).map((first, at) => {
  const all = ranks.map(({times}) => times.operators?.[at]).filter(Boolean);
  return {
    operator: first.operator,
    ...Object.fromEntries(['rows', 'bytes', 'time_s', 'wait_s'].map((key) => [key, sum(all.map((each) => each[key]))])),
  };
});

/** The reason for the waits of the loops, as a sentence. */
const limitText = (ranks, operators) => {
  const stall = sum(ranks.map(({times}) => times.stall_percent)) / ranks.length;
  if (stall < LITTLE_STALL) return `Nothing: the loops stood still for data in ${number(stall, 2)} % of their time.`;
  const totals = Object.keys(PHASES).filter((phase) => phase !== 'body_s')
    .map((phase) => [phase, sum(ranks.map(({times}) => times[phase]))]);
  const [phase] = most(totals, ([, seconds]) => seconds);
  const slowest = phase === 'wait_s' ? most(operators, (each) => each.time_s) : undefined;
  const who = slowest ? `: ${slowest.operator} takes longest` : '';
  return `The loops stood still for data in ${number(stall, 3)} % of their time, most of it ${PHASES[phase]}${who}.`;
};

const operatorTable = (name, operators) => {
  if (!operators.length) return '';
  const all = sum(operators.map((each) => each.time_s));
  const slowest = most(operators, (each) => each.time_s);
  return table(`Operators of ${name}`,
    [{title: 'Operator', long: true}, {title: 'Rows', number: true}, {title: 'Bytes', number: true},
      {title: 'Own time', number: true}, {title: 'Share', number: true}, {title: 'Rows a second of it', number: true},
      {title: 'Waited for input', number: true}, {title: ''}],
    operators.map((each) => [each.operator, number(each.rows), bytes(each.bytes), duration(each.time_s),
      all ? `${(100 * each.time_s / all).toFixed(1)} %` : '', each.time_s > 0 ? number(each.rows / each.time_s, 3) : '',
      duration(each.wait_s), each === slowest && all ? 'the slowest' : '']));
};

const rankTable = (run, name, ranks) => table(`Loops over ${name}`,
  [{title: 'Rank', number: true}, {title: 'Data stall', number: true},
    ...Object.values(PHASES).map((title) => ({title, number: true})), {title: 'Ingest workers', number: true}],
  ranks.map(({rank, times}) => [linkTo(`run/${encodeURIComponent(run)}/rank/${rank}`, `rank ${rank}`),
    times.stall_percent == null ? '' : `${number(times.stall_percent, 3)} %`,
    ...Object.keys(PHASES).map((phase) => duration(times[phase])), times.ingest_workers ?? '']));

const datasetView = (run, name, ranks) => {
  const operators = operatorsOf(ranks);
  return section(`Dataset ${name}`,
    facts([['What limits it', limitText(ranks, operators)]]),
    operatorTable(name, operators),
    rankTable(run, name, ranks));
};

const content = (run) => {
  const workers = run.attempts.at(-1)?.workers ?? [];
  const names = [...new Set(workers.flatMap((worker) => Object.keys(worker.data ?? {})))];
  if (!names.length) return [el('p', {class: 'empty'}, 'The last attempt has read no dataset of the trainer yet.')];
  return names.map((name) => datasetView(run.name, name,
    workers.filter((worker) => worker.data?.[name]).map((worker) => ({rank: worker.rank, times: worker.data[name]}))));
};

export const showData = async (page, box, signal) => {
  const {run, query} = page;
  const lists = el('div');
  const fill = () => lists.replaceChildren(...content(page.run));
  fill();
  const curves = new Curves({runs: [run], query, signal, isWanted: (metric) => metric.startsWith('data/')});
  box.replaceChildren(lists, curves.node('Over time, rank 0'));
  await curves.find();
  await curves.load();
  const again = later(1000, () => page.refresh().catch(() => {}));
  return {
    filled: fill,
    live: () => {
      again();
      curves.reload();
    },
  };
};
