// The colours of terminals in lines of output: runs of text with classes, without any other escape sequence.

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
// CSI with its final letter, OSC with its end, other sequences, and the other control characters but the tabulator.
const ESCAPE = new RegExp(
  '\\u001b\\[([0-9;:]*)m|\\u001b\\[[0-?]*[ -/]*[@-~]|\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?'
  + '|\\u001b[ -/]*[0-~]?|[\\u0000-\\u0008\\u000a-\\u001f\\u007f-\\u009f]', 'g');

/** The colour of a palette of 256; undefined outside of the 16 that have names. */
const ofPalette = (number) => (number < 16 ? COLOURS[number % 8] : undefined);

/** The style after the parameters of an SGR sequence. */
const after = (style, parameters) => {
  const codes = parameters.split(/[;:]/).map(Number);
  const next = {...style};
  for (let at = 0; at < codes.length; ++at) {
    const code = codes[at];
    if (code === 0) Object.assign(next, {colour: undefined, isBold: false});
    else if (code === 1) next.isBold = true;
    else if (code === 22) next.isBold = false;
    else if (code >= 30 && code <= 37) next.colour = COLOURS[code - 30];
    else if (code >= 90 && code <= 97) next.colour = COLOURS[code - 90];
    else if (code === 39) next.colour = undefined;
    else if (code === 38 || code === 48) {
      if (code === 38) next.colour = codes[at + 1] === 5 ? ofPalette(codes[at + 2]) : undefined;
      at += codes[at + 1] === 5 ? 2 : 4;
    }
  }
  return next;
};

/** [{text, classes}] of a line: of what a carriage return has overwritten, the last. */
export const coloured = (printed) => {
  const line = printed.replace(/\r+$/, '').replace(/^.*\r/s, '');
  const out = [];
  let style = {colour: undefined, isBold: false};
  let end = 0;
  const add = (text) => {
    if (text) out.push({text, classes: [style.colour, style.isBold && 'bold'].filter(Boolean).join(' ')});
  };
  for (const found of line.matchAll(ESCAPE)) {
    add(line.slice(end, found.index));
    end = found.index + found[0].length;
    if (found[1] !== undefined) style = after(style, found[1]);
  }
  add(line.slice(end));
  return out;
};
