// Which ranks wait for which: the records of a run at the moments when it seemed to hang.
import {get, runPath} from '../server/api.js';
import {stackView} from './stack.js';
import {el, linkTo, section, table, time} from '../base/view.js';

const textOf = (call) => (call ? `#${call.sequence} ${call.operation}(${call.tensors})` : '');
const sameCall = (a, b) => a.operation === b.operation && a.tensors === b.tensors;
const lastOf = (rank) =>
  rank.collectives?.reduce((last, call) => (last && last.sequence > call.sequence ? last : call), undefined);

/** Ranks that have not reached the last collective of this rank, and ranks that called another one instead. */
const awaited = (rank, ranks) => {
  const last = lastOf(rank);
  if (!last) return {missing: [], different: []};
  const others = ranks.filter((each) => each.rank !== rank.rank);
  const isOther = (call) => call.sequence === last.sequence && !sameCall(call, last);
  return {
    missing: others.filter((each) => (lastOf(each)?.sequence ?? 0) < last.sequence).map((each) => each.rank),
    different: others.filter((each) => each.collectives?.some(isOther)).map((each) => each.rank),
  };
};

const waitText = (rank, ranks) => {
  const {missing, different} = awaited(rank, ranks);
  return [
    missing.length && `rank ${missing.join(', ')}`,
    different.length && `rank ${different.join(', ')}: calls another one`,
  ].filter(Boolean).join('; ');
};

const waits = (run, ranks) => table('Who waits for whom',
  [{title: 'Rank', number: true}, {title: 'What it does', long: true}, {title: 'Last collective', long: true},
    {title: 'At'}, {title: 'Waits for'}],
  ranks.map((rank) => {
    const last = lastOf(rank);
    return [linkTo(`run/${encodeURIComponent(run)}/rank/${rank.rank}`, `rank ${rank.rank}`), rank.phase || rank.state,
      textOf(last), last?.line ?? '', el('strong', {}, waitText(rank, ranks))];
  }));

/** A row for each of the last collectives, a column for each rank; different or missing calls are marked. */
const order = (ranks) => {
  const all = ranks.flatMap((rank) => (rank.collectives ?? []).map((call) => call.sequence));
  const sequences = [...new Set(all)].sort((a, b) => b - a);
  if (!sequences.length) return '';
  return section('The order of collectives',
    table('The order of collectives',
      [{title: 'Collective', number: true}, ...ranks.map((rank) => ({title: `rank ${rank.rank}`}))],
      sequences.map((sequence) => {
        const calls = ranks.map((rank) => rank.collectives?.find((call) => call.sequence === sequence));
        const first = calls.find(Boolean);
        return [`#${sequence}`, ...calls.map((call, at) => {
          if (!call) {
            return el('span', {class: 'quiet'}, (lastOf(ranks[at])?.sequence ?? 0) < sequence ? 'not called' : '–');
          }
          const text = `${call.operation}(${call.tensors}) ${call.line}`;
          return el('span', {class: sameCall(call, first) ? undefined : 'differs'}, text);
        })];
      })));
};

const stacks = (ranks) => section('Where they were',
  ranks.map((rank) => el('details', {open: ranks.length <= 4},
    el('summary', {}, `rank ${rank.rank}, pid ${rank.pid}`),
    el('pre', {tabindex: 0}, (rank.lua ?? []).join('\n') || 'no line of Lua'))));

const moment = (run, hang, isNewest) => el('details', {open: isNewest},
  el('summary', {}, `${time(hang.time)} UTC, attempt ${hang.attempt}`),
  el('p', {class: 'error', role: isNewest ? 'alert' : undefined}, hang.verdict),
  waits(run, hang.ranks),
  order(hang.ranks),
  stacks(hang.ranks));

export const showHang = async ({run, writes}, box, signal) => {
  const {hangs, total} = await get(`${runPath(run.name)}/hangs`, {}, signal);
  box.replaceChildren(
    el('h2', {}, `Hangs of ${run.name}`),
    hangs.length ? '' : el('p', {class: 'quiet'}, 'No rank of this run was found to hang.'),
    total > hangs.length
      ? el('p', {class: 'quiet'}, `The newest ${hangs.length} of ${total}; all are in the run's folder, in diag/.`)
      : '',
    run.live && writes ? stackView(run) : '',
    ...hangs.map((hang, at) => moment(run.name, hang, at === 0)));
};
