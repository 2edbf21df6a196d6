// Choices of the viewer that the browser keeps, as documents. Where it refuses to, they last as long as the page.
import {keep, kept} from './kept.js';

const known = new Map();

/** What was remembered under the name; undefined without anything. */
export const recall = (name) => {
  if (known.has(name)) return known.get(name);
  try {
    return JSON.parse(kept(name));
  } catch {
    return undefined;
  }
};

/** The list of texts that was remembered under the name. */
export const recallList = (name) => {
  const list = recall(name);
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
};

export const remember = (name, value) => {
  known.set(name, value);
  keep(name, JSON.stringify(value));
};
