// The dialog in which a viewer chooses the columns of the table of runs, their order and which of them stay in sight.
import {columnOf, OWN_KEYS} from './columns.js';
import {briefName, el, keepingFocus} from '../base/view.js';

const MOST = 200;

/** [{title, names: [{key, title}]}] of what can be chosen. */
const offered = ({reported, logged, config}) => {
  const extremes = (names, kinds) => names.flatMap((name) => kinds.map((kind) => (kind
    ? {key: `${kind}(${name})`, title: `${name} ${kind}`}
    : {key: name, title: name})));
  const onlyLogged = logged.filter((name) => !reported.includes(name));
  return [
    {title: 'Run', names: OWN_KEYS.map((key) => ({key, title: columnOf(key).title}))},
    {title: 'Config', names: config.map((key) => ({key, title: key.slice('config.'.length)}))},
    {title: 'Reported', names: extremes(reported, ['', 'min', 'max'])},
    {title: 'Logged', names: extremes(onlyLogged, ['last', 'min', 'max'])},
  ];
};

/** Opens the dialog. keys, pinned: what is chosen now; names: as /api/columns answers. change(keys, pinned) is called
    after each change. */
export const chooseColumns = ({keys, pinned, names, change, reset}) => {
  let part = '';
  const chosen = [...keys];
  const fixed = new Set(pinned);
  const box = el('div', {class: 'chooser'});
  const set = () => {
    change([...chosen], [...fixed].filter((key) => chosen.includes(key)));
    keepingFocus(box, draw);
  };
  const move = (at, by) => {
    chosen.splice(at + by, 0, chosen.splice(at, 1)[0]);
    set();
  };
  const chosenRow = (key, at) => {
    const title = briefName(columnOf(key).title, 40);
    const button = (text, label, click, disabled = false) =>
      el('button', {type: 'button', 'aria-label': `${label} ${title}`, title: label, disabled, onclick: click}, text);
    return el('li', {},
      el('span', {class: 'grow'}, title),
      el('label', {class: 'inline'},
        el('input', {
          type: 'checkbox', 'aria-label': `Keep ${title} in sight`, checked: fixed.has(key), onchange: () => {
            if (!fixed.delete(key)) fixed.add(key);
            set();
          },
        }), 'pinned'),
      button('↑', 'Move up', () => move(at, -1), at === 0),
      button('↓', 'Move down', () => move(at, 1), at === chosen.length - 1),
      button('×', 'Remove', () => {
        chosen.splice(at, 1);
        set();
      }));
  };
  const offer = ({title, names: all}) => {
    const found = all.filter(({key, title: each}) => !chosen.includes(key) && each.toLowerCase().includes(part));
    if (!found.length) return '';
    return el('section', {'aria-label': title}, el('h3', {}, title),
      el('div', {class: 'offers'}, found.slice(0, MOST).map(({key, title: each}) =>
        el('button', {type: 'button', title: each, data: {key}, 'aria-label': `Add ${each}`, onclick: () => {
          chosen.push(key);
          set();
        }}, `+ ${briefName(each, 40)}`))),
      found.length > MOST ? el('p', {class: 'quiet'}, `The first ${MOST} of ${found.length}: search for others.`) : '');
  };
  const draw = () => box.replaceChildren(
    el('section', {'aria-label': 'Chosen columns'}, el('h3', {}, 'Shown'), el('ol', {}, chosen.map(chosenRow))),
    el('div', {}, offered(names).map(offer)));
  const dialog = el('dialog', {class: 'wide-dialog', 'aria-label': 'Columns'},
    el('div', {class: 'bar'},
      el('h2', {class: 'grow'}, 'Columns'),
      el('button', {type: 'button', onclick: () => {
        reset();
        dialog.close();
      }}, 'The usual ones'),
      el('button', {type: 'button', onclick: () => dialog.close()}, 'Done')),
    el('label', {}, 'Search', el('input', {type: 'search', name: 'column', oninput: (event) => {
      part = event.target.value.trim().toLowerCase();
      draw();
    }})),
    box);
  dialog.addEventListener('close', () => dialog.remove());
  draw();
  document.body.append(dialog);
  dialog.showModal();
};
