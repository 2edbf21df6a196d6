// Requests to the server: documents, changes and events. Addresses are relative, so that a base path needs no care here.

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

const answerOf = async (response) => {
  if (response.ok) return response.json();
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).error.message;
  } catch { /* it was no document of ours */ }
  throw new ApiError(response.status, message);
};

export const runPath = (run) => `api/runs/${encodeURIComponent(run)}`;

/** The document at a path below the base. An aborted signal rejects with AbortError. */
export const get = async (path, query = {}, signal = undefined) =>
  answerOf(await fetch(path + queryOf(query), {signal, credentials: 'same-origin'}));

export const post = async (path, body) => answerOf(await fetch(path, {
  method: 'POST', credentials: 'same-origin', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
}));

/** Calls handlers[name](document) for each event, until the signal aborts or the server says `end`. */
export const follow = (path, query, handlers, signal) => {
  const source = new EventSource(path + queryOf(query));
  const stop = () => source.close();
  signal.addEventListener('abort', stop, {once: true});
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handler(event.data ? JSON.parse(event.data) : undefined));
  }
  return stop;
};
