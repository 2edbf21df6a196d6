// Lists of the runs of a page without a server, filtered, sorted and grouped as a server would do it. `answerOf(path,
// query)` gives a stored answer.
import {eachMetric, metricAt} from '../base/metrics.js';
import {flattened} from '../base/view.js';

export const pageOf = (name, rows, {offset = 0, limit = 100}) => ({
  [name]: rows.slice(offset, offset + limit), total: rows.length, offset, limit,
});

const curveOf = (answerOf, run, name) => answerOf(`api/runs/${run.name}/curve`, {name, rank: 0});

const extremeOf = (answerOf, run, which, metric) => {
  const curve = curveOf(answerOf, run, metric);
  const values = (which === 'max' ? curve?.max ?? curve?.min : curve?.min)?.filter((value) => value !== null) ?? [];
  if (!values.length) return undefined;
  if (which === 'last') return (curve.mean ?? curve.min).findLast((value) => value !== null);
  return values.reduce((a, b) => (which === 'max' ? Math.max(a, b) : Math.min(a, b)));
};

const valueOf = (answerOf, run, key) => {
  const [first, ...parts] = key.split('.');
  const extreme = /^(min|max|last)\((.*)\)$/s.exec(key);
  if (extreme) return extremeOf(answerOf, run, extreme[1], extreme[2]);
  const details = () => answerOf(`api/runs/${run.name}`) ?? {};
  if (key === 'note') return details().note;
  if (key === 'hostname' || key === 'git_commit') return details().environment?.[key];
  return run[key] ?? metricAt(run.metrics, key)
    ?? (first === 'config' ? parts.reduce((value, part) => value?.[part], run.config) : undefined);
};

/** Sorts missing values last, as the server does. `of(item)`: the value to sort by. */
const sorted = (items, isDescending, of) => {
  const sign = isDescending ? -1 : 1;
  const known = items.filter((item) => (of(item) ?? null) !== null);
  known.sort((a, b) => {
    const [first, second] = [of(a), of(b)];
    return first < second ? -sign : first > second ? sign : 0;
  });
  return [...known, ...items.filter((item) => !known.includes(item))];
};

const matching = (answerOf, query) => {
  const tags = [query.tag ?? []].flat().filter(Boolean);
  const states = [query.status ?? []].flat().filter(Boolean);
  const words = `${query.text ?? ''}`.toLowerCase().split(' ').filter(Boolean);
  const textOf = (run) =>
    [run.name, ...run.tags, JSON.stringify(run.config), valueOf(answerOf, run, 'note')].join('\n').toLowerCase();
  const values = query.value ?? [];
  return answerOf('api/runs').filter((run) => tags.every((tag) => run.tags.includes(tag))
    && (!states.length || states.includes(run.status))
    && (!words.length || words.every((word) => textOf(run).includes(word)))
    && values.every((value, at) => JSON.stringify(valueOf(answerOf, run, query.key[at]) ?? null) === value));
};

/** The answer of /api/runs. */
export const runsOf = (answerOf, query) => {
  const key = query.sort?.replace(/^-/, '');
  const found = matching(answerOf, query);
  const page = pageOf('runs',
    key ? sorted(found, query.sort.startsWith('-'), (run) => valueOf(answerOf, run, key)) : found, query);
  const sparkOf = (run) => {
    const curve = curveOf(answerOf, run, query.spark);
    return curve?.mean ?? curve?.min ?? [];
  };
  return {...page, runs: page.runs.map((run) => ({
    ...run, ...query.spark?.length && {spark: sparkOf(run)},
    cells: (query.column ?? []).map((column) => valueOf(answerOf, run, column) ?? null),
  }))};
};

const cellOf = (values) => {
  if (values.every((value) => JSON.stringify(value) === JSON.stringify(values[0]))) return {value: values[0]};
  const numbers = values.filter((value) => typeof value === 'number');
  if (!numbers.length) return {};
  const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return {mean, deviation: Math.sqrt(squares / Math.max(1, numbers.length - 1)), count: numbers.length};
};

/** The answer of /api/groups. */
export const groupsOf = (answerOf, query) => {
  const {key: keys, column: columns = [], sort = ''} = query;
  const valuesOf = (run) => keys.map((key) => valueOf(answerOf, run, key) ?? null);
  const groups = [...Map.groupBy(matching(answerOf, query), (run) => JSON.stringify(valuesOf(run))).values()]
    .map((runs) => ({
      values: valuesOf(runs[0]), runs: runs.length, members: runs.slice(0, 20),
      cells: columns.map((column) => cellOf(runs.map((run) => valueOf(answerOf, run, column) ?? null))),
    }));
  const by = sort.replace(/^-/, '');
  const placeOf = (group) => {
    if (by === 'runs') return group.runs;
    const cell = group.cells[columns.indexOf(by)];
    return keys.includes(by) ? group.values[keys.indexOf(by)] : cell?.mean ?? cell?.value;
  };
  return pageOf('groups', by ? sorted(groups, sort.startsWith('-'), placeOf) : groups, query);
};

/** The answer of /api/columns. */
export const columnsOf = (answerOf) => {
  const runs = answerOf('api/runs');
  const all = (namesOf) => [...new Set(runs.flatMap(namesOf))].sort();
  return {
    own: [], reported: all((run) => eachMetric(run.metrics).map(([name]) => name)),
    logged: all((run) => answerOf(`api/runs/${run.name}/curves`)?.logged ?? []),
    config: all((run) => Object.keys(flattened(run.config, 'config'))),
  };
};
