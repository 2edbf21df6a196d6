// The search of the documentation. The index is a script of its own, which is loaded at the first search: pages of a
// folder may not fetch.
import {el} from '../base/view.js';

const MOST = 14;

/** @typedef {[title: string, address: string, kind: string, text: string]} Entry */

/** How well a word fits: 0 the name itself, then its beginning, the beginning of a part, within; undefined: not at all.
    @param {string} word
    @param {string} title
    @param {string} text */
const rankOf = (word, title, text) => {
  if (title === word || title.endsWith(`.${word}`) || title.endsWith(`:${word}`)) return 0;
  if (title.startsWith(word)) return 1;
  const at = title.indexOf(word);
  if (at >= 0) return /\w/.test(title[at - 1]) ? 3 : 2;
  return text.includes(word) ? 4 : undefined;
};

/** The entries that have all words, the best first.
    @param {Entry[]} entries
    @param {string} query
    @return {Entry[]} */
const found = (entries, query) => {
  const whole = query.trim().toLowerCase();
  const words = whole.split(/\s+/).filter(Boolean);
  const ranked = [];
  for (const entry of words.length ? entries : []) {
    const title = entry[0].toLowerCase();
    const ranks = words.map((word) => rankOf(word, title, entry[3].toLowerCase()));
    if (ranks.includes(undefined)) continue;
    const sum = ranks.reduce((all, rank) => all + rank, 0);
    ranked.push({entry, rank: title === whole ? -1 : sum});
  }
  return ranked.sort((a, b) => a.rank - b.rank || a.entry[0].length - b.entry[0].length).slice(0, MOST)
    .map(({entry}) => entry);
};

/** @type {Promise<Entry[]> | undefined} */
let loading;

/** Loads the index once. */
const entriesOf = (root) => {
  loading ??= new Promise((resolve) => {
    /** @return {Entry[]} */
    const entriesOn = ([address, entries]) => entries
      .map(([title, id, kind, text]) => [title, id ? `${address}#${id}` : address, kind, text]);
    const onload = () => resolve(globalThis.rtrainPages.flatMap(entriesOn));
    document.head.append(el('script', {src: `${root}search-index.js`, onload}));
  });
  return loading;
};

/** A field that searches the documentation as one types: arrows and Enter choose, Escape closes, "/" focuses it. */
export const searchField = () => {
  const root = document.documentElement.dataset.root;
  const list = el('div', {
    class: 'results', id: 'page-results', role: 'listbox', 'aria-label': 'Results', hidden: true,
  });
  const field = el('input', {
    type: 'search', placeholder: 'Search (/)', role: 'combobox', autocomplete: 'off', 'aria-label': 'Search',
    'aria-expanded': 'false', 'aria-controls': list.id, 'aria-autocomplete': 'list', 'aria-keyshortcuts': '/',
  });
  let chosen = 0;

  const optionOf = ([title, address, kind, text], at) => el('a', {
    href: root + address, role: 'option', id: `page-result-${at}`, tabindex: -1, 'aria-selected': 'false',
    onclick: close,
  }, title, el('small', {}, text ? `${kind}: ${text}` : kind));

  const choose = (at) => {
    const options = [...list.querySelectorAll('a')];
    chosen = Math.max(0, Math.min(options.length - 1, at));
    options.forEach((option, place) => option.setAttribute('aria-selected', String(place === chosen)));
    if (options.length) field.setAttribute('aria-activedescendant', options[chosen].id);
    else field.removeAttribute('aria-activedescendant');
    options[chosen]?.scrollIntoView({block: 'nearest'});
  };

  const show = (isOpen) => {
    list.hidden = !isOpen;
    field.setAttribute('aria-expanded', String(isOpen));
  };

  function close() { show(false); }

  const search = async () => {
    const entries = await entriesOf(root);
    const results = found(entries, field.value);
    if (results.length) list.replaceChildren(...results.map(optionOf));
    else list.replaceChildren(el('p', {}, 'Nothing has all of these words.'));
    choose(0);
    show(Boolean(field.value.trim()));
  };

  const keys = {
    ArrowDown: () => choose(chosen + 1),
    ArrowUp: () => choose(chosen - 1),
    Enter: () => list.querySelectorAll('a')[chosen]?.click(),
    Escape: () => { field.value = ''; close(); },
  };
  field.addEventListener('focus', () => entriesOf(root));
  field.addEventListener('input', search);
  field.addEventListener('keydown', (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  const box = el('search', {class: 'search'}, field, list);
  document.addEventListener('click', ({target}) => {
    if (!box.contains(/** @type {Node} */ (target))) close();
  });
  document.addEventListener('keydown', (event) => {
    const isTyped = document.activeElement.matches('input, select, textarea');
    if (event.key !== '/' || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
  return box;
};
