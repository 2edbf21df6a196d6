// The output of the workers, followed live: all ranks in the order of time.
import {follow, runPath} from './api.js';
import {el, later, section, time} from './view.js';

const MOST_LINES = 3000;

export const logView = (run, {rank, attempt} = {}, signal) => {
  const text = el('pre', {class: 'log', tabindex: 0, role: 'log', 'aria-label': 'Output', 'aria-live': 'off'});
  const state = el('span', {class: 'quiet', role: 'status'}, 'waiting for lines');
  let stop = () => {};
  const add = (lines) => {
    const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
    text.append(...lines.map((line) => el('span', {},
      el('span', {class: 'rank'}, `${line.time ? line.time.slice(11, 23) : ''} [rank ${line.rank}] `),
      `${line.line}\n`)));
    while (text.childNodes.length > MOST_LINES) text.firstChild.remove();
    if (atEnd) text.scrollTop = text.scrollHeight;
    state.textContent = 'live';
  };
  const begin = (contains) => {
    stop();
    text.replaceChildren();
    stop = follow(`${runPath(run)}/logs/events`, {rank, attempt, contains, tail: 500}, {
      lines: add,
      end: ({stored_at: storedAt}) => {
        stop();
        const ended = text.childNodes.length ? 'the run has ended' : 'nothing was printed';
        state.textContent = storedAt ? `the last lines as of ${time(storedAt)} UTC` : ended;
      },
    }, signal);
  };
  const filter = later(250, begin);
  begin('');
  return section(
    rank === undefined ? 'Output of all ranks' : 'Output',
    el('div', {class: 'bar'},
      el('label', {}, 'Lines with',
        el('input', {name: 'contains', size: 24, oninput: (event) => filter(event.target.value)})),
      state),
    text);
};
