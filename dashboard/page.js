// The page as a whole: makes its parts, hands each what the gateway tells, and listens to the keys.
import { startClock } from './clock.js';
import { createCredentials } from './credentials.js';
import { openHelp } from './dialogs.js';
import { byId, say } from './dom.js';
import { createFeed } from './feed.js';
import { listen } from './gateway.js';
import { createQuestions, isField } from './questions.js';
import { createRefusals } from './refusals.js';
import { startRequests } from './request.js';
import { createSandboxes } from './sandboxes.js';
import { startTheme } from './theme.js';
import { showConnection, showGateway } from './top.js';
import { createTraffic } from './traffic.js';

/** @typedef {import('./gateway.js').Parts} Parts */

startTheme(byId('theme', HTMLButtonElement));
const announcer = byId('announcer', HTMLElement);
const feed = createFeed();
const questions = createQuestions((text) => say(announcer, text));
const sandboxes = createSandboxes((name) => feed.showSandbox(name));
const refusals = createRefusals((code) => feed.showCode(code));
const credentials = createCredentials();
const traffic = createTraffic();

/** @type {{[Name in keyof Parts]: (value: Parts[Name]) => void}} */
const show = {
  gateway: showGateway,
  sandboxes(views) {
    sandboxes.update(views);
    feed.nameSandboxes(views.map(({ id }) => id));
  },
  credentials: credentials.update,
  questions: questions.update,
  approvals: sandboxes.updateApprovals,
  refusals: refusals.update,
  traffic: traffic.update,
  requests: feed.add,
};

listen({
  onState(state) {
    show.gateway(state.gateway);
    show.sandboxes(state.sandboxes);
    show.credentials(state.credentials);
    show.questions(state.questions);
    show.approvals(state.approvals);
    show.refusals(state.refusals);
    show.traffic(state.traffic);
    feed.reset(state.requests);
  },
  onPart: (name, value) => show[name](value),
  onConnection: showConnection,
});
startClock();
startRequests();

byId('help', HTMLButtonElement).addEventListener('click', openHelp);
const host = byId('filter-host', HTMLInputElement);
host.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') host.blur();
});

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
  if (document.querySelector('dialog[open]') !== null) return;
  /** @type {Record<string, () => void>} */
  const keys = {
    '/': () => host.select(),
    '?': openHelp,
    j: () => feed.move(1),
    k: () => feed.move(-1),
    p: feed.togglePause,
    q: questions.focusFirst,
  };
  const act = keys[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
});
