// Durations of what has not ended: they count on.
import {storedAt} from './stored.js';
import {duration, el, everyOf} from '../base/view.js';

const BEAT_MS = 1000;

/** A duration in seconds, which counts on if it has not ended. */
export const counting = (seconds, hasEnded) => {
  if (hasEnded || storedAt || seconds === null || seconds === undefined) return duration(seconds);
  return el('span', {class: 'counting', data: {from: Date.now() - seconds * 1000}}, duration(seconds));
};

setInterval(() => {
  for (const node of everyOf('.counting')) {
    node.textContent = duration((Date.now() - Number(node.dataset.from)) / 1000);
  }
}, BEAT_MS);
