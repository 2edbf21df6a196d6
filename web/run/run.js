// The page of one run: its state and what failed on top, all else behind tabs. The address names the tab. Only the tab
// that is shown asks for anything. A live run is followed.
import {mayWrite, runActions} from '../server/actions.js';
import {follow, get, runPath} from '../server/api.js';
import {showCheckpoints} from './checkpoints.js';
import {counting} from '../server/clock.js';
import {showCode} from './code.js';
import {showData} from './data.js';
import {eventsView} from './events.js';
import {failureView} from './failure.js';
import {showHang} from './hang.js';
import {logView} from './log.js';
import {MediaView} from '../media/media.js';
import {showCharts, showOverview} from './overview.js';
import {showRank} from './rank.js';
import {showRanks} from './ranks.js';
import {showSystem} from './system.js';
import {Tabs} from './tabs.js';
import {el, isOver, keepingFocus, linkTo, number, status, tagsView, time} from '../base/view.js';

const showLogs = async (page, box, signal) => {
  const events = el('div');
  const fill = () => events.replaceChildren(...eventsView(page.run).filter(Boolean));
  fill();
  box.replaceChildren(logView(page.run.name, {}, signal), events);
  return {filled: fill};
};

const showMedia = async ({run, query}, box, signal) => {
  const nothing = el('p', {class: 'empty'},
    'Nothing here: train.log_image, log_video, log_audio, log_histogram, log_table and log_text record media.');
  const media = new MediaView([run], query, signal, nothing);
  await media.load();
  box.replaceChildren(media.node, nothing);
  return {live: () => media.reload()};
};

// A tab is a function of (page, box, signal) that fills the box. It may return {live, filled}: `live` is called with
// each change of a live run, `filled` after the run's document was read again.
const TABS = [
  {key: 'overview', title: 'Overview', show: showOverview},
  {key: 'charts', title: 'Charts', show: showCharts},
  {key: 'ranks', title: 'Ranks', show: showRanks},
  {key: 'data', title: 'Data', show: showData},
  {key: 'logs', title: 'Logs', show: showLogs},
  {key: 'checkpoints', title: 'Checkpoints', show: showCheckpoints},
  {key: 'code', title: 'Code and diff', show: showCode},
  {key: 'system', title: 'System', show: showSystem},
  {key: 'media', title: 'Media', show: showMedia},
];
// Pages within a tab.
const WITHIN = {rank: {key: 'ranks', show: showRank}, hang: {key: 'ranks', show: showHang}};

const tabOf = (part = 'overview') => WITHIN[part] ?? TABS.find(({key}) => key === part);

class RunPage {
  #name;
  #main;
  #signal;
  #head = el('div');
  #tabs;
  #left = new AbortController();
  #shown;

  constructor(name, main, signal) {
    this.#name = name;
    this.#main = main;
    this.#signal = signal;
    const address = `#/run/${encodeURIComponent(name)}`;
    this.#tabs = new Tabs('Parts of the run',
      TABS.map(({key, title}, at) => ({key, title, href: at ? `${address}/${key}` : address})));
    this.refresh = () => this.#read();
  }

  async open(place) {
    this.writes = await mayWrite();
    await this.#read();
    this.#main.replaceChildren(this.#head, this.#tabs.node, this.#tabs.panel);
    if (!isOver(this.run.status)) this.#follow();
    this.#show(place);
  }

  /** Shows another part of the same run. Returns whether it is one. */
  turn(place) {
    const [page, name] = place.parts;
    if (page !== 'run' || name !== this.#name) return false;
    const isByTab = this.#tabs.node.contains(document.activeElement);
    this.#show(place);
    if (!isByTab) this.#tabs.panel.focus();
    return true;
  }

  async #show({parts, query}) {
    this.#left.abort();
    this.#left = new AbortController();
    const signal = /** @type {any} */ (AbortSignal).any([this.#signal, this.#left.signal]);
    const box = el('div', {}, el('p', {class: 'loading'}, 'Loading…'));
    const tab = tabOf(parts[2]);
    this.parts = parts;
    this.query = query;
    this.#shown = undefined;
    this.#tabs.select(tab?.key);
    this.#tabs.panel.replaceChildren(box);
    try {
      if (!tab) throw new Error('A run has no such part.');
      const shown = await tab.show(this, box, signal);
      if (!signal.aborted) this.#shown = shown;
    } catch (error) {
      if (!signal.aborted) box.replaceChildren(el('p', {class: 'error', role: 'alert'}, error.message));
    }
  }

  /** Reads the run's document, and shows its state. */
  async #read() {
    const run = this.run = await get(runPath(this.#name), {}, this.#signal);
    const failure = await failureView(run, this.#signal);
    keepingFocus(this.#head, () => this.#head.replaceChildren(
      el('div', {class: 'title'},
        el('h1', {}, run.name), status(run.status), run.live ? el('span', {class: 'quiet'}, 'live') : '',
        this.writes ? runActions(run, this.refresh) : ''),
      el('p', {class: 'line'},
        run.started_at
          ? el('span', {}, `${time(run.started_at)} UTC, `, counting(run.duration_s, isOver(run.status)))
          : '',
        run.num_workers ? el('span', {}, `${run.num_workers} ${run.num_workers === 1 ? 'worker' : 'workers'}`) : '',
        run.attempts.length > 1
          ? linkTo(`run/${encodeURIComponent(this.#name)}/ranks`, `${run.attempts.length} attempts`)
          : '',
        run.tags.length ? el('span', {}, tagsView(run.tags)) : '',
        run.hangs
          ? linkTo(`run/${encodeURIComponent(this.#name)}/hang`, `Who waited for whom (${run.hangs})`)
          : ''),
      failure,
      run.problem ? el('p', {class: 'error', role: 'status'}, `Shown as it was: ${run.problem}`) : ''));
    await this.#shown?.filled?.();
  }

  #follow() {
    const live = document.getElementById('live');
    let state = `${this.run.status} ${this.run.attempts.length}`;
    const stop = follow(`${runPath(this.#name)}/events`, {}, {runs: ([now]) => {
      const rate = now.reports_per_s ? `, ${number(now.reports_per_s, 3)}/s` : '';
      live.textContent = isOver(now.status) ? '' : `live: ${now.reports} reports${rate}`;
      this.#shown?.live?.(now);
      const next = `${now.status} ${now.attempt}`;
      if (next !== state) this.#read().catch(() => {});
      state = next;
      if (isOver(now.status)) stop(); // it would reconnect
    }}, this.#signal);
  }
}

/** Returns a function that shows another part of the same run. */
export const showRun = async (place, main, signal) => {
  const page = new RunPage(place.parts[1], main, signal);
  await page.open(place);
  return (next) => page.turn(next);
};
