// The attempts of a run on a time line, with their states and the reasons of their ends.
import {counting} from '../server/clock.js';
import {el, errorText, isOver, section, status, statusKind, table, time} from '../base/view.js';

const COLOURS = {good: 'var(--good)', bad: 'var(--bad)', warn: 'var(--warn)', live: 'var(--live)'};
const WIDTH = 1000;
const HEIGHT = 26;

const exitText = (worker) => {
  if (worker.signal !== null && worker.signal !== undefined) return `rank ${worker.rank} signal ${worker.signal}`;
  return worker.exit_code ? `rank ${worker.rank} exit ${worker.exit_code}` : '';
};

const causeText = (attempt) =>
  [errorText(attempt.error), attempt.workers.map(exitText).filter(Boolean).join(', ')].filter(Boolean).join('\n');

const picture = (attempts, from, to) => {
  const place = (at) => (at - from) / Math.max(1, to - from) * WIDTH;
  const bars = attempts.map((attempt, row) => {
    const begin = place(Date.parse(attempt.started_at));
    const end = place(attempt.ended_at ? Date.parse(attempt.ended_at) : to);
    const label = `attempt ${attempt.attempt} ${attempt.status}`;
    return el('g', {},
      el('title', {}, `${label} ${time(attempt.started_at)} ${causeText(attempt)}`),
      el('rect', {x: begin, y: row * HEIGHT + 3, width: Math.max(3, end - begin), height: HEIGHT - 8, rx: 3,
        fill: 'none', stroke: COLOURS[statusKind(attempt.status)], 'stroke-width': 2}),
      el('text', {x: Math.min(begin + 6, WIDTH - 150), y: row * HEIGHT + 17}, label));
  });
  return el('svg', {
    class: 'timeline', viewBox: `0 0 ${WIDTH} ${attempts.length * HEIGHT + 4}`, 'aria-hidden': 'true',
  }, bars);
};

export const timeline = (run) => {
  const {attempts} = run;
  if (!attempts.length) return section('Attempts', el('p', {class: 'quiet'}, 'None has begun.'));
  const from = Date.parse(run.started_at ?? attempts[0].started_at);
  const to = run.ended_at ? Date.parse(run.ended_at) : Date.now();
  const seconds = (attempt) =>
    ((attempt.ended_at ? Date.parse(attempt.ended_at) : to) - Date.parse(attempt.started_at)) / 1000;
  return section('Attempts',
    attempts.length <= 40 ? picture(attempts, from, to) : '',
    table('Attempts',
      [{title: 'Attempt', number: true}, {title: 'State'}, {title: 'Started (UTC)', time: true},
        {title: 'Took', number: true}, {title: 'Cause of its end', long: true}],
      attempts.map((attempt) => [attempt.attempt, status(attempt.status), time(attempt.started_at),
        counting(seconds(attempt), Boolean(attempt.ended_at) || isOver(run.status)),
        el('span', {class: causeText(attempt) ? 'error' : 'quiet'}, causeText(attempt) || '–')])));
};
