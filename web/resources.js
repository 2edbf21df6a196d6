// The cores and GPUs of the host of the server: who holds them, who waits.
import {get} from './api.js';
import {bytes, el, runLink, section, table} from './view.js';

const PAUSE_MS = 2000;

const gpuState = (state) => (state ? [
  state.utilization_percent != null && `${state.utilization_percent} % busy`,
  state.used_bytes != null && `${bytes(state.used_bytes)} in use`,
  state.power_w != null && `${Math.round(state.power_w)} W`,
  state.temperature_c != null && `${state.temperature_c} °C`,
].filter(Boolean).join(', ') : '');

const content = ({cpus, gpus, leases, waiting}) => [
  el('p', {}, `${cpus.offered} of ${cpus.host} cores are offered to runs, ${cpus.free} are free.`),
  gpus.length ? section('GPUs', table('GPUs', [{title: 'GPU', number: true}, {title: 'Name'}, {title: 'Free', number: true}, {title: 'State'}],
    gpus.map((gpu) => [gpu.index, gpu.name, gpu.free, gpuState(gpu.state)]))) : '',
  section('Held', leases.length ? table('Held', [{title: 'Run'}, {title: 'Process', number: true}, {title: 'Cores'}, {title: 'GPUs', number: true}],
    leases.map((lease) => [runLink(lease.run), lease.pid, lease.cores.join(' '), lease.gpus.reduce((sum, gpu) => sum + gpu.share, 0) || '']))
    : el('p', {class: 'quiet'}, 'No run holds cores or GPUs of this host.')),
  section('Waiting', waiting.length ? table('Waiting', [{title: 'Run'}, {title: 'Process', number: true}],
    waiting.map((run) => [runLink(run.run), run.pid])) : el('p', {class: 'quiet'}, 'No run waits.')),
];

export const showResources = async (place, main, signal) => {
  const box = el('div');
  main.replaceChildren(el('h1', {}, 'Resources of this host'), box);
  let shown = '';
  while (!signal.aborted) {
    const resources = await get('api/resources', {}, signal);
    const text = JSON.stringify(resources);
    if (text !== shown) box.replaceChildren(...content(resources));
    shown = text;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};
