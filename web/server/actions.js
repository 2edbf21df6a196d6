// Actions of a viewer on a run. Each asks for confirmation, and requires a token with the right to write.
import {get, post, runPath} from './api.js';
import {duration, el, number, section} from '../base/view.js';

let rights;

/** Whether this viewer may change anything. */
export const mayWrite = async () => {
  rights ??= get('api/').then((answer) => answer.may_write);
  try {
    return await rights;
  } catch {
    rights = undefined;
    return false;
  }
};

/** Asks for confirmation; returns true for yes. Escape means no; the focus returns to its former place. */
const confirmed = (question, yes, fields = []) =>
  new Promise((resolve) => {
    const dialog = el('dialog', {'aria-label': question},
      el('p', {}, question),
      fields.length ? el('div', {class: 'bar'}, fields) : '',
      el('div', {class: 'bar'},
        el('button', {type: 'button', autofocus: true, onclick: () => dialog.close('')}, 'Cancel'),
        el('button', {type: 'button', class: 'danger', onclick: () => dialog.close('yes')}, yes)));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });

/** The element with the outcome of an action. `during` shows that it is running, and its error. */
export class Outcome {
  node = el('span', {role: 'status'});

  say(text, isProblem = false) {
    this.node.className = isProblem ? 'error' : 'quiet';
    this.node.textContent = text;
  }

  async during(text, call) {
    this.say(text);
    try {
      this.say(await call() ?? '');
    } catch (error) {
      this.say(error.message, true);
    }
  }
}

/** @type {(answer: any) => any} */
const nothing = () => '';

/** A button for a request to a run. `does(answer)` may return a text about the result. */
const action = (run, outcome, {label, question, yes, path, body, fields = [], during = 'asking', does = nothing}) =>
  el('button', {type: 'button', onclick: async (event) => {
    if (!await confirmed(question, yes, fields)) return;
    event.target.disabled = true;
    await outcome.during(during, async () => does(await post(`${runPath(run.name)}/${path}`, body())));
    event.target.disabled = false;
  }}, label);

const stopActions = (run, outcome) => [
  action(run, outcome, {
    label: 'Stop…', question: `Stop ${run.name} at its next checkpoint?`, yes: 'Stop the run', path: 'stop',
    body: () => ({}),
    does: ({grace_s: grace}) => `It stops at its next checkpoint, at the latest in ${duration(grace)}.`,
  }),
  action(run, outcome, {
    label: 'Stop now…', question: `Kill the workers of ${run.name} now, without another checkpoint?`,
    yes: 'Kill the workers', path: 'stop', body: () => ({now: true}), does: () => 'Its workers are killed.',
  }),
];

const profileText = ({profiles}) => profiles.map((each) => (each.error
  ? `rank ${each.rank}: ${each.error}`
  : `rank ${each.rank}: ${number(each.events)} events in ${each.path}`)).join('\n');

const secondsInput = () =>
  el('input', {type: 'number', name: 'seconds', min: 0.1, max: 60, step: 'any', value: 5, required: true});

/** Records where a rank spends its time; without a rank all ranks. */
export const profileAction = (run, rank, outcome) => {
  const seconds = secondsInput();
  const shapes = el('input', {type: 'checkbox', name: 'shapes'});
  const whose = rank === undefined ? 'all ranks do' : `rank ${rank} does`;
  return action(run, outcome, {
    label: 'Profile…', question: `Record what ${whose}? Its steps are slower meanwhile.`,
    yes: 'Record', path: 'profile', during: 'recording',
    fields: [el('label', {}, 'Seconds', seconds), el('label', {class: 'inline'}, shapes, 'with the shapes of inputs')],
    body: () => ({rank, seconds: Number(seconds.value), shapes: shapes.checked}), does: profileText,
  });
};

/** Samples the stacks of a rank. `shown()` shows them. */
export const flameAction = (run, rank, outcome, shown) => {
  const seconds = secondsInput();
  const idle = el('input', {type: 'checkbox', name: 'idle'});
  return action(run, outcome, {
    label: 'Flame graph…', question: `Sample the stacks of rank ${rank}?`, yes: 'Record', path: 'profile',
    during: 'recording',
    fields: [el('label', {}, 'Seconds', seconds), el('label', {class: 'inline'}, idle, 'also threads that wait')],
    body: () => ({rank, seconds: Number(seconds.value), flame: true, idle: idle.checked}),
    does: async ({profiles: [profile]}) => {
      if (profile.error) return profile.error;
      await shown();
      return `${number(profile.events)} samples${profile.note ? `; ${profile.note}` : ''}`;
    },
  });
};

/** Records which code holds the memory of a rank's tensors. `shown()` shows the recording. */
export const memoryAction = (run, rank, outcome, shown) => {
  const seconds = secondsInput();
  return action(run, outcome, {
    label: 'Memory…', question: `Record who has the memory of rank ${rank}? Its steps are slower meanwhile.`,
    yes: 'Record', path: 'profile', during: 'recording', fields: [el('label', {}, 'Seconds', seconds)],
    body: () => ({rank, seconds: Number(seconds.value), memory: true}),
    does: async ({profiles: [profile]}) => {
      if (profile.error) return profile.error;
      await shown();
      return `${number(profile.events)} allocations${profile.note ? `; ${profile.note}` : ''}`;
    },
  });
};

const archiveAction = (run, outcome, again) => action(run, outcome, run.archived ? {
  label: 'List again…', question: `List ${run.name} among the runs again?`, yes: 'List it',
  path: 'archived', body: () => ({archived: false}), does: again,
} : {
  label: 'Archive…', question: `Hide ${run.name} from the list of runs? Nothing of it is removed.`, yes: 'Archive',
  path: 'archived', body: () => ({archived: true}), does: again,
});

/** All actions of a run. `again` shows the run in its new state. */
export const runActions = (run, again) => {
  const outcome = new Outcome();
  return el('div', {class: 'actions', role: 'group', 'aria-label': 'Actions'},
    outcome.node,
    run.live ? [...stopActions(run, outcome), profileAction(run, undefined, outcome)] : '',
    archiveAction(run, outcome, again));
};

/** Note and tags; read-only for viewers without the right to write. */
export const noteView = (run, writes, again) => {
  if (!writes) return run.note ? section('Note', el('p', {}, run.note)) : '';
  const outcome = new Outcome();
  const send = (path, body) => outcome.during('saving', async () => {
    await post(`${runPath(run.name)}/${path}`, body);
    await again();
  });
  const form = (path, body, ...children) => el('form', {class: 'bar', onsubmit: (event) => {
    event.preventDefault();
    send(path, body(new FormData(event.target)));
  }}, ...children);
  return section('Note and tags',
    form('note', (values) => ({note: values.get('note')}),
      el('label', {}, 'Note', el('textarea', {name: 'note', cols: 48, rows: 2}, run.note)),
      el('button', {}, 'Save the note')),
    run.tags.length
      ? el('div', {class: 'bar'},
        run.tags.map((tag) => el('button', {type: 'button', onclick: async () => {
          if (await confirmed(`Remove the tag ${tag}?`, 'Remove')) send('tags', {remove: [tag]});
        }}, `Remove the tag ${tag}…`)))
      : '',
    form('tags', (values) => ({add: [values.get('tag')]}),
      el('label', {}, 'Another tag', el('input', {name: 'tag', size: 16, required: true})),
      el('button', {}, 'Add the tag')),
    outcome.node);
};
