// What has happened to a run: its annotations, and what its controller did.
import {el, section, table, time} from '../base/view.js';

const MOST_ROWS = 1000;

/** That a list of the run has only its newest rows. */
const cutText = (rows) =>
  (rows.length >= MOST_ROWS ? el('p', {class: 'quiet'}, `The newest ${MOST_ROWS}; the API has all.`) : '');

const annotations = (run) => {
  if (!run.annotations.length) return '';
  return section('Annotations',
    cutText(run.annotations),
    table('Annotations',
      [{title: 'Time (UTC)', time: true}, {title: 'Rank', number: true}, {title: 'Severity'}, {title: 'Text'}],
      run.annotations.map((note) => [time(note.time), note.rank, note.severity, note.text])));
};

const controller = (run) => {
  if (!run.events.length) return '';
  return section('Controller',
    cutText(run.events),
    el('pre', {tabindex: 0, 'aria-label': 'Controller'},
      run.events.map((event) => `${time(event.time)} ${event.level}  ${event.text}\n`)));
};

export const eventsView = (run) => [annotations(run), controller(run)];
