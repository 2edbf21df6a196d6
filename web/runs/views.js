// Saved views: an address of the page of all runs, or of a report, with a name. They are stored next to the runs, for
// all viewers.
import {Outcome} from '../server/actions.js';
import {get, post} from '../server/api.js';
import {brief, el, linkTo} from '../base/view.js';

let last;

const addressNow = () => location.hash.replace(/^#\/?/, '') || '?';

/** A list of views that opens the chosen one, and buttons to save and to remove one. */
export class ViewsBar {
  #views = [];
  #signal;
  #writes = false;
  #outcome = new Outcome();
  #list = el('select', {name: 'view', onchange: (event) => this.#open(event.target.value)});
  #save = el('button', {type: 'button', onclick: () => this.#askName()}, 'Save view…');
  #remove = el('button', {type: 'button', onclick: () => this.#drop()}, 'Remove view');
  #report = linkTo('report', 'New report');

  constructor(signal) {
    this.#signal = signal;
    addEventListener('querychange', () => this.#show(), {signal});
    this.node = el('div', {class: 'views'},
      el('label', {class: 'inline'}, 'View', this.#list), this.#save, this.#remove, this.#report, this.#outcome.node);
    this.#show();
  }

  async load(writes) {
    this.#writes = writes;
    const {views} = await get('api/views', {}, this.#signal);
    this.#views = views;
    this.#show();
  }

  // The one that this address is; of several the one that was chosen or saved last.
  get #current() {
    const same = this.#views.filter(({address}) => address === addressNow());
    return same.find((view) => view.name === last) ?? same[0];
  }

  #show() {
    const option = (view) => el('option', {value: view.name, selected: view === this.#current}, brief(view.name));
    this.#list.replaceChildren(el('option', {value: ''}, this.#views.length ? 'choose' : 'none saved'),
      ...this.#views.map(option));
    this.node.hidden = !this.#writes && !this.#views.length;
    this.#report.hidden = !this.#writes;
    this.#save.hidden = !this.#writes;
    this.#remove.hidden = !this.#writes || !this.#current;
  }

  #open(name) {
    const view = this.#views.find((each) => each.name === name);
    last = name;
    if (view) location.hash = `#/${view.address}`;
  }

  #askName() {
    const name = el('input', {name: 'view-name', value: this.#current?.name ?? '', maxlength: 100, required: true});
    const dialog = el('dialog', {'aria-label': 'Save this view'},
      el('form', {onsubmit: (event) => {
        event.preventDefault();
        dialog.close();
        last = name.value.trim();
        this.#post({name: last, address: addressNow()}, 'saved');
      }},
      el('label', {}, 'Name of the view', name),
      el('p', {class: 'quiet'}, 'It keeps what the address of this page has. A view of that name is replaced.'),
      el('div', {class: 'bar'},
        el('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel'), el('button', {}, 'Save'))));
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    name.select();
  }

  #drop() { this.#post({name: this.#current.name}, 'removed'); }

  #post(body, done) {
    this.#outcome.during('saving', async () => {
      const {views} = await post('api/views', body);
      this.#views = views;
      this.#show();
      return done;
    });
  }
}
