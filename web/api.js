// Requests to the server: documents, changes and events. Addresses are relative, so any base path works.
// A page without a server contains the answers.
import {storedAnswer, storedAt, storedLines} from './stored.js';

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const queryOf = (query) => {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '' || value === false) continue;
    for (const each of Array.isArray(value) ? value : [value]) pairs.append(name, each === true ? '1' : each);
  }
  const text = pairs.toString();
  return text ? `?${text}` : '';
};

const checked = async (response) => {
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).error.message;
  } catch { /* not a document of rtrain */ }
  throw new ApiError(response.status, message);
};

export const runPath = (run) => `api/runs/${encodeURIComponent(run)}`;

const ask = async (path, query, signal) =>
  checked(await fetch(path + queryOf(query), {signal, credentials: 'same-origin'}));

const inThisFile = (path, query) => {
  const answer = storedAnswer(path, query);
  if (answer === undefined) throw new ApiError(404, `This file does not have it: ${path}`);
  return answer;
};

/** The document at a path below the base. An aborted signal rejects with AbortError. */
export const get = async (path, query = {}, signal = undefined) =>
  (storedAt ? inThisFile(path, query) : (await ask(path, query, signal)).json());

/** The text at a path below the base. */
export const getText = async (path, query = {}, signal = undefined) =>
  (storedAt ? inThisFile(path, query) : (await ask(path, query, signal)).text());

/** The address of a file of the server. */
export const fileUrl = (path, query = {}) => path + queryOf(query);

/** The address of an image. */
export const contentUrl = (path, query = {}) => (storedAt ? inThisFile(path, query) : fileUrl(path, query));

export const post = async (path, body) => (await checked(await fetch(path, {
  method: 'POST', credentials: 'same-origin', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
}))).json();

/** A stream that ends after the stored lines. */
const followStored = (path, query, {lines, end}) => {
  if (lines) {
    queueMicrotask(() => {
      lines(storedLines(path, query));
      end({stored_at: storedAt});
    });
  }
  return () => {};
};

/** Calls handlers[name](document) for each event, until the signal aborts or the server says `end`. */
export const follow = (path, query, handlers, signal) => {
  if (storedAt) return followStored(path, query, handlers);
  const source = new EventSource(path + queryOf(query));
  const stop = () => source.close();
  signal.addEventListener('abort', stop, {once: true});
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handler(event.data ? JSON.parse(event.data) : undefined));
  }
  return stop;
};
