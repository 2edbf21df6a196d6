// A video: its first frame, until the viewer plays it. Browsers cannot stop an animated picture.
import {el} from '../base/view.js';

/** The nodes of a video at that address. */
export const video = (src, title) => {
  const still = el('canvas', {class: 'still', role: 'img', 'aria-label': title});
  const moving = el('img', {src, alt: title, hidden: true});
  const button = el('button', {
    type: 'button', 'aria-pressed': 'false', 'aria-label': `Play ${title}`, onclick: () => {
      const plays = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(plays));
      button.textContent = plays ? 'Stop' : 'Play';
      still.hidden = plays;
      moving.hidden = !plays;
      if (plays) moving.src = src; // from its beginning
    },
  }, 'Play');
  moving.addEventListener('load', () => {
    still.width = moving.naturalWidth;
    still.height = moving.naturalHeight;
    still.getContext('2d').drawImage(moving, 0, 0);
  }, {once: true});
  return [still, moving, el('div', {class: 'bar'}, button)];
};

/** Whether a viewer hears audio or sees a video within the node. */
export const isPlaying = (node) => node.querySelector('button[aria-pressed=true]') !== null
  || [...node.querySelectorAll('audio')].some((audio) => !audio.paused);
