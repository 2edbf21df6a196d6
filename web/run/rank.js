// One rank of a run: how it spends its time, the load of its device, its own curves and its output.
import {Outcome, profileAction} from '../server/actions.js';
import {Curves} from '../chart/curves.js';
import {flameView} from './flame.js';
import {logView} from './log.js';
import {memoryView} from './memory.js';
import {stackView} from './stack.js';
import {duration, el, facts, number, section, table} from '../base/view.js';

const timeTable = (timing) => {
  if (!timing) return '';
  const all = Object.values(timing).reduce((sum, seconds) => sum + seconds, 0);
  if (!all) return '';
  return section('Time of the train function',
    table('Time',
      [{title: 'Phase'}, {title: 'Time', number: true}, {title: 'Share', number: true}],
      Object.entries(timing).map(([phase, seconds]) =>
        [phase.replace(/_s$/, ''), duration(seconds), `${(100 * seconds / all).toFixed(1)} %`])));
};

/** [[name, value]] of numbers by name. */
const factsOf = (numbers) => facts(numbers.map(([key, value]) => [key.replaceAll('_', ' '), number(value)]));

const device = (gpu) => (gpu ? section('Device', factsOf(Object.entries(gpu))) : '');

const data = (datasets) =>
  Object.entries(datasets ?? {}).map(([name, times]) =>
    section(`Dataset ${name}`, factsOf(Object.entries(times).filter(([key]) => key !== 'operators'))));

/** The requests to a live rank. */
const questions = (run, rank) => {
  const outcome = new Outcome();
  return [stackView(run, rank),
    section('Profile', el('div', {class: 'bar'}, profileAction(run, rank, outcome)), outcome.node)];
};

export const showRank = async ({run, writes, parts: [, , , rankText], query}, box, signal) => {
  const rank = Number(rankText);
  const worker = run.attempts.at(-1)?.workers.find((each) => each.rank === rank);
  const curves = new Curves({runs: [run], rank, query, signal, hidesEmpty: true});
  const flame = await flameView(run, rank, writes, signal);
  const memory = await memoryView(run, rank, writes, signal);
  box.replaceChildren(
    el('h2', {}, `Rank ${rank} of ${run.name}`),
    worker
      ? facts([
        ['Node', worker.host], ['Process', worker.pid], ['Device', worker.device],
        ['Exit', worker.signal != null ? `signal ${worker.signal}` : worker.exit_code ?? ''],
      ])
      : el('p', {class: 'quiet'}, 'The last attempt has no such rank.'),
    ...(run.live && writes ? questions(run, rank) : []),
    flame,
    memory,
    timeTable(worker?.timing),
    device(worker?.gpu),
    ...data(worker?.data),
    curves.node('Curves of this rank'),
    logView(run.name, {rank}, signal));
  await curves.find();
  await curves.load();
};
