// Parses addresses: #/PAGE/PART?name=value. Everything a page shows has an address that can be shared.

/** {parts, query} of a hash. */
export const placeOf = (hash) => {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?');
  return {parts: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query)};
};

/** Changes the query of this address without a new entry in the history. */
export const setQuery = (changes) => {
  const [path, query = ''] = location.hash.split('?');
  const pairs = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' || value === undefined || value === null || value === false) pairs.delete(name);
    else pairs.set(name, value === true ? '1' : value);
  }
  const text = pairs.toString();
  history.replaceState(null, '', `${path || '#/'}${text ? `?${text}` : ''}`);
};
