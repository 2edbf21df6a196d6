// The cores and GPUs of the server's node: which runs hold them, which wait; and the queued runs of the store.
import {get} from '../server/api.js';
import {bytes, el, number, runLink, section, table, time} from '../base/view.js';

const PAUSE_MS = 2000;

const gpuState = (state) => (state ? [
  state.utilization_percent != null && `${state.utilization_percent} % busy`,
  state.used_bytes != null && `${bytes(state.used_bytes)} in use`,
  state.power_w != null && `${Math.round(state.power_w)} W`,
  state.temperature_c != null && `${state.temperature_c} °C`,
].filter(Boolean).join(', ') : '');

/** Devices by their index on this node; others by their id. */
const gpuShares = (shares, gpus) => shares.map(({uuid, share}) => {
  const gpu = gpus.find((each) => each.uuid === uuid);
  return `${gpu ? `GPU ${gpu.index}` : uuid}${share === 1 ? '' : ` (${number(share, 3)} of it)`}`;
}).join(', ');

/** Cores as ranges: 0-3 7. */
const coreRanges = (cores) => {
  const ranges = [];
  for (const core of [...cores].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && core === last[1] + 1) last[1] = core;
    else ranges.push([core, core]);
  }
  return ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(' ');
};

const holders = (gpu, leases) =>
  leases.filter((lease) => lease.gpus.some(({uuid}) => uuid === gpu.uuid)).map((lease) => [runLink(lease.run), ' ']);

const content = ({cpus, gpus, leases, waiting}, {runs: queued, total}) => [
  el('p', {}, `${cpus.offered} of ${cpus.host} cores are offered to runs, ${cpus.free} are free.`),
  gpus.length
    ? section('GPUs',
      table('GPUs',
        [{title: 'GPU', number: true}, {title: 'Name'}, {title: 'Free', number: true}, {title: 'Held by', long: true},
          {title: 'State'}],
        gpus.map((gpu) => [gpu.index, gpu.name, gpu.free, holders(gpu, leases), gpuState(gpu.state)])))
    : '',
  section('Held',
    leases.length
      ? table('Held',
        [{title: 'Run'}, {title: 'Process', number: true}, {title: 'Number of cores', number: true},
          {title: 'Cores', long: true}, {title: 'GPUs', long: true}],
        leases.map((lease) => [runLink(lease.run), lease.pid, lease.cores.length, coreRanges(lease.cores),
          gpuShares(lease.gpus, gpus)]))
      : el('p', {class: 'quiet'}, 'No run holds cores or GPUs of this node.')),
  section('Waiting for this node',
    waiting.length
      ? table('Waiting for this node',
        [{title: 'Place', number: true}, {title: 'Run'}, {title: 'Process', number: true}],
        waiting.map((run, at) => [at + 1, runLink(run.run), run.pid]))
      : el('p', {class: 'quiet'}, 'No run waits.')),
  section('Queued by a launcher',
    queued.length
      ? [
        table('Queued by a launcher',
          [{title: 'Run'}, {title: 'Submitted (UTC)', time: true}, {title: 'Workers', number: true},
            {title: 'Script', long: true}],
          queued.map((run) => [runLink(run.name), time(run.started_at), run.num_workers, run.script])),
        total > queued.length ? el('p', {class: 'quiet'}, `The first ${queued.length} of ${total}.`) : '',
      ]
      : el('p', {class: 'quiet'}, 'No run of this store waits in a queue.')),
];

export const showResources = async (place, main, signal) => {
  const box = el('div');
  main.replaceChildren(el('h1', {}, 'Resources of this node'), box);
  let shown = '';
  while (!signal.aborted) {
    const [resources, queued] = await Promise.all([
      get('api/resources', {}, signal),
      get('api/runs', {where: "status = 'QUEUED'", sort: 'started_at'}, signal),
    ]);
    const text = JSON.stringify([resources, queued]);
    if (text !== shown) box.replaceChildren(...content(resources, queued));
    shown = text;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};
