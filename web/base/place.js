// Parses addresses: #/PAGE/PART?name=value. Everything a page shows has an address that can be shared.

/** {parts, query} of a hash. */
export const placeOf = (hash) => {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?');
  return {parts: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query)};
};

/** Changes the query of this address without a new entry in the history. A list gives one pair for each value. The
    window hears `querychange`. */
export const setQuery = (changes) => {
  const [path, query = ''] = location.hash.split('?');
  const pairs = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    pairs.delete(name);
    if (value === '' || value === undefined || value === null || value === false) continue;
    for (const each of [value].flat()) pairs.append(name, each === true ? '1' : each);
  }
  const text = pairs.toString();
  history.replaceState(null, '', `${path || '#/'}${text ? `?${text}` : ''}`);
  dispatchEvent(new Event('querychange'));
};
