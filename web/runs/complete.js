// An input that completes names: what is typed before the cursor is part of a name from a list.
import {el} from '../base/view.js';

const MOST = 8;
const TYPED = /(?:"[^"]*|[\w./]+)$/;

let count = 0;

/** The name as an SQL expression has it. */
const quoted = (name) => (/^[A-Za-z_][\w]*([./][A-Za-z_]\w*)*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

const matching = (names, part) => {
  const wanted = part.replace(/^"/, '').toLowerCase();
  const begins = names.filter((name) => name.toLowerCase().startsWith(wanted));
  const has = names.filter((name) => !begins.includes(name) && name.toLowerCase().includes(wanted));
  return [...begins, ...has].slice(0, MOST);
};

/** Adds the list to the input. names(): the names, in a promise. Returns the element that holds both. */
export const completing = (input, names) => {
  const id = `names-${++count}`;
  const list = el('ul', {id, role: 'listbox', 'aria-label': 'Names of columns', hidden: true});
  let chosen = 0;
  for (const [name, value] of Object.entries({
    role: 'combobox', autocomplete: 'off', 'aria-autocomplete': 'list', 'aria-controls': id, 'aria-expanded': 'false',
  })) input.setAttribute(name, value);

  const typed = () => TYPED.exec(input.value.slice(0, input.selectionStart))?.[0] ?? '';
  const close = () => {
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const mark = (at) => {
    chosen = (at + list.children.length) % list.children.length;
    [...list.children].forEach((item, place) => item.setAttribute('aria-selected', String(place === chosen)));
    input.setAttribute('aria-activedescendant', list.children[chosen].id);
  };
  const take = (name) => {
    const end = input.selectionStart;
    input.setRangeText(quoted(name), end - typed().length, end, 'end');
    close();
    input.focus();
  };
  const look = async () => {
    const part = typed();
    if (part.length < 1) return close();
    const known = await names();
    if (part !== typed() || document.activeElement !== input) return undefined;
    const found = matching(known, part).filter((name) => name !== part);
    if (!found.length) return close();
    list.replaceChildren(...found.map((name, at) => el('li', {
      id: `${id}-${at}`, role: 'option',
      onpointerdown: (event) => {
        event.preventDefault();
        take(name);
      },
    }, name)));
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    chosen = -1;
    return undefined;
  };
  input.addEventListener('input', look);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (list.hidden) return;
    if (event.key === 'ArrowDown') mark(chosen + 1);
    else if (event.key === 'ArrowUp') mark(chosen < 0 ? list.children.length - 1 : chosen - 1);
    else if (event.key === 'Escape') close();
    else if (event.key === 'Enter' && chosen < 0) return void close();
    else if (event.key === 'Tab' && !event.shiftKey) take(list.children[Math.max(0, chosen)].textContent);
    else if (event.key === 'Enter') take(list.children[chosen].textContent);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return el('span', {class: 'completing'}, input, list);
};
