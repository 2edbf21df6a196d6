// What a browser keeps for its viewer from page to page. A browser may refuse to keep anything, as for a file: then a
// choice holds until the page is left.

const nameOf = (key) => `rtrain-${key}`;

/** The text kept for the key; '' without one. */
export const kept = (key) => {
  try {
    return localStorage.getItem(nameOf(key)) ?? '';
  } catch {
    return '';
  }
};

export const keep = (key, text) => {
  try {
    if (text) localStorage.setItem(nameOf(key), text);
    else localStorage.removeItem(nameOf(key));
  } catch { /* see above */ }
};
