// Goes to a page, a run, a part or metric of the run in sight, or another theme, by some letters of its name (Ctrl-K).
import {get, runPath} from './server/api.js';
import {placeOf} from './base/place.js';
import {THEMES, theme} from './base/theme.js';
import {brief, briefName, el, everyOf, later} from './base/view.js';

const MOST = 30;
const MOST_RUNS = 20;

const goTo = (hash) => () => { location.hash = hash; };

const pages = () => everyOf('nav a').map((link) =>
  ({kind: 'Page', text: link.textContent, act: goTo(link.hash)}));

const tabs = () => everyOf('[role=tab]').map((tab) =>
  ({kind: 'Tab', text: tab.textContent, act: goTo(tab.hash)}));

const themes = () => THEMES.map(([value, text]) =>
  ({kind: 'Theme', text, act: () => theme.choose(value)}));

/** The runs with that part in their names, the newest first. A file without a server has few: all of them. */
const runs = async (part, signal) => {
  const quoted = part.toLowerCase().replaceAll("'", "''");
  const where = part ? `instr(lower(name), '${quoted}') > 0` : undefined;
  const {runs: rows} = await get('api/runs', {where, limit: MOST_RUNS}, signal);
  return rows.map(({name}) => ({kind: 'Run', text: name, act: goTo(`#/run/${encodeURIComponent(name)}`)}));
};

/** The metrics of the run in sight. */
const metrics = async (signal) => {
  const {parts: [page, name]} = placeOf(location.hash);
  if (page !== 'run' || !name) return [];
  const {names} = await get(`${runPath(name)}/curves`, {}, signal);
  return names.map((metric) => ({
    kind: 'Metric', text: metric,
    act: goTo(`#/run/${encodeURIComponent(name)}/charts?metrics=${encodeURIComponent(metric)}`),
  }));
};

/** Whether all words are in the text, in any order. */
const has = (text, words) => words.every((word) => text.toLowerCase().includes(word));

class Commands {
  #ended = new AbortController();
  #known = [...pages(), ...tabs(), ...themes()];
  #runs = [];
  #shown = [];
  #at = 0;
  #list = el('ul', {role: 'listbox', id: 'commands-list', 'aria-label': 'Found'});
  #said = el('p', {class: 'quiet', role: 'status'});
  #input = el('input', {
    type: 'search', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'commands-list', autofocus: true,
    'aria-autocomplete': 'list', 'aria-label': 'Page, run, metric or theme', placeholder: 'Page, run, metric …',
    autocomplete: 'off', spellcheck: 'false',
  });

  constructor() {
    this.node = el('dialog', {class: 'commands', 'aria-label': 'Go to'}, this.#input, this.#list, this.#said);
    this.node.addEventListener('close', () => {
      this.#ended.abort();
      this.node.remove();
    });
    const ask = later(120, () => this.#ask());
    this.#input.addEventListener('input', () => {
      this.#arrange();
      ask();
    });
    this.#input.addEventListener('keydown', (event) => this.#press(event));
    this.#list.addEventListener('click', ({target}) => {
      const at = [...this.#list.children].indexOf(target.closest('[role=option]'));
      if (at >= 0) this.#act(at);
    });
  }

  open() {
    document.body.append(this.node);
    this.node.showModal();
    this.#arrange();
    this.#ask();
    metrics(this.#ended.signal).then((found) => {
      this.#known.push(...found);
      this.#arrange();
    }).catch(() => {});
  }

  async #ask() {
    const part = this.#input.value.trim();
    try {
      const found = await runs(part, this.#ended.signal);
      if (part !== this.#input.value.trim()) return;
      this.#runs = found;
      this.#arrange();
    } catch { /* the next letter asks again */ }
  }

  #arrange() {
    const words = this.#input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...this.#known, ...this.#runs].filter(({kind, text}) => has(`${kind} ${text}`, words));
    this.#shown = all.slice(0, MOST);
    this.#at = Math.min(this.#at, Math.max(0, this.#shown.length - 1));
    this.#list.replaceChildren(...this.#shown.map(({kind, text}, at) =>
      el('li', {role: 'option', id: `command-${at}`, title: text === briefName(text) ? undefined : text},
        el('span', {class: 'quiet'}, kind), ' ', briefName(text))));
    this.#said.textContent = all.length ? `${this.#shown.length} of ${all.length}`
      : `Nothing has ${brief(this.#input.value)} in its name.`;
    this.#mark(this.#at);
  }

  #mark(at) {
    this.#at = at;
    [...this.#list.children].forEach((node, place) => node.setAttribute('aria-selected', place === at));
    const chosen = this.#list.children[at];
    if (!chosen) return this.#input.removeAttribute('aria-activedescendant');
    this.#input.setAttribute('aria-activedescendant', chosen.id);
    return chosen.scrollIntoView({block: 'nearest'});
  }

  #act(at) {
    const {act} = this.#shown[at];
    this.node.close();
    act();
  }

  #press(event) {
    const {length} = this.#shown;
    const moves = {ArrowDown: this.#at + 1, ArrowUp: this.#at - 1 + length};
    if (event.key in moves && length) this.#mark(moves[event.key] % length);
    else if (event.key === 'Enter' && length) this.#act(this.#at);
    else return;
    event.preventDefault();
  }
}

export const openCommands = () => new Commands().open();

export const commandsButton = () => el('button', {
  type: 'button', title: 'A page, run or metric (Ctrl-K)', 'aria-keyshortcuts': 'Control+k', onclick: openCommands,
}, 'Go to …');
