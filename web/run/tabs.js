// A list of tabs over one panel, each with an address of its own. Keys as in the ARIA pattern: the arrows, Home and End
// move the focus, Enter and the space bar open a tab.
import {el} from '../base/view.js';

const MOVES = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (at, count) => count - 1,
};

export class Tabs {
  #tabs;

  /** tabs: {key, title, href}. */
  constructor(label, tabs) {
    this.#tabs = tabs.map(({key, title, href}) => ({key, node: el('a', {
      role: 'tab', id: `tab-${key}`, href, 'aria-controls': 'panel', tabindex: -1,
    }, title)}));
    this.node = el('div', {class: 'tabs', role: 'tablist', 'aria-label': label}, this.#tabs.map(({node}) => node));
    this.node.addEventListener('keydown', (event) => this.#press(event));
    this.panel = el('div', {role: 'tabpanel', id: 'panel', tabindex: 0});
  }

  /** Marks the tab whose panel is shown. */
  select(key) {
    for (const tab of this.#tabs) {
      const isShown = tab.key === key;
      tab.node.setAttribute('aria-selected', isShown);
      tab.node.tabIndex = isShown ? 0 : -1;
    }
    this.panel.setAttribute('aria-labelledby', `tab-${key}`);
  }

  #press(event) {
    const at = this.#tabs.findIndex(({node}) => node === document.activeElement);
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in MOVES) this.#tabs[MOVES[event.key](at, this.#tabs.length)].node.focus();
    else if (event.key === ' ') this.#tabs[at].node.click();
    else return;
    event.preventDefault();
  }
}
