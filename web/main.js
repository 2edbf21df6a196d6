// Shows the page of an address. Addresses are #/PAGE/PART?name=value; each page is a function of (place, main, signal)
// that fills main and ends its work when the signal aborts. It may return a function of another place, which shows that
// place if the page has it, and says whether it has.
import {ApiError} from './server/api.js';
import {placeOf} from './base/place.js';
import {el, everyOf, time} from './base/view.js';
import {commandsButton} from './commands.js';
import {showCompare} from './runs/compare.js';
import {keysButton} from './keys.js';
import {showNodes} from './nodes/nodes.js';
import {showReport} from './runs/report.js';
import {showResources} from './nodes/resources.js';
import {showRun} from './run/run.js';
import {showRuns} from './runs/runs.js';
import {storedAt} from './server/stored.js';
import {showSweepPage} from './sweep/sweep.js';
import {themeSwitch} from './base/theme.js';

const main = document.getElementById('main');
let current = new AbortController();
/** @type {(place: object) => boolean} */
let turn = () => false;

/** @return {[string, (place: object, main: HTMLElement, signal: AbortSignal) => any]} */
const pageOf = ([page]) => {
  if (page === undefined) return ['runs', showRuns];
  if (page === 'run') return ['run', showRun];
  if (page === 'compare') return ['compare', showCompare];
  if (page === 'sweep') return ['sweep', showSweepPage];
  if (page === 'report') return ['runs', showReport];
  if (page === 'nodes') return ['nodes', showNodes];
  if (page === 'resources' && !storedAt) return ['resources', showResources];
  return ['', () => { throw new ApiError(404, 'There is no such page.'); }];
};

const fail = (error) => {
  if (error.name === 'AbortError') return;
  const hint = error.status === 401
    ? 'Open the address that rtrain dash has printed: it has another token after each start.'
    : '';
  main.replaceChildren(
    el('h1', {}, 'This page cannot be shown'),
    el('p', {class: 'error', role: 'alert'}, `${error.message} ${hint}`));
};

const titled = ({parts}) => { document.title = ['rtrain', ...parts].join(' · '); };

const open = async (place) => {
  current.abort();
  current = new AbortController();
  const {signal} = current;
  turn = () => false;
  document.getElementById('live').textContent = '';
  const [name, page] = pageOf(place.parts);
  for (const link of everyOf('nav a')) {
    if (link.dataset.page === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  titled(place);
  try {
    const shown = await page(place, main, signal);
    if (!signal.aborted && shown) turn = shown;
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
};

if (storedAt) {
  document.querySelector('[data-page=resources]').remove();
  document.querySelector('nav').append(el('span', {class: 'quiet'}, `as of ${time(storedAt)} UTC`));
}
// The token in the address was exchanged for a cookie, and must not stay in the history.
if (new URLSearchParams(location.search).has('token')) {
  history.replaceState(null, '', location.pathname + location.hash);
}
addEventListener('hashchange', () => {
  const place = placeOf(location.hash);
  if (turn(place)) {
    titled(place);
    return;
  }
  // At once: what a viewer focuses while the page loads keeps the focus.
  main.focus({preventScroll: true});
  scrollTo(0, 0);
  open(place);
});
// An address after # is a page: this link only moves the focus.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
document.querySelector('header').append(el('div', {class: 'bar tools'}, commandsButton(), themeSwitch(), keysButton()));
open(placeOf(location.hash));
