// The keys of all pages, and the list of them. Keys without Ctrl can be turned off: people who speak to it use none.
import {openCommands} from './commands.js';
import {keep, kept} from './base/kept.js';
import {el, everyOf} from './base/view.js';

const TYPED = 'textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=range])';
const LIST = 'main tbody tr';

const isSeen = (node) => node.getClientRects().length > 0;

/** Focuses the link of the next or previous row of the page's lists. */
const moveInList = (by) => {
  const links = everyOf(LIST).map((row) => row.querySelector('a[href]'))
    .filter((link) => link && isSeen(link));
  const at = links.findIndex((link) => link.closest('tr').contains(document.activeElement));
  const next = links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.closest('tr').scrollIntoView({block: 'nearest'});
};

const search = () => {
  const fields = everyOf('main input[type=search], main form input, main input');
  const field = fields.find((input) => input.matches(TYPED) && isSeen(input));
  if (!field) return openCommands();
  field.focus();
  return field.select();
};

/** Opens the tab before or after the one that is shown. */
const turnTab = (by) => {
  const tabs = everyOf('[role=tab]');
  const at = tabs.findIndex((tab) => tab.getAttribute('aria-selected') === 'true');
  tabs[(at + by + tabs.length) % tabs.length]?.click();
};

const choose = () => everyOf('tr:focus-within input[type=checkbox]')[0]?.click();

/** The links of the header that have keys: [keys, text, act]. */
const pages = () => everyOf('nav [aria-keyshortcuts]').map((link) =>
  [link.getAttribute('aria-keyshortcuts').toLowerCase(), `Page ${link.textContent}`, () => link.click()]);

const LETTERS = [
  ['?', 'This list', () => listKeys()],
  ['/', 'Search in this page', search],
  ['j', 'Next row of a list', () => moveInList(1)],
  ['k', 'Previous row of a list', () => moveInList(-1)],
  ['x', 'Choose the row, to compare it', choose],
  ['[', 'Previous tab of a run', () => turnTab(-1)],
  [']', 'Next tab of a run', () => turnTab(1)],
];
const OTHERS = [
  ['Ctrl k', 'Go to a page, run or metric'],
  ['Enter', 'Open the link of a row, the tab'],
  ['← → Home End', 'Tabs: move. Charts: read values'],
  ['+ −', 'Charts: show a smaller or larger part'],
  ['Escape', 'Charts: show all. Dialogs: close'],
];

const areOff = () => kept('keys') === 'off';

const listKeys = () => {
  const row = ([keys, text]) => el('tr', {},
    el('td', {}, keys.split(' ').map((key) => [el('kbd', {}, key), ' '])), el('td', {}, text));
  const dialog = el('dialog', {class: 'keys', 'aria-labelledby': 'keys-title'},
    el('h2', {id: 'keys-title'}, 'Keys'),
    el('table', {}, el('tbody', {}, [...LETTERS, ...pages(), ...OTHERS].map(row))),
    el('label', {class: 'inline'},
      el('input', {type: 'checkbox', name: 'letters', checked: !areOff(), onchange: (event) => {
        keep('keys', event.target.checked ? '' : 'off');
      }}),
      'Keys without Ctrl'),
    el('form', {method: 'dialog', class: 'bar'}, el('button', {autofocus: true}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
};

let before = '';

const press = (event) => {
  if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
  if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
    event.preventDefault();
    openCommands();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || areOff() || event.target.closest?.(TYPED)) return;
  const keys = before ? `${before} ${event.key}` : event.key;
  before = '';
  const all = [...LETTERS, ...pages()];
  const found = all.find(([each]) => each === keys);
  if (found) {
    event.preventDefault();
    found[2]();
  } else if (all.some(([each]) => each.startsWith(`${keys} `))) {
    before = keys;
  }
};

/** A button with the list of keys; listens to the keys of the page. */
export const keysButton = () => {
  document.addEventListener('keydown', press);
  return el('button', {type: 'button', 'aria-label': 'Keys', title: 'Keys (?)', onclick: listKeys}, '?');
};
