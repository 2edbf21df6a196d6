// The bar above the table of runs: search, SQL filter, groups; and the filters in force, each with a button to drop it.
import {completing} from './complete.js';
import {storedAt} from '../server/stored.js';
import {brief, el, later} from '../base/view.js';

/** The filters that can be the reason why no run is listed. */
export const FILTERS = ['text', 'where', 'tag', 'status'];

const groupChoice = (state, change, names) => {
  const select = el('select', {name: 'group', onchange: (event) => {
    if (event.target.value) state.set('group', [...state.by, event.target.value]);
    event.target.value = '';
    change();
  }}, el('option', {value: ''}, 'no groups'));
  const fill = async () => {
    const {config} = await names();
    const keys = [...config, 'status', 'hostname', 'git_commit', 'script', 'num_workers'];
    select.replaceChildren(el('option', {value: ''}, state.by.length ? 'another column' : 'no groups'),
      ...keys.filter((key) => !state.by.includes(key)).map((key) => el('option', {value: key}, brief(key, 60))));
  };
  select.addEventListener('pointerenter', fill);
  select.addEventListener('focus', fill);
  return el('label', {}, 'Group by', select);
};

/** change() is called after each change of the state; names(): what /api/columns answers. */
export const filterBar = (state, change, names, ...others) => {
  const set = (name, value) => {
    state.set(name, value);
    change();
  };
  const search = later(150, (text) => set('text', text));
  const where = el('input', {
    name: 'where', value: state.text('where'), size: 26, placeholder: 'loss < 0.3 AND config.lr > 0.01',
    onchange: (event) => set('where', event.target.value.trim()),
  });
  const columnNames = async () => {
    const {own, reported, config} = await names();
    return [...own, ...reported, ...config, 'tag'];
  };
  return el('form', {class: 'bar filters', onsubmit: (event) => event.preventDefault()},
    el('label', {}, 'Search', el('input', {
      type: 'search', name: 'text', value: state.text('text'), size: 22, placeholder: 'name, tag, config, note',
      oninput: (event) => search(event.target.value.trim()),
    })),
    storedAt ? '' : el('label', {}, 'Where', completing(where, columnNames)),
    groupChoice(state, change, names),
    storedAt ? '' : el('label', {class: 'inline'}, el('input', {
      type: 'checkbox', name: 'archived', checked: state.text('archived') === '1',
      onchange: (event) => set('archived', event.target.checked ? '1' : ''),
    }), 'archived'),
    others);
};

const CHIPS = [['tag', 'tag'], ['status', 'state'], ['group', 'by']];

/** A chip for each tag, state and group. */
export const filterChips = (state, change) => CHIPS.flatMap(([name, title]) => state.all(name).map((value) => {
  const drop = () => {
    state.set(name, state.all(name).filter((each) => each !== value));
    change();
  };
  const text = `${title} ${brief(value.replace(/^config\./, ''), 40)} ×`;
  return el('button', {type: 'button', class: 'chip', 'aria-label': `Drop ${title} ${value}`, onclick: drop}, text);
}));
