// Requests to the server: documents, changes and events. Addresses are relative, so any base path works.
// A page without a server contains the answers. A request for a document waits for a server that does not answer.
import {isGateway, pause, untilReachable} from './server.js';
import {storedAnswer, storedAt, storedLines} from './stored.js';

const LEAST_PAUSE_MS = 200;
const MOST_PAUSE_MS = 30_000;

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

/** What `read` makes of the answer. */
const ask = async (path, query, signal, read) => {
  for (;;) {
    try {
      const response = await fetch(path + queryOf(query), {signal, credentials: 'same-origin'});
      if (!isGateway(response.status)) return await read(await checked(response));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // fetch throws one without a connection
    }
    await pause(LEAST_PAUSE_MS);
    await untilReachable();
    signal?.throwIfAborted();
  }
};

const inThisFile = (path, query) => {
  const answer = storedAnswer(path, query);
  if (answer === undefined) throw new ApiError(404, `This file does not have it: ${path}`);
  return answer;
};

/** The document at a path below the base. An aborted signal rejects with AbortError. */
export const get = async (path, query = {}, signal = undefined) =>
  (storedAt ? inThisFile(path, query) : ask(path, query, signal, (response) => response.json()));

/** The text at a path below the base. */
export const getText = async (path, query = {}, signal = undefined) =>
  (storedAt ? inThisFile(path, query) : ask(path, query, signal, (response) => response.text()));

/** The address of a file of the server. */
export const fileUrl = (path, query = {}) => path + queryOf(query);

/** The address of an image or of audio. */
export const contentUrl = (path, query = {}) => (storedAt ? inThisFile(path, query) : fileUrl(path, query));

/** Asks once: whether a server that does not answer has done it is not known. */
export const post = async (path, body) => {
  let response;
  try {
    response = await fetch(path, {
      method: 'POST', credentials: 'same-origin', headers: {'Content-Type': 'application/json'},
      body: JSON.stringify(body),
    });
  } catch {
    untilReachable();
    throw new ApiError(0, 'The server does not answer: look whether it was done, when it is there again.');
  }
  return (await checked(response)).json();
};

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

/** Calls handlers[name](document) for each event, until the signal aborts or the returned function is called. After a
    break it goes on with what the server says then. A page that is not seen has no stream: a browser opens only six
    connections to a server, for all its tabs. */
export const follow = (path, query, handlers, signal) => {
  if (storedAt) return followStored(path, query, handlers);
  let source;
  let hasEnded = false;
  let pauseMs = LEAST_PAUSE_MS;
  const stop = () => {
    hasEnded = true;
    source?.close();
  };
  const open = () => {
    const opened = source = new EventSource(path + queryOf(query));
    source.addEventListener('open', () => { pauseMs = LEAST_PAUSE_MS; });
    for (const [name, handler] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handler(event.data ? JSON.parse(event.data) : undefined));
    }
    source.addEventListener('error', async (event) => {
      if (event.data !== undefined || hasEnded) return; // an event of that name, or the end
      opened.close();
      await untilReachable();
      await pause(pauseMs);
      pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS);
      if (source === opened) look();
    });
  };
  const look = () => {
    if (hasEnded) return;
    if (document.hidden) source?.close();
    else if (source === undefined || source.readyState === EventSource.CLOSED) open();
  };
  signal.addEventListener('abort', stop, {once: true});
  document.addEventListener('visibilitychange', look, {signal});
  look();
  return stop;
};
