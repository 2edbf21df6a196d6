// The page of all runs: a table that the server filters, sorts and groups, next to the charts of what is shown.
// Everything that a viewer chooses is part of the address. The layout is remembered too.
import {mayWrite} from '../server/actions.js';
import {follow, get} from '../server/api.js';
import {spark} from '../chart/chart.js';
import {chooseColumns} from './chooser.js';
import {columnOf, isNumeric, usualKeys, valueOf, written, writtenOfGroup} from './columns.js';
import {Curves} from '../chart/curves.js';
import {filterBar, filterChips, FILTERS} from './filters.js';
import {Grid} from './grid.js';
import {canEdit, editButton} from './inplace.js';
import {placeOfName, swatch} from '../chart/palette.js';
import {RunList} from './runlist.js';
import {storedAt} from '../server/stored.js';
import {brief, clipped, el, later, runLink, tagButtons} from '../base/view.js';
import {ViewsBar} from './views.js';
import {WorkspaceState} from './workspace.js';

const MOST_NAMED = 3;
const GROUP_WIDTH = 280;
const BAND_WIDTH = 30;
const SAMPLE = 50; // runs whose values show whether a column has numbers

class RunsPage {
  #state;
  #main;
  #signal;
  #list;
  #grid;
  #curves;
  #views;
  #columns = [];
  #asked = [];
  #usual = [];
  #writes = false;
  #names;
  #chosen = new Set();
  #count = el('p', {class: 'quiet', role: 'status'});
  #problem = el('p', {class: 'error', role: 'alert'});
  #damaged = el('div', {role: 'status'});
  #chips = el('div', {class: 'chips'});
  #drawn = '';
  #drawSoon = later(100, () => this.#drawCharts());

  constructor(query, main, signal) {
    this.#state = new WorkspaceState(query);
    this.#state.restoreLayout();
    this.#main = main;
    this.#signal = signal;
    this.reload = later(150, () => this.#list.again(...this.#grid.sight));
    this.#list = new RunList({signal, onchange: () => this.#show(), onproblem: (error) => this.#refuse(error)});
    this.#grid = new Grid({
      label: 'Runs', signal, itemAt: (at) => this.#list.at(at), rowOf: (item, at) => this.#row(item, at),
      onsight: (first, last) => this.#list.need(first, last),
      onwidth: (key, width) => this.#state.setWidth(key, width),
    });
    this.#views = new ViewsBar(signal);
    this.#curves = new Curves({
      runs: [], query, signal, isCompared: true, onhover: (name) => this.#highlightRow(name),
    });
  }

  async open() {
    this.#compare = el('button', {type: 'button', disabled: true, onclick: () => this.#openComparison()},
      'Compare the chosen');
    const toggle = el('button', {
      type: 'button', 'aria-pressed': String(this.#state.hasCharts), onclick: () => {
        this.#state.set('charts', this.#state.hasCharts ? '0' : '');
        toggle.setAttribute('aria-pressed', String(this.#state.hasCharts));
        this.#side.hidden = !this.#state.hasCharts;
        this.#drawCharts();
      },
    }, 'Charts');
    this.#side = el('div', {class: 'side', hidden: !this.#state.hasCharts}, this.#curves.node('Charts', this.#more));
    this.#main.replaceChildren(
      el('div', {class: 'title'}, el('h1', {}, 'Runs'), this.#count, this.#views.node),
      filterBar(this.#state, () => this.#change(), () => this.#allNames(),
        el('button', {type: 'button', onclick: () => this.#choose()}, 'Columns…'), toggle, this.#compare),
      this.#chips,
      this.#problem,
      this.#damaged,
      el('div', {class: 'workspace'}, this.#grid.node, this.#side));
    this.#grid.node.addEventListener('pointerover', (event) => this.#highlightCurve(event), {signal: this.#signal});
    this.#grid.node.addEventListener('pointerleave', () => this.#curves.highlight(undefined), {signal: this.#signal});
    this.#grid.node.addEventListener('focusin', (event) => this.#highlightCurve(event), {signal: this.#signal});
    this.#setColumns();
    await this.#load();
    this.#writes = await mayWrite();
    if (this.#writes) this.#grid.redraw();
    await this.#views.load(this.#writes);
  }

  #compare;
  #side;
  #more = el('p', {class: 'quiet', role: 'status'});

  async #allNames() {
    this.#names ??= await get('api/columns', {}, this.#signal);
    return this.#names;
  }

  async #load() {
    this.#chips.replaceChildren(...filterChips(this.#state, () => this.#change()));
    if (this.#state.by.length && !this.#usual.length) await this.#findUsual();
    this.#asked = this.#state.keysOr(this.#usual).filter((key) => this.#state.by.length || columnOf(key).asked);
    this.#grid.setBusy(true);
    await this.#list.ask({
      ...this.#state.filter, sort: this.#state.text('sort'), spark: this.#state.text('spark'), column: this.#asked,
      by: this.#state.by,
    });
  }

  // Groups do not say which metrics their runs have.
  async #findUsual() {
    const {runs} = await get('api/runs', {...this.#state.filter, limit: SAMPLE}, this.#signal);
    this.#usual = usualKeys(runs).filter((key) => key !== 'tags' && key !== 'started_at');
    this.#setColumns();
  }

  /** The viewer has changed the filter, the order or the groups. */
  async #change() {
    this.#grid.toTop();
    this.#setColumns();
    await this.#load();
  }

  // The columns stay: the server finds the rows while the heads are drawn.
  #sort(by) {
    this.#state.set('sort', by);
    this.#grid.toTop();
    const loading = this.#load();
    this.#grid.setHeads(this.#heads());
    return loading;
  }

  #show() {
    this.#problem.textContent = '';
    if (!this.#usual.length && !this.#state.by.length) {
      this.#usual = usualKeys(this.#list.known);
      this.#setColumns();
    } else if (this.#columns.some((column) => column.isNumber !== this.#isNumber(column))) {
      this.#setColumns();
    }
    this.#damaged.replaceChildren(...this.#list.problems.map(({name, problem}) =>
      el('p', {class: 'error'}, `${name} is shown as it was: ${problem}`)));
    this.#count.textContent = this.#countText();
    this.#grid.setTotal(this.#list.rows);
    this.#grid.setBusy(this.#list.isBusy);
    this.#grid.redraw();
    this.#drawSoon();
  }

  #refuse(error) {
    this.#grid.setBusy(false);
    this.#problem.textContent = error.message;
  }

  #countText() {
    const {total} = this.#list;
    if (total) return `${total} ${this.#state.by.length ? 'group' : 'run'}${total === 1 ? '' : 's'}`;
    const filters = FILTERS.filter((name) => this.#state.text(name));
    if (!filters.length) return 'No runs here. `rtrain run FILE` makes one.';
    const texts = filters.map((name) => `${name} ${this.#state.all(name).map((each) => brief(each)).join(', ')}`);
    return `No run matches the filter: ${texts.join(', ')}.`;
  }

  // Columns.

  #setColumns() {
    const {by} = this.#state;
    const pinned = this.#state.all('pin');
    const keys = this.#state.keysOr(this.#usual);
    const metric = this.#state.text('spark');
    const all = [
      {...columnOf('name'), isPinned: true, ...by.length && {title: 'Group', width: GROUP_WIDTH}},
      ...keys.filter((key) => pinned.includes(key)).map((key) => ({...columnOf(key), isPinned: true})),
      ...metric && !by.length ? [{...columnOf('spark'), title: metric, metric}] : [],
      ...keys.filter((key) => !pinned.includes(key)).map(columnOf),
    ];
    const wider = by.length ? BAND_WIDTH : 0;
    this.#columns = all.map((column) => ({
      ...column, isNumber: this.#isNumber(column),
      width: this.#state.widthOf(column.key) ?? column.width + (column.is === 'value' ? wider : 0),
    }));
    this.#grid.setColumns(this.#heads());
  }

  #heads() {
    return [
      {key: 'shown', width: storedAt ? 34 : 62, isPinned: true, isFixed: true,
        head: el('th', {scope: 'col'}, el('span', {class: 'hidden'}, 'Shown'))},
      ...this.#columns.map((column) => ({
        key: column.key, width: column.width, isPinned: column.isPinned, head: this.#headOf(column),
      })),
    ];
  }

  #isNumber(column) {
    const valueIn = (item) => {
      const value = valueOf(item, column.key, this.#asked);
      return item.values ? value?.mean ?? value?.value : value;
    };
    return this.#list.known.slice(0, SAMPLE).some((item) => isNumeric(column, valueIn(item)));
  }

  #headOf({key, title, isNumber, is, metric}) {
    const attributes = {scope: 'col', class: isNumber ? 'number' : undefined, title};
    if (is === 'spark' || key === 'tags' || key === 'note') return el('th', attributes, clipped(title, 30));
    const sorted = this.#state.text('sort');
    const sorts = metric ?? (key === 'name' && this.#state.by.length ? 'runs' : key);
    const order = sorted === sorts ? 'ascending' : sorted === `-${sorts}` ? 'descending' : undefined;
    return el('th', {...attributes, 'aria-sort': order},
      el('button', {
        type: 'button', data: {key}, onclick: () => this.#sort(sorted === `-${sorts}` ? sorts : `-${sorts}`),
      }, clipped(title, 30), order === 'ascending' ? ' ↑' : order ? ' ↓' : ''));
  }

  async #choose() {
    chooseColumns({
      keys: this.#state.keysOr(this.#usual), pinned: this.#state.all('pin'), names: await this.#allNames(),
      change: (keys, pinned) => {
        this.#state.set('col', keys);
        this.#state.set('pin', pinned);
        this.#setColumns();
        this.#load();
      },
      reset: () => {
        this.#state.forgetLayout();
        this.#setColumns();
        this.#load();
      },
    });
  }

  // Rows.

  #row(item, at) {
    const isShown = this.#isShown(item);
    const eye = el('button', {
      type: 'button', class: 'eye', 'aria-pressed': String(isShown), data: {key: item.name},
      'aria-label': `${isShown ? 'Hide' : 'Show'} the curves of ${item.name}`,
      onclick: () => {
        this.#state.toggle(item.name, isShown, this.#isFirst(item));
        this.#grid.redraw();
        this.#drawCharts();
      },
    }, swatch(placeOfName(item.name)));
    const cells = item.values ? this.#groupCells(item) : this.#runCells(item);
    return el('tr', {data: {name: item.name}, class: isShown ? undefined : 'away'},
      el('td', {class: 'pick'}, item.values || storedAt ? '' : this.#chooseBox(item), eye), cells);
  }

  #chooseBox(run) {
    return el('input', {
      type: 'checkbox', 'aria-label': `Choose ${run.name}`, checked: this.#chosen.has(run.name), onchange: (event) => {
        this.#chosen[event.target.checked ? 'add' : 'delete'](run.name);
        this.#compare.disabled = this.#chosen.size < 2;
      },
    });
  }

  #runCells(run) {
    const isInGroup = this.#state.by.length > 0;
    return this.#columns.map((column) => {
      const value = valueOf(run, column.key, this.#asked);
      const kind = column.isNumber ? 'number' : isInGroup && column.key === 'name' ? 'member' : undefined;
      return el('td', {class: kind},
        this.#written(column, value, run),
        this.#writes && canEdit(column.key)
          ? editButton(column.key, run, value, (error) => this.#edited(error))
          : '');
    });
  }

  #written(column, value, run) {
    if (column.key === 'name') return [runLink(run.name), run.archived ? ' archived' : ''];
    if (column.is === 'spark') return spark(run.spark ?? []);
    if (column.is === 'tags') return tagButtons(run.tags, (tag) => this.#filter('tag', tag));
    if (column.is === 'status') {
      return el('button', {type: 'button', class: 'plain', 'aria-label': `Only ${value}`,
        onclick: () => this.#filter('status', value)}, written(column, value, run));
    }
    return written(column, value, run);
  }

  #groupCells(group) {
    const isOpen = this.#list.isOpen(group);
    return this.#columns.map((column) => (column.key === 'name'
      ? el('td', {},
        el('button', {
          type: 'button', class: 'plain', 'aria-expanded': String(isOpen), data: {key: `open ${group.name}`},
          onclick: () => this.#list.toggle(group),
        }, isOpen ? '▾ ' : '▸ ', el('strong', {}, clipped(group.name, 60))),
        el('span', {class: 'quiet'}, ` ${group.runs} runs`))
      : el('td', {class: column.isNumber ? 'number' : undefined},
        writtenOfGroup(column, group.cells[this.#asked.indexOf(column.key)] ?? {}))));
  }

  #filter(name, value) {
    const values = this.#state.all(name);
    this.#state.set(name, values.includes(value) ? values.filter((each) => each !== value) : [...values, value]);
    this.#change();
  }

  #edited(error) {
    if (error) this.#problem.textContent = error.message;
    else this.#list.again(...this.#grid.sight);
  }

  // Charts.

  // Runs within an open group are drawn if the viewer says so.
  #isFirst(item) {
    const known = this.#list.known;
    const at = known.indexOf(item);
    return at >= 0 && at < this.#state.few;
  }

  #isShown(item) { return this.#state.isShown(item.name, this.#isFirst(item)); }

  #drawCharts() {
    if (!this.#state.hasCharts || this.#signal.aborted) return;
    const rows = Array.from({length: this.#list.rows}, (_, at) => this.#list.at(at)).filter(Boolean);
    const shown = rows.filter((item) => this.#isShown(item));
    const things = this.#state.by.length ? 'groups' : 'runs';
    this.#more.textContent = this.#list.rows > shown.length
      ? `${shown.length} of ${this.#list.total} ${things} are drawn. The colour in a row shows or hides its curves.`
      : '';
    const drawn = JSON.stringify(shown.map(({name, members}) => [name, members]));
    if (drawn === this.#drawn) return void this.#curves.reload();
    this.#drawn = drawn;
    this.#curves.setRuns(shown);
  }

  #highlightRow(name) {
    for (const row of this.#grid.node.querySelectorAll('tbody tr')) {
      row.classList.toggle('lit', name !== undefined && row.dataset.name === name);
    }
  }

  #highlightCurve(event) {
    const row = event.target.closest('tr');
    const isDrawn = row && !row.classList.contains('away');
    this.#curves.highlight(isDrawn ? row.dataset.name : undefined);
  }

  #openComparison() {
    const runs = [...this.#chosen].map((name) => `run=${encodeURIComponent(name)}`).join('&');
    location.hash = `#/compare?${runs}`;
  }
}

export const showRuns = async ({query}, main, signal) => {
  const page = new RunsPage(query, main, signal);
  await page.open();
  const live = document.getElementById('live');
  follow('api/events', {}, {runs: (runs) => {
    const running = runs.filter((run) => run.status === 'RUNNING').map((run) => run.name);
    const more = running.length > MOST_NAMED ? ` and ${running.length - MOST_NAMED} more` : '';
    live.textContent = running.length ? `live: ${running.slice(0, MOST_NAMED).join(', ')}${more}` : '';
    page.reload();
  }}, signal);
};
