// Which code holds the memory of a rank's tensors: the newest profile of `rtrain profile --memory`, and a button.
import {Outcome, memoryAction} from '../server/actions.js';
import {get, runPath} from '../server/api.js';
import {spark} from '../chart/chart.js';
import {bytes, duration, el, facts, section, table, time} from '../base/view.js';

const MOST_ROWS = 20;

const growth = (value) => `${value < 0 ? '−' : '+'}${bytes(Math.abs(value))}`;
const kindsOf = (line) => line.kinds.map((kind) => `${kind.count} × ${kind.kind}`).join(', ');
const madeOf = (tensor) => (tensor.older ? 'before' : tensor.line || 'no line known');

const cutText = (rows) =>
  (rows.length > MOST_ROWS
    ? el('p', {class: 'quiet'}, `The largest ${MOST_ROWS} of ${rows.length}: the file among the traces has all.`)
    : '');

const linesOf = (device) =>
  (device.lines.length
    ? table(`Lines that made tensors, ${device.device}`,
      [{title: 'Line'}, {title: 'Has', number: true}, {title: 'Tensors', number: true},
        {title: 'At the peak', number: true}, {title: 'Took', number: true}, {title: 'Of them', long: true}],
      device.lines.slice(0, MOST_ROWS).map((line) => [line.line || 'no line known', bytes(line.bytes), line.count,
        bytes(line.peak_bytes), bytes(line.taken_bytes), kindsOf(line)]))
    : '');

const tensorsOf = (device) =>
  (device.tensors.length
    ? table(`Tensors that the script can reach, ${device.device}`,
      [{title: 'Tensor', long: true}, {title: 'Has', number: true}, {title: 'Kind'}, {title: 'Made'}],
      device.tensors.slice(0, MOST_ROWS)
        .map((tensor) => [tensor.name || '–', bytes(tensor.bytes), tensor.kind, madeOf(tensor)]))
    : '');

const deviceView = (device) => [
  facts([
    ['Device', device.device],
    ['At the end', `${bytes(device.end_bytes)} (${growth(device.end_bytes - device.begin_bytes)})`],
    ['At most', bytes(device.peak_bytes)],
    ['New of it', bytes(device.new_bytes)],
    ['Over time', spark(device.curve.map(([, value]) => value))],
  ]),
  linesOf(device),
  cutText(device.lines),
  tensorsOf(device),
  cutText(device.tensors),
];

/** `writes`: whether this viewer may ask a live rank. */
export const memoryView = async (run, rank, writes, signal) => {
  const load = async () => (await get(`${runPath(run.name)}/memory`, {rank}, signal)).profile;
  const box = el('div', {class: 'memory'});
  const show = (profile) => {
    if (!profile) return box.replaceChildren();
    const at = time(new Date(profile.time_ms).toISOString());
    const said = el('p', {class: 'quiet'}, `Recorded for ${duration(profile.seconds)}, ${at} UTC`);
    return box.replaceChildren(said, ...profile.devices.flatMap(deviceView));
  };
  const first = await load();
  const isAsked = run.live && writes;
  if (!first && !isAsked) return '';
  show(first);
  const outcome = new Outcome();
  return section('Memory',
    isAsked ? el('div', {class: 'bar'}, memoryAction(run, rank, outcome, async () => show(await load()))) : '',
    outcome.node,
    box);
};
