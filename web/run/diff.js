// A unified diff. Its lines keep their signs, so that they differ by more than colour.
import {el} from '../base/view.js';

const classOf = (line) => {
  if (line.startsWith('@@') || line.startsWith('diff ') || line.startsWith('+++ ') || line.startsWith('--- ')) {
    return 'head';
  }
  if (line.startsWith('+')) return 'add';
  if (line.startsWith('-')) return 'del';
  return undefined;
};

export const diffView = (text) =>
  el('pre', {tabindex: 0}, text.split('\n').map((line) => el('span', {class: classOf(line)}, `${line}\n`)));
