// The nodes of runs: their ranks, their present state, and why a run has evicted one.
import {get} from '../server/api.js';
import {Curves} from '../chart/curves.js';
import {duration, el, isOver, linkTo, number, runLink, section, status, table, time} from '../base/view.js';

const stateOf = (node) => (node.evicted_at ? 'left out' : isOver(node.status) ? 'idle' : 'in use');
const ranksOf = (node) =>
  node.ranks.map((rank) => [linkTo(`run/${encodeURIComponent(node.name)}/rank/${rank}`, String(rank)), ' ']);
const exitText = ({rank, exit_code: code, signal}) =>
  `rank ${rank} ${signal != null ? `signal ${signal}` : `exit ${code}`}`;
const reasonOf = (node) => [node.exits.map(exitText).join(', '), node.reason].filter(Boolean).join(': ');
const nodeLink = (host, run) =>
  linkTo(`nodes?host=${encodeURIComponent(host)}${run ? `&run=${encodeURIComponent(run)}` : ''}`, host);

/** A row for each node, with its newest run. */
const hostTable = (nodes) => table('Nodes',
  [{title: 'Node'}, {title: 'State'}, {title: 'Runs', number: true}, {title: 'Last run'}, {title: 'Ranks'},
    {title: 'Devices', long: true}, {title: 'Last reason', long: true}],
  [...Map.groupBy(nodes, (node) => node.host)].map(([host, uses]) => {
    const now = uses.find((node) => !isOver(node.status) && !node.evicted_at) ?? uses[0];
    return [nodeLink(host), stateOf(now), uses.length, runLink(now.name), ranksOf(now), now.devices.join(' '),
      uses.map(reasonOf).find(Boolean) ?? ''];
  }));

const useTable = (nodes) => table('Runs and nodes',
  [{title: 'Run'}, {title: 'Status'}, {title: 'Started (UTC)', time: true}, {title: 'Node'},
    {title: 'Number', number: true}, {title: 'Address', wide: true}, {title: 'State'}, {title: 'Ranks'},
    {title: 'Devices', long: true}, {title: 'Reason', long: true}],
  nodes.map((node) => [runLink(node.name), status(node.status), time(node.started_at), nodeLink(node.host, node.name),
    node.node ?? '', node.address ?? '', stateOf(node), ranksOf(node), node.devices.join(' '),
    el('span', {class: reasonOf(node) ? 'error' : undefined}, reasonOf(node))]));

const checkTable = ({host, checks}) =>
  (checks?.length
    ? section(`How ${host} was checked`,
      table('Checks',
        [{title: 'Check'}, {title: 'With'}, {title: 'Took', number: true}, {title: 'Problem', long: true}],
        checks.map((each) => [each.check, each.peer ?? '', duration(each.seconds), each.problem ?? ''])))
    : '');

/** The records of the node's lowest rank about the node. */
const hostCharts = async (node, query, signal) => {
  const none = el('p', {class: 'quiet'}, `The run ${node.name} has recorded nothing of ${node.host}.`);
  if (!node.ranks.length) return none;
  const rank = Math.min(...node.ranks);
  const isWanted = (metric) => metric.startsWith('host/') || metric.startsWith('gpu/');
  const curves = new Curves({runs: [node], rank, query, signal, isWanted, hidesEmpty: true});
  await curves.find();
  if (!curves.count) return none;
  const out = curves.node(`${node.host} during ${node.name}, by rank ${number(rank)}`);
  await curves.load();
  return out;
};

const oneHost = async (nodes, query, signal) => {
  const [node] = nodes;
  return [checkTable(node), await hostCharts(node, query, signal)];
};

export const showNodes = async ({query}, main, signal) => {
  const [run, host] = [query.get('run'), query.get('host')];
  const {nodes, total, limit} = await get('api/nodes', {run}, signal);
  const shown = host ? nodes.filter((node) => node.host === host) : nodes;
  main.replaceChildren(
    el('h1', {},
      host ? `Node ${host}` : run ? 'Nodes of ' : 'Nodes',
      run && !host ? linkTo(`run/${encodeURIComponent(run)}`, run) : ''),
    shown.length ? '' : el('p', {class: 'quiet'}, 'No run has had a rank here.'),
    shown.length && !host ? hostTable(shown) : '',
    shown.length ? section('Runs', useTable(shown)) : '',
    total > limit ? el('p', {class: 'quiet'}, `Of the newest ${limit} of ${total} runs.`) : '');
  if (host && shown.length) main.append(...await oneHost(shown, query, signal));
};
