// Whether the server answers. While it does not, a banner says so, and requests wait: it is asked again and again, and
// what waited goes on by itself.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;
const GATEWAY_ERRORS = [502, 504];

const banner = document.getElementById('banner');

const TEXTS = {
  gone: 'The server does not answer. This page shows what it had last, tries again, and goes on by itself.',
  stranger: 'The server has another token than this page: open the address that it has printed.',
};

let waiting;

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Whether a status says that a proxy does not reach the server. */
export const isGateway = (status) => GATEWAY_ERRORS.includes(status);

const look = async () => {
  try {
    const {status} = await fetch('api/', {credentials: 'same-origin', cache: 'no-store'});
    if (isGateway(status)) return 'gone';
    return status === 401 ? 'stranger' : '';
  } catch {
    return 'gone';
  }
};

const watch = async () => {
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(2 * ms, LONGEST_PAUSE_MS)) {
    const state = await look();
    banner.hidden = !state;
    banner.textContent = TEXTS[state] ?? '';
    if (!state) return;
    await pause(ms);
  }
};

/** Resolves when the server answers, at once if it does. */
export const untilReachable = () => {
  waiting ??= watch().finally(() => { waiting = undefined; });
  return waiting;
};
