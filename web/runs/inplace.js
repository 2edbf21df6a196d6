// A run's name, note and tags, edited in the cell of a table: Enter saves, Escape does not.
import {post, runPath} from '../server/api.js';
import {el} from '../base/view.js';

const tagsOf = (text) => [...new Set(text.split(',').map((tag) => tag.trim()).filter(Boolean))];

// text: what is edited; save: the request; or undefined if nothing was changed.
const KINDS = {
  name: {
    text: (run) => run.name,
    save: (run, text) => text !== run.name && post(`${runPath(run.name)}/name`, {name: text}),
  },
  note: {
    text: (run, note) => note ?? '',
    save: (run, text, note) => text !== (note ?? '') && post(`${runPath(run.name)}/note`, {note: text}),
  },
  tags: {
    text: (run) => run.tags.join(', '),
    save: (run, text) => {
      const wanted = tagsOf(text);
      const add = wanted.filter((tag) => !run.tags.includes(tag));
      const remove = run.tags.filter((tag) => !wanted.includes(tag));
      return (add.length || remove.length) && post(`${runPath(run.name)}/tags`, {add, remove});
    },
  },
};

export const canEdit = (key) => key in KINDS;

/** A button that turns the cell around it into an input. done(error): it was saved, or why not. */
export const editButton = (key, run, value, done) => {
  const edit = (event) => {
    const cell = event.target.closest('td');
    const before = [...cell.childNodes];
    const close = () => {
      if (!input.isConnected) return;
      input.readOnly = true; // the browser reports a lost focus for an input that is removed
      const isFocused = document.activeElement === input;
      cell.replaceChildren(...before);
      if (isFocused) cell.querySelector('.edit')?.focus();
    };
    const save = async () => {
      const request = KINDS[key].save(run, input.value.trim(), value);
      input.readOnly = true;
      try {
        const isChanged = Boolean(await request);
        close();
        if (isChanged) done();
      } catch (error) {
        close();
        done(error);
      }
    };
    const input = el('input', {
      name: `edited-${key}`, value: KINDS[key].text(run, value), 'aria-label': `The ${key} of ${run.name}`,
      onkeydown: (pressed) => {
        pressed.stopPropagation();
        if (pressed.key === 'Enter') save();
        else if (pressed.key === 'Escape') close();
      },
      onblur: () => { if (!input.readOnly) save(); },
    });
    cell.replaceChildren(input);
    input.focus();
    input.select();
  };
  const label = `Edit the ${key} of ${run.name}`;
  return el('button', {type: 'button', class: 'edit', 'aria-label': label, onclick: edit});
};
