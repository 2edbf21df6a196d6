// Elements and texts. Data of a run becomes the text of an element, never markup.

const isSvg = new Set(['svg', 'g', 'clipPath', 'rect', 'line', 'text', 'title', 'path', 'circle', 'svg:a']);

/** An element. Attributes: on… are listeners, `data` a map, true and false as in HTML. Children: nodes and texts. */
export const el = (name, attributes = {}, ...children) => {
  const node = isSvg.has(name)
    ? document.createElementNS('http://www.w3.org/2000/svg', name.replace('svg:', ''))
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'data') Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
};

export const linkTo = (path, text, attributes = {}) => el('a', {href: `#/${path}`, ...attributes}, text);
export const runLink = (name) => linkTo(`run/${encodeURIComponent(name)}`, name);

const LONGEST = 80;
const LONGEST_TAG = 40;

/** A long text, cut at the end: the API has all of it. */
export const brief = (text, most = LONGEST) => {
  const characters = text.length > most ? [...text] : [];
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
};

/** A long name without its middle. */
export const briefName = (text, most = LONGEST) => {
  const characters = text.length > most ? [...text] : [];
  const half = Math.floor((most - 1) / 2);
  if (characters.length <= most) return text;
  return `${characters.slice(0, half).join('')}…${characters.slice(-half).join('')}`;
};

/** A long name without its middle: the pointer shows all of it. */
export const clipped = (text, most = LONGEST) => {
  const short = briefName(text, most);
  return short === text ? text : el('span', {title: text}, short);
};

/** A long value, cut at its end: the pointer shows all of it. */
export const clippedValue = (value, most = LONGEST) => {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const short = brief(text, most);
  return short === text ? text : el('span', {title: text}, short);
};

export const number = (value, digits = 5) => {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'number') return brief(typeof value === 'string' ? value : JSON.stringify(value));
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  return String(Number(value.toPrecision(digits)));
};

export const duration = (seconds) => {
  if (seconds === null || seconds === undefined) return '';
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const two = (value) => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${two(whole % 60)} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} m`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
};

export const bytes = (value) => {
  if (value === null || value === undefined) return '';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  for (; value >= 1000 && at < units.length - 1; ++at) value /= 1000;
  return `${at ? value.toFixed(1) : value} ${units[at]}`;
};

/** "2026-11-21 14:03:05", UTC as everywhere in rtrain. */
export const time = (text) => (text ? text.slice(0, 19).replace('T', ' ') : '');

const kinds = {
  FINISHED: 'good', ERRORED: 'bad', LOST: 'bad', ABORTED: 'warn', PREEMPTED: 'warn', QUEUED: 'warn', HEALED: 'warn',
};
export const isOver = (status) => ['FINISHED', 'ERRORED', 'LOST', 'ABORTED', 'PREEMPTED'].includes(status);
export const statusKind = (status) => kinds[status] ?? 'live';
export const status = (text) => el('span', {class: 'status', data: {kind: statusKind(text)}}, text);

/** The message of an error of a run or attempt; empty without one. */
export const errorText = (error) => {
  if (!error) return '';
  return typeof error.message === 'string' ? error.message : JSON.stringify(error);
};

/** {a: {b: 1}} as {'a.b': 1}; lists stay whole. */
export const flattened = (value, prefix = '', out = {}) => {
  for (const [name, each] of Object.entries(value ?? {})) {
    const key = prefix ? `${prefix}.${name}` : name;
    if (each !== null && typeof each === 'object' && !Array.isArray(each)) flattened(each, key, out);
    else out[key] = each;
  }
  return out;
};

/** A table. Columns: {title}, number, time, long (a text), wide (not on a phone). Rows: lists of nodes and texts. */
export const table = (caption, columns, rows) => {
  const head = columns.map((column) => el('th', {scope: 'col', class: classOf(column)}, column.title));
  const rowOf = (row) => el('tr', {}, row.map((cell, at) => el('td', {class: classOf(columns[at])}, cell)));
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
    el('table', {}, el('thead', {}, el('tr', {}, head)), el('tbody', {}, rows.map(rowOf))));
};

const CLASSES = ['number', 'wide', 'time', 'long'];
const classOf = (column) => CLASSES.filter((name) => column[name]).join(' ') || undefined;

/** A list of known values, without empty ones. */
export const facts = (pairs) => el('dl', {},
  pairs.filter(([, value]) => value !== '' && value !== undefined && value !== null)
    .map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));

/** The tags of a run. */
export const tagsView = (tags) => tags.map((tag) => el('span', {class: 'tag'}, clipped(tag, LONGEST_TAG)));

/** The same as buttons. */
export const tagButtons = (tags, click) => tags.map((tag) => el('button', {
  type: 'button', class: 'tag', 'aria-label': `Only tag ${tag}`, onclick: () => click(tag),
}, clipped(tag, LONGEST_TAG)));

export const section = (title, ...children) => el('section', {'aria-label': title}, el('h2', {}, title), ...children);

/** A section with the values of nested maps, by their dotted keys; empty without any. */
export const mapView = (title, map) => {
  const rows = Object.entries(flattened(map)).map(([key, value]) => [clipped(key), clippedValue(value)]);
  return rows.length ? section(title, table(title, [{title: 'Key'}, {title: 'Value'}], rows)) : '';
};

// What tells a link, button or input from the others around it.
const identityOf = (node) => [node.tagName, node.getAttribute('href'), node.getAttribute('aria-label'), node.name,
  node.dataset.key ?? (node.tagName === 'BUTTON' ? node.textContent : '')].join('\n');

/** Replaces parts of a node; the focus stays on what is called the same. `data-key` is a name that does not change. */
export const keepingFocus = (box, replace) => {
  const focused = document.activeElement;
  const identity = box.contains(focused) && focused !== box ? identityOf(focused) : undefined;
  replace();
  if (identity === undefined || box.contains(document.activeElement)) return;
  const again = [...box.querySelectorAll(focused.tagName)].find((node) => identityOf(node) === identity);
  again?.focus({preventScroll: true});
};

/** The elements with a CSS selector, in the order of the page.
    @return {any[]} */
export const everyOf = (selector) => [...document.querySelectorAll(selector)];

/** Debounces calls: calls the function once, after a pause.
    @param {(...args: any[]) => void} call
    @return {(...args: any[]) => void} */
export const later = (delay, call) => {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), delay);
  };
};
