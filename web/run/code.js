// The code of a run as it was: its script and modules, and how its repository differed from the commit.
import {get, runPath} from '../server/api.js';
import {diffView} from './diff.js';
import {el, section} from '../base/view.js';

const FEW = 2;

const titleOf = (source) => (source.kind === 'diff' ? 'git diff' : source.path);

const sourceView = (source, at) => el('details', {open: at < FEW},
  el('summary', {}, titleOf(source)),
  source.kind === 'diff'
    ? diffView(source.text)
    : el('pre', {tabindex: 0, 'aria-label': titleOf(source)}, source.text));

export const showCode = async ({run}, box, signal) => {
  const {sources} = await get(`${runPath(run.name)}/sources`, {}, signal);
  box.replaceChildren(sources.length
    ? section('Code', sources.map(sourceView))
    : el('p', {class: 'empty'}, 'The run has kept no code.'));
};
