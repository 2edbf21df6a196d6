// The legend of charts that compare runs: a click hides the curves of a run or shows them again, a double click shows
// those of one run alone.
import {placeOfName, swatch} from './palette.js';
import {clipped, el} from '../base/view.js';

export const legend = (names, linked, signal) => {
  const buttons = names.map((name) => el('button', {
    type: 'button', 'aria-label': name, onclick: () => linked.toggle(name), ondblclick: () => linked.only(name, names),
    onpointerenter: () => linked.highlight(name), onpointerleave: () => linked.highlight(undefined),
  }, swatch(placeOfName(name)), clipped(name, 48)));
  const show = () => buttons.forEach((button, at) => button.setAttribute('aria-pressed', !linked.isHidden(names[at])));
  linked.addEventListener('curves', show, {signal});
  show();
  return el('ul', {class: 'legend', 'aria-label': 'Runs'}, buttons.map((button) => el('li', {}, button)));
};
