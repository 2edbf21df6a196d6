// Why a run failed: the message of its error, and the line of the script that it names.
import {get, runPath} from '../server/api.js';
import {el, errorText} from '../base/view.js';

const AROUND = 3;
const PLACE = /([^\s:'"()[\]]+):(\d+):/g;

/** The source with that file. Lua cuts the beginning of a long path, and puts … as three points there. */
const sourceOf = (file, sources) => {
  const end = file.replace(/^\.\.\./, '').replace(/^\.\//, '');
  return sources.find(({kind, path}) => kind !== 'diff' && (path === end || path.endsWith(`/${end}`)
    || end.endsWith(`/${path}`) || (file.startsWith('...') && path.endsWith(end))));
};

/** The first place in a text that is a line of a source: {path, line, lines}. */
const placeIn = (text, sources) => {
  for (const [, file, number] of text.matchAll(PLACE)) {
    const source = sourceOf(file, sources);
    const lines = source?.text.split('\n') ?? [];
    const line = Number(number);
    if (line >= 1 && line <= lines.length) return {path: source.path, line, lines};
  }
  return undefined;
};

const linesView = ({path, line, lines}) => {
  const from = Math.max(1, line - AROUND);
  const shown = lines.slice(from - 1, line + AROUND);
  const width = String(from + shown.length).length;
  return el('figure', {class: 'lines'},
    el('figcaption', {}, `${path}, line ${line}`),
    el('pre', {tabindex: 0, 'aria-label': `Lines ${from} to ${from + shown.length - 1} of ${path}`},
      shown.map((text, at) => {
        const number = from + at;
        const isIt = number === line;
        return el('span', {class: isIt ? 'here' : undefined},
          el('span', {class: 'rank'}, `${isIt ? '▶' : ' '} ${String(number).padStart(width)}  `), `${text}\n`);
      })));
};

/** Empty for a run without an error. */
export const failureView = async (run, signal) => {
  const message = errorText(run.error);
  if (!message) return '';
  const {sources} = await get(`${runPath(run.name)}/sources`, {}, signal);
  const place = placeIn(`${message}\n${run.error.traceback ?? ''}`, sources);
  return el('section', {class: 'failure', 'aria-label': 'Why the run failed'},
    el('p', {class: 'error', role: 'alert'}, message),
    place ? linesView(place) : '');
};
