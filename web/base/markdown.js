// Markdown as elements, never as markup: headings, paragraphs, lists, quotes, code, emphasis, links and pictures of
// views. What is not one of these stays text.
import {el} from './view.js';

const INLINE = /(`[^`]+`)|(\*\*[^*]+\*\*)|(\*[^*]+\*)|(\[[^\]]+\]\([^()\s]+\))/;
/** @type {[string, RegExp][]} */
const LISTS = [['ul', /^[-*] +/], ['ol', /^\d+[.)] +/]];
const isSafe = (address) => /^(https?:\/\/|#\/)/.test(address);

const inline = (text) => {
  const found = INLINE.exec(text);
  if (!found) return text ? [text] : [];
  const [whole, code, strong, weak] = found;
  const before = text.slice(0, found.index);
  const after = inline(text.slice(found.index + whole.length));
  if (code) return [before, el('code', {}, whole.slice(1, -1)), ...after];
  if (strong) return [before, el('strong', {}, inline(whole.slice(2, -2))), ...after];
  if (weak) return [before, el('em', {}, inline(whole.slice(1, -1))), ...after];
  const [, name, address] = /^\[([^\]]+)\]\(([^()\s]+)\)$/.exec(whole);
  const link = isSafe(address) ? el('a', {href: address, rel: 'noopener noreferrer'}, name) : whole;
  return [before, link, ...after];
};

// Each takes the lines of a block from `at` on, and returns [nodes, the line behind it]; undefined for another block.
const blocks = [
  (lines, at) => {
    if (!lines[at].startsWith('```')) return undefined;
    const close = lines.findIndex((line, place) => place > at && line.startsWith('```'));
    const end = close < 0 ? lines.length : close;
    return [el('pre', {}, lines.slice(at + 1, end).join('\n')), end + 1];
  },
  (lines, at) => {
    const found = /^(#{1,4}) +(.*)$/.exec(lines[at]);
    return found && [el(`h${Math.min(6, found[1].length + 1)}`, {}, inline(found[2])), at + 1];
  },
  (lines, at) => (/^(-{3,}|\*{3,})$/.test(lines[at].trim()) ? [el('hr'), at + 1] : undefined),
  (lines, at) => {
    const kind = LISTS.find(([, mark]) => mark.test(lines[at]));
    if (!kind) return undefined;
    let end = at;
    while (end < lines.length && kind[1].test(lines[end])) ++end;
    return [el(kind[0], {}, lines.slice(at, end).map((line) => el('li', {}, inline(line.replace(kind[1], ''))))), end];
  },
  (lines, at) => {
    let end = at;
    while (end < lines.length && lines[end].startsWith('>')) ++end;
    const text = lines.slice(at, end).map((line) => line.replace(/^> ?/, '')).join(' ');
    return end > at ? [el('blockquote', {}, inline(text)), end] : undefined;
  },
];

const isBlock = (lines, at) => !lines[at].trim() || lines[at].startsWith('![')
  || blocks.some((block) => block(lines, at));

/** The nodes of a text. picture(name, view): the node of a line ![name](view:VIEW). */
export const markdown = (text, picture) => {
  const lines = text.replaceAll('\r', '').split('\n');
  const out = [];
  for (let at = 0; at < lines.length;) {
    const view = /^!\[([^\]]*)\]\(view:(.+)\)\s*$/.exec(lines[at]);
    const block = blocks.map((each) => each(lines, at)).find(Boolean);
    if (view) {
      out.push(picture(view[1], view[2]));
      ++at;
    } else if (block) {
      out.push(block[0]);
      at = block[1];
    } else if (!lines[at].trim()) {
      ++at;
    } else {
      let end = at + 1;
      while (end < lines.length && !isBlock(lines, end)) ++end;
      out.push(el('p', {}, inline(lines.slice(at, end).join(' '))));
      at = end;
    }
  }
  return out;
};
