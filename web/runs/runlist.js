// The runs that match a filter, in an order: windows of them are fetched from the server as they come into sight. The
// newest question counts: an earlier one may be answered later. In groups the rows are groups, and the runs of those
// that are open.
import {get} from '../server/api.js';

const WINDOW = 64;
const MOST_GROUPS = 1000;
const MOST_OPEN = 200;

/** "lr=0.1, width=16" */
export const groupName = (keys, values) => keys.map((key, at) => {
  const value = typeof values[at] === 'string' ? values[at] : JSON.stringify(values[at]);
  return `${key.replace(/^config\./, '')}=${value}`;
}).join(', ');

/** An order of groups is one of runs too, if it is that of a column which is not the same in a group. */
const orderWithin = (sort, by) => (['runs', ...by].includes(sort.replace(/^-/, '')) ? '' : sort);

export class RunList {
  #windows = new Map();
  #asked = new Set();
  #turn = 0;
  /** @type {any} */
  #query = {};
  #groups = undefined;
  #rows = [];
  #open = new Map();
  #signal;

  /** onchange(): rows have arrived. onproblem(error): the server refused the question. */
  constructor({signal, onchange, onproblem}) {
    this.#signal = signal;
    this.onchange = onchange;
    this.onproblem = onproblem;
    this.total = 0;
    this.problems = [];
  }

  /** Whether an answer to the newest question is awaited. */
  get isBusy() { return this.#asked.size > 0; }

  /** The run, or the group {name, values, runs, cells, members}, in a row; undefined while it is not known. */
  at(row) {
    if (this.#groups) return this.#rows[row];
    return this.#windows.get(Math.floor(row / WINDOW))?.[row % WINDOW];
  }

  /** The number of rows. */
  get rows() { return this.#groups ? this.#rows.length : this.total; }

  /** All rows that are known, in order. */
  get known() {
    return this.#groups ?? [...this.#windows].sort(([a], [b]) => a - b).flatMap(([, runs]) => runs);
  }

  /** Asks another question. query: as of /api/runs; with `by`, a list of columns, in groups. */
  async ask(query) {
    this.#query = query;
    this.#open.clear();
    await this.again(0, WINDOW);
  }

  /** Asks the same question for rows in sight, and forgets all others. */
  async again(first, last) {
    ++this.#turn;
    this.#asked.clear();
    if (this.#query.by?.length) return this.#askGroups();
    const wanted = this.#windowsOf(first, last);
    return this.#during('', async () => {
      const answers = await Promise.all(wanted.map((number) => this.#get(number)));
      return () => {
        this.#groups = undefined;
        this.#windows = new Map(wanted.map((number, at) => [number, answers[at].runs]));
        this.#take(answers[0]);
      };
    });
  }

  /** Fetches the rows that are not known. */
  need(first, last) {
    if (this.#groups || this.#asked.has('')) return;
    for (const number of this.#windowsOf(first, Math.min(last, this.total))) {
      if (this.#windows.has(number)) continue;
      this.#during(`window ${number}`, async () => {
        const answer = await this.#get(number);
        return () => {
          this.#windows.set(number, answer.runs);
          this.#take(answer);
        };
      });
    }
  }

  isOpen(group) { return this.#open.has(group.name); }

  /** Shows the runs of a group, or hides them. */
  async toggle(group) {
    if (this.#open.delete(group.name)) {
      this.#arrange();
      this.onchange();
      return;
    }
    await this.#during(`group ${group.name}`, async () => {
      const {by, ...query} = this.#query;
      const answer = await get('api/runs', {
        ...query, sort: orderWithin(query.sort, by), limit: MOST_OPEN,
        key: by, value: group.values.map((value) => JSON.stringify(value)),
      }, this.#signal);
      return () => {
        this.#open.set(group.name, answer.runs);
        this.#arrange();
      };
    });
  }

  #windowsOf(first, last) {
    const begin = Math.floor(first / WINDOW);
    const end = Math.ceil(Math.max(last, first + 1) / WINDOW);
    return Array.from({length: end - begin}, (_, at) => begin + at);
  }

  #get(number) {
    const {by: _, ...query} = this.#query;
    return get('api/runs', {...query, limit: WINDOW, offset: number * WINDOW}, this.#signal);
  }

  async #askGroups() {
    const {by, spark: _, ...query} = this.#query;
    await this.#during('', async () => {
      const answer = await get('api/groups', {...query, key: by, limit: MOST_GROUPS}, this.#signal);
      return () => {
        this.#groups = answer.groups.map((group) => ({...group, name: groupName(by, group.values)}));
        this.total = answer.total;
        this.problems = [];
        this.#arrange();
      };
    });
  }

  #arrange() { this.#rows = this.#groups.flatMap((group) => [group, ...this.#open.get(group.name) ?? []]); }

  #take({total, problems = []}) {
    this.total = total;
    this.problems = problems;
  }

  // One question with that name at a time. `ask` returns what takes its answer.
  async #during(name, ask) {
    if (this.#asked.has(name)) return;
    const turn = this.#turn;
    this.#asked.add(name);
    try {
      const take = await ask();
      if (turn !== this.#turn) return;
      take();
      this.#asked.delete(name);
      this.onchange();
    } catch (error) {
      if (turn !== this.#turn || error.name === 'AbortError') return;
      this.#asked.delete(name);
      this.onproblem(error);
    }
  }
}
