// Light, dark, or as the system has it: the viewer's choice, which the browser keeps.
import {keep, kept} from './kept.js';
import {el} from './view.js';

/** [value, text] of each theme. */
export const THEMES = [['', 'As the system'], ['light', 'Light'], ['dark', 'Dark']];

const ofSystem = matchMedia('(prefers-color-scheme: dark)');

class Theme extends EventTarget {
  constructor() {
    super();
    this.#apply(kept('theme'));
    ofSystem.addEventListener('change', () => this.dispatchEvent(new Event('change')));
  }

  /** '' (as the system), 'light' or 'dark'. */
  get chosen() { return document.documentElement.dataset.theme ?? ''; }

  choose(choice) {
    keep('theme', choice);
    this.#apply(choice);
    this.dispatchEvent(new Event('change'));
  }

  /** Whether the page is dark. */
  get matches() { return this.chosen ? this.chosen === 'dark' : ofSystem.matches; }

  #apply(choice) {
    if (choice) document.documentElement.dataset.theme = choice;
    else delete document.documentElement.dataset.theme;
  }
}

/** `matches` says whether the page is dark; the event `change` that it has another theme. */
export const theme = new Theme();

/** A switch between the themes. */
export const themeSwitch = () => {
  const select = el('select', {name: 'theme', onchange: (event) => theme.choose(event.target.value)},
    THEMES.map(([value, text]) => el('option', {value}, text)));
  const show = () => { select.value = theme.chosen; };
  show();
  theme.addEventListener('change', show);
  return el('label', {class: 'inline'}, 'Theme', select);
};
