// What a viewer has chosen on the page of all runs: the query of the address. The layout of the table is remembered for
// the next visit without one.
import {FILTERS} from './filters.js';
import {keep, kept} from '../base/kept.js';
import {get, runPath} from '../server/api.js';
import {setQuery} from '../base/place.js';
import {groupName} from './runlist.js';

const FEW = 10;
const LAYOUT = ['col', 'pin', 'width', 'charts', 'few'];
const KEPT_AS = 'runs';

export class WorkspaceState {
  #query;

  constructor(query) { this.#query = query; }

  /** Takes the layout of the last visit if the address has none. */
  restoreLayout() {
    const query = this.#query;
    if (LAYOUT.some((name) => query.has(name))) return;
    const layout = new URLSearchParams(kept(KEPT_AS));
    for (const name of LAYOUT) if (layout.has(name)) this.#put(name, layout.getAll(name));
  }

  text(name) { return this.#query.get(name) ?? ''; }
  all(name) { return this.#query.getAll(name); }

  /** Sets a text or a list of texts, in the address too. */
  set(name, value) {
    this.#put(name, [value].flat().filter((each) => each !== ''));
    if (!LAYOUT.includes(name)) return;
    const layout = new URLSearchParams();
    for (const each of LAYOUT) for (const text of this.all(each)) layout.append(each, text);
    keep(KEPT_AS, layout.toString());
  }

  #put(name, values) {
    this.#query.delete(name);
    for (const value of values) this.#query.append(name, value);
    setQuery({[name]: values});
  }

  /** The filter, as queries of the server. */
  get filter() { return Object.fromEntries([...FILTERS, 'archived'].map((name) => [name, this.all(name)])); }

  /** The columns by whose values runs are in groups. */
  get by() { return this.all('group'); }
  get hasCharts() { return this.text('charts') !== '0'; }
  /** How many of the first runs have curves. */
  get few() { return Number(this.text('few')) || FEW; }

  keysOr(usual) { return this.#query.has('col') ? this.all('col') : usual; }

  widthOf(key) {
    const found = this.all('width').find((each) => each.startsWith(`${key}:`));
    return found && Number(found.slice(key.length + 1)) || undefined;
  }

  setWidth(key, width) {
    this.set('width', [...this.all('width').filter((each) => !each.startsWith(`${key}:`)), `${key}:${width}`]);
  }

  forgetLayout() { for (const name of ['col', 'pin', 'width']) this.set(name, []); }

  isShown(name, isFirst) { return isFirst ? !this.all('hide').includes(name) : this.all('show').includes(name); }

  /** Hides what is shown, and shows what is not. */
  toggle(name, isShown, isFirst) {
    const others = (list) => this.all(list).filter((each) => each !== name);
    this.set('hide', isShown && isFirst ? [...others('hide'), name] : others('hide'));
    this.set('show', !isShown && !isFirst ? [...others('show'), name] : others('show'));
  }
}

/** The runs or groups whose charts a page with this query shows. */
export const shownRuns = async (query, signal) => {
  const state = new WorkspaceState(query);
  const {by} = state;
  const asked = {...state.filter, sort: state.text('sort'), limit: state.few};
  const {runs, groups} = by.length
    ? await get('api/groups', {...asked, key: by}, signal)
    : await get('api/runs', asked, signal);
  const first = runs ?? groups.map((group) => ({...group, name: groupName(by, group.values)}));
  const others = by.length ? [] : state.all('show').filter((name) => first.every((run) => run.name !== name));
  const more = await Promise.all(others.map((name) => get(runPath(name), {}, signal)));
  return [...first.filter(({name}) => state.isShown(name, true)), ...more];
};
