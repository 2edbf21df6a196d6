// A report: a text in Markdown with the charts of saved views. Its text is part of the address, so that it is saved as
// a view is, next to the runs, and `rtrain export --html` has it.
import {mayWrite} from '../server/actions.js';
import {get} from '../server/api.js';
import {Curves} from '../chart/curves.js';
import {markdown} from '../base/markdown.js';
import {placeOf, setQuery} from '../base/place.js';
import {el, later, linkTo} from '../base/view.js';
import {ViewsBar} from './views.js';
import {shownRuns} from './workspace.js';

const EXAMPLE = `# What we found

Write here in *Markdown*. A line with the name of a saved view shows its charts; the text in brackets chooses metrics:

![loss](view:NAME OF A VIEW)`;

/** The charts of a view, of the metrics with that part in their names. */
const chartsOf = async (part, view, signal) => {
  const place = placeOf(`#/${view.address}`);
  const runs = await shownRuns(place.query, signal);
  const query = new URLSearchParams(place.query);
  const curves = new Curves({
    runs, query, signal, isCompared: true, isWanted: (name) => name.includes(part.trim()),
  });
  await curves.find();
  await curves.load();
  return [el('p', {class: 'quiet'}, linkTo(view.address, view.name)), ...curves.charts];
};

const picture = (views, signal) => (part, name) => {
  const box = el('div', {class: 'embedded'}, el('p', {class: 'quiet'}, `Charts of ${name}…`));
  const view = views.find((each) => each.name === name);
  const say = (text) => box.replaceChildren(el('p', {class: 'error'}, text));
  if (!view || view.address.startsWith('report')) {
    say(`There is no view “${name}”: save one on the page Runs.`);
  } else {
    chartsOf(part, view, signal).then((nodes) => box.replaceChildren(...nodes), (error) => {
      if (error.name !== 'AbortError') say(error.message);
    });
  }
  return box;
};

export const showReport = async ({query}, main, signal) => {
  const writes = await mayWrite();
  const {views} = await get('api/views', {}, signal);
  const bar = new ViewsBar(signal);
  const shown = el('article', {class: 'report'});
  let drawing = new AbortController();
  const draw = () => {
    drawing.abort();
    drawing = new AbortController();
    signal.addEventListener('abort', () => drawing.abort(), {once: true});
    shown.replaceChildren(...markdown(query.get('text') ?? EXAMPLE, picture(views, drawing.signal)));
  };
  const change = later(400, (text) => {
    query.set('text', text);
    setQuery({text});
    draw();
  });
  const editor = el('details', {class: 'editor', open: writes && !query.has('text')},
    el('summary', {}, 'Text'),
    el('label', {}, 'Markdown',
      el('textarea', {name: 'text', rows: 14, oninput: (event) => change(event.target.value)},
        query.get('text') ?? EXAMPLE)),
    el('p', {class: 'quiet'},
      views.length ? `Views: ${views.map(({name}) => name).join(', ')}` : 'No views are saved.'));
  main.replaceChildren(
    el('div', {class: 'title'}, el('h1', {}, 'Report'), bar.node), editor, shown);
  draw();
  await bar.load(writes);
};
