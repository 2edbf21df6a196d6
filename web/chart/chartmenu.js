// The buttons of a chart: one shows it on the whole window, one opens a menu with everything else.
import {saveCsv, savePng, saveSvg} from './download.js';
import {el} from '../base/view.js';

const icon = (d) => el('svg', {viewBox: '0 0 16 16', class: 'icon', 'aria-hidden': 'true'}, el('path', {d}));
const WHOLE = 'M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4';
const MORE = 'M3 8h.01M8 8h.01M13 8h.01';

/** Shows the chart in a dialog over the page, until Escape or the button closes it. */
const showWhole = (chart) => {
  const place = document.createComment('');
  const close = el('button', {type: 'button', class: 'plain', onclick: () => dialog.close()}, 'Close');
  const dialog = el('dialog', {class: 'whole', 'aria-label': chart.title, onclose: () => {
    place.replaceWith(chart.node);
    dialog.remove();
    chart.node.querySelector('canvas').focus({preventScroll: true});
  }}, el('div', {class: 'bar'}, close));
  chart.node.replaceWith(place);
  dialog.append(chart.node);
  document.body.append(dialog);
  dialog.showModal();
  chart.isSeen = true;
};

const rangeFields = (chart, change) => {
  const fields = ['from', 'to'].map((name, at) => el('label', {}, `y ${name}`, el('input', {
    type: 'number', step: 'any', name: `y-${name}`, value: chart.options.range[at] ?? '',
  })));
  const said = el('p', {class: 'error', role: 'alert'});
  const apply = (event) => {
    event.preventDefault();
    const [from, to] = fields.map(({lastChild: {value}}) => (value === '' ? undefined : Number(value)));
    const isTurned = from !== undefined && to !== undefined && from >= to;
    said.textContent = isTurned ? `${from} is not below ${to}.` : '';
    if (!isTurned) change(from === undefined && to === undefined ? [] : [from, to]);
  };
  return el('form', {onsubmit: apply}, el('div', {class: 'bar'}, fields, el('button', {}, 'Apply')), said);
};

/** actions: {isPinned(), pin(), move(by), setRange(range)}. */
export const addMenu = (chart, actions) => {
  const items = (list) => list.map(([text, call]) => el('button', {type: 'button', onclick: () => {
    menu.hidePopover();
    call();
  }}, text));
  const fill = () => menu.replaceChildren(
    ...items([
      [actions.isPinned() ? 'Take from the top' : 'Pin to the top', actions.pin],
      ['Move before', () => actions.move(-1)],
      ['Move after', () => actions.move(1)],
    ]),
    rangeFields(chart, (range) => {
      menu.hidePopover();
      actions.setRange(range);
    }),
    ...items([['Save as SVG', () => saveSvg(chart)], ['Save as PNG', () => savePng(chart)],
      ['Save as CSV', () => saveCsv(chart)]]));
  const open = el('button', {type: 'button', class: 'plain', 'aria-label': `Menu of ${chart.title}`}, icon(MORE));
  const menu = el('div', {popover: 'auto', class: 'menu', role: 'group', 'aria-label': `Menu of ${chart.title}`});
  open.addEventListener('click', () => {
    fill();
    open.after(menu);
    menu.showPopover();
    const at = open.getBoundingClientRect();
    const own = menu.getBoundingClientRect();
    menu.style.left = `${scrollX + Math.max(4, Math.min(at.right - own.width, innerWidth - own.width - 4))}px`;
    menu.style.top = `${scrollY + Math.max(4, Math.min(at.bottom + 4, innerHeight - own.height - 4))}px`;
    menu.querySelector('button').focus();
  });
  menu.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    if (menu.contains(document.activeElement)) open.focus();
    menu.remove();
  });
  const whole = el('button', {
    type: 'button', class: 'plain', 'aria-label': `Whole window: ${chart.title}`, onclick: () => {
      if (!chart.node.closest('dialog')) showWhole(chart);
    },
  }, icon(WHOLE));
  chart.tools.append(whole, open);
};
