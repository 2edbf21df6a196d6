// The stacks of the ranks of a live run, at a click: the output of `rtrain stack`.
import {Outcome} from '../server/actions.js';
import {post, runPath} from '../server/api.js';
import {el, section} from '../base/view.js';

const textOf = ({ranks}) =>
  ranks.map((rank) => rank.text.trimEnd()).join('\n\n') || 'The run has no worker at the moment.';

/** Without a rank, shows all ranks. */
export const stackView = (run, rank) => {
  const outcome = new Outcome();
  const native = el('input', {type: 'checkbox', name: 'native'});
  const text = el('pre', {class: 'stack', tabindex: 0, hidden: true, 'aria-label': 'Stacks'});
  const ask = () => outcome.during('asking', async () => {
    const answer = await post(`${runPath(run.name)}/stack`, {rank, native: native.checked});
    text.textContent = textOf(answer);
    text.hidden = false;
    return `attempt ${answer.attempt}, ${answer.state}, ${new Date().toISOString().slice(11, 19)} UTC`;
  });
  return section('Where it is now',
    el('div', {class: 'bar'},
      el('button', {type: 'button', onclick: ask},
        rank === undefined ? 'Show the stacks of all ranks' : 'Show the stack'),
      el('label', {class: 'inline'}, native, 'with native frames'),
      outcome.node),
    text);
};
