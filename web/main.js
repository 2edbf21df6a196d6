// Shows the page of an address. Addresses are #/PAGE/PART?name=value; each page is a function of (place, main, signal)
// that fills main and ends its work when the signal aborts.
import {ApiError} from './api.js';
import {placeOf} from './place.js';
import {el, time} from './view.js';
import {showCompare} from './compare.js';
import {showData} from './data.js';
import {showHang} from './hang.js';
import {showNodes} from './nodes.js';
import {showRank} from './rank.js';
import {showResources} from './resources.js';
import {showRun} from './run.js';
import {showRuns} from './runs.js';
import {storedAt} from './stored.js';
import {showSweepPage} from './sweep.js';

const main = document.getElementById('main');
let current = new AbortController();

const pageOf = ([page, , part]) => {
  if (page === undefined) return ['runs', showRuns];
  if (page === 'run') return ['run', {rank: showRank, hang: showHang, data: showData}[part] ?? showRun];
  if (page === 'compare') return ['compare', showCompare];
  if (page === 'sweep') return ['sweep', showSweepPage];
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

const show = async () => {
  current.abort();
  current = new AbortController();
  const {signal} = current;
  document.getElementById('live').textContent = '';
  const place = placeOf(location.hash);
  const [name, page] = pageOf(place.parts);
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.page === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = ['rtrain', ...place.parts].join(' · ');
  try {
    await page(place, main, signal);
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
addEventListener('hashchange', async () => {
  await show();
  main.focus({preventScroll: true});
  scrollTo(0, 0);
});
show();
