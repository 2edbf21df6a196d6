// The output of the workers, followed live: all ranks in the order of time.
import {coloured} from './ansi.js';
import {follow, runPath} from '../server/api.js';
import {el, later, section, time} from '../base/view.js';

const MOST_LINES = 3000;
const TAIL = 500;

export const logView = (run, {rank = undefined, attempt = undefined}, signal) => {
  const text = el('pre', {class: 'log', tabindex: 0, role: 'log', 'aria-label': 'Output', 'aria-live': 'off'});
  const state = el('span', {class: 'quiet', role: 'status'}, 'waiting for lines');
  let isCut = false;
  let stop = () => {};
  const say = (what) => {
    state.textContent = isCut ? `${what}; earlier lines are in each rank's output as text` : what;
  };
  const add = (lines) => {
    const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
    text.append(...lines.map((line) => el('span', {},
      el('span', {class: 'rank'}, `${line.time ? line.time.slice(11, 23) : ''} [rank ${line.rank}] `),
      coloured(line.line).map((part) => (part.classes ? el('span', {class: part.classes}, part.text) : part.text)),
      '\n')));
    isCut ||= lines.length >= TAIL || text.childNodes.length > MOST_LINES;
    while (text.childNodes.length > MOST_LINES) text.firstChild.remove();
    if (atEnd) text.scrollTop = text.scrollHeight;
    say('live');
  };
  const begin = (contains) => {
    stop();
    text.replaceChildren();
    stop = follow(`${runPath(run)}/logs/events`, {rank, attempt, contains, tail: TAIL}, {
      open: () => text.replaceChildren(), // after a break the last lines come again
      lines: add,
      end: ({stored_at: storedAt}) => {
        stop();
        const ended = text.childNodes.length ? 'the run has ended' : 'nothing was printed';
        if (storedAt) state.textContent = `the last lines as of ${time(storedAt)} UTC`;
        else say(ended);
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
