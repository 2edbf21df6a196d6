// What a run used: what rtrain records of its processes and nodes, its scaling, environment and traces.
import {fileUrl, get, runPath} from '../server/api.js';
import {curvesOf} from './overview.js';
import {storedAt} from '../server/stored.js';
import {bytes, el, mapView, section, table, time} from '../base/view.js';

const MOST_ROWS = 1000;
const OWN = ['gpu/', 'host/', 'process/', 'straggler/', 'time/'];

const traces = async (run, signal) => {
  if (storedAt) return '';
  const {traces: rows, total} = await get(`${runPath(run.name)}/traces`, {limit: MOST_ROWS}, signal);
  if (!rows.length) return '';
  return section('Traces',
    total > rows.length ? el('p', {class: 'quiet'}, `The newest ${rows.length} of ${total}; the API has all.`) : '',
    table('Traces',
      [{title: 'File'}, {title: 'Recorded (UTC)', time: true}, {title: 'Size', number: true}],
      rows.map(({name, time: at, bytes: size}) => {
        const href = fileUrl(`${runPath(run.name)}/traces/file`, {name});
        return [el('a', {href, download: name}, name), time(at), bytes(size)];
      })));
};

export const showSystem = async (page, box, signal) => {
  const {run} = page;
  const isWanted = (name) => OWN.some((prefix) => name.startsWith(prefix));
  const curves = curvesOf(page, signal, {isWanted});
  box.replaceChildren(
    curves.node('Processes and nodes, as rank 0 has recorded them'),
    await traces(run, signal),
    mapView('Scaling', run.scaling),
    mapView('Environment', run.environment));
  await curves.find();
  await curves.load();
  return {live: () => curves.reload()};
};
