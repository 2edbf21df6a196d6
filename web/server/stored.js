// The stored answers in a page without a server (`rtrain export --html`), selected as a server would do it.
import {LISTS} from './curvelists.js';
import {columnsOf, groupsOf, pageOf, runsOf} from './storedlist.js';

const box = document.getElementById('stored');
const stored = box ? JSON.parse(box.textContent) : undefined;

/** When the page was made; undefined if there is a server. */
export const storedAt = stored?.made_at;

const answerOf = (path, query = {}) =>
  stored.answers[[path, ...Object.entries(query).map(([name, value]) => `${name}=${value}`)].join('\n')];

const tags = (query) => pageOf('tags',
  [...Map.groupBy(answerOf('api/runs').flatMap((run) => run.tags.map((tag) => ({tag, run}))), ({tag}) => tag)]
    .map(([tag, uses]) => ({tag, runs: uses.length, started_at: uses.map(({run}) => run.started_at).sort().at(-1)})),
  query);

const nodes = ({run, ...query}) => pageOf('nodes', answerOf('api/runs').filter((each) => !run || each.name === run)
  .flatMap(({name}) => answerOf('api/nodes', {run: name}).nodes), query);

/** The parts within the steps. The stored curve has a single resolution, so a zoom gets no finer parts. */
const curve = (path, {name, rank = 0, from, to, logged}) => {
  const whole = answerOf(path, logged ? {name, rank, logged: 1} : {name, rank});
  if (!whole) return {name, rank, total: 0, steps: [], times: [], min: [], nonfinite: [], is_omitted: true};
  if (from === undefined) return whole;
  const isIn = (step, at) => (whole.steps[at + 1] ?? Infinity) > from && step <= to;
  const places = [...whole.steps.keys()].filter((at) => isIn(whole.steps[at], at));
  const lists = LISTS.filter((list) => whole[list]).map((list) => [list, places.map((at) => whole[list][at])]);
  return {...whole, ...Object.fromEntries(lists)};
};

/** Those of the histograms of a name and rank whose contents the file has. */
const histograms = (path, {name, rank}) => {
  const rows = (answerOf(path) ?? [])
    .filter((row) => row.kind === 'histogram' && row.name === name && row.rank === rank);
  const stored = rows.map(({step, hash}) => ({step, ...answerOf(`${path}/content`, {hash})}));
  return {histograms: stored.filter(({counts}) => counts), total: rows.length};
};

/** The answer to a GET of the path; undefined if the file does not contain it. */
export const storedAnswer = (coded, query) => {
  const path = decodeURIComponent(coded);
  if (path === 'api/') return {may_write: false};
  if (path === 'api/runs') return runsOf(answerOf, query);
  if (path === 'api/groups') return groupsOf(answerOf, query);
  if (path === 'api/columns') return columnsOf(answerOf);
  if (path === 'api/views') return answerOf(path) ?? {views: []};
  if (path === 'api/tags') return tags(query);
  if (path === 'api/nodes') return nodes(query);
  if (path.endsWith('/curve')) return curve(path, query);
  if (path.endsWith('/media')) return pageOf('media', answerOf(path) ?? [], query);
  if (path.endsWith('/media/histograms')) return histograms(path.replace(/\/histograms$/, ''), query);
  if (path.endsWith('/memory')) return answerOf(path, query) ?? {profile: null};
  if (path.endsWith('/flame')) return answerOf(path, query) ?? {flame: null};
  return answerOf(path, query);
};

/** The last lines, with which the path's stream of lines would begin. */
export const storedLines = (coded, {rank, attempt, contains = '', tail = 100}) =>
  (answerOf(decodeURIComponent(coded).replace(/\/events$/, ''))?.lines ?? [])
    .filter((line) =>
      (rank ?? line.rank) === line.rank && (attempt ?? line.attempt) === line.attempt && line.line.includes(contains))
    .slice(-tail);
