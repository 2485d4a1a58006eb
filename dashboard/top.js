// The top of the page: which gateway this is, whether it is ready, what of it is switched off, and whether this page still
// hears from it.
import { setClock } from './clock.js';
import { byId, el, fill, say } from './dom.js';
import { counted } from './text.js';
import { titleHeard } from './title.js';

/** @typedef {import('../src/gateway/dashboard/shapes.ts').GatewayView} GatewayView */
/** @typedef {import('./gateway.js').Connection} Connection */

/** @param {GatewayView} gateway */
export function showGateway(gateway) {
  setClock(gateway.nowMs);
  const ready = byId('ready', HTMLElement);
  say(ready, gateway.ready ? 'ready' : 'not ready');
  ready.className = `chip ${gateway.ready ? 'good' : 'bad'}`;
  const live = gateway.controls.filter((control) => control.live);
  const off = gateway.controls.filter((control) => !control.live);
  fill(byId('about', HTMLDListElement), [
    fact('Policy', gateway.config),
    fact(gateway.doors.length === 1 ? 'Door' : 'Doors', gateway.doors.join(', ') || 'none'),
    fact('Controls', off.length === 0 ? `all ${live.length} live` : `${live.length} live, ${off.length} off`),
  ]);
  fill(byId('notices', HTMLElement), [
    off.length === 0
      ? null
      : notice(
          `${counted(off.length, 'control')} off`,
          off.map(({ name, detail }) => `${name}: ${detail}`),
        ),
    gateway.warnings.length === 0 ? null : notice(counted(gateway.warnings.length, 'warning'), gateway.warnings),
  ]);
  say(
    byId('foot', HTMLElement),
    `Sallyport ${gateway.version}. Everything on this page comes from this gateway; it asks nobody else.`,
  );
}

/**
 * @param {string} name
 * @param {string} value
 */
function fact(name, value) {
  return el('div', {}, el('dt', {}, name), el('dd', { class: 'raw', title: value }, value));
}

/**
 * Stays open, or shut, while the gateway tells of itself.
 * @param {string} title
 * @param {readonly string[]} lines
 */
function notice(title, lines) {
  const kind = title.replace(/^[\d,]+ /, '').replace(/s$/, '');
  const wasOpen = document.querySelector(`details[data-kind="${CSS.escape(kind)}"]`)?.hasAttribute('open') ?? false;
  return el(
    'details',
    { class: 'notice', 'data-kind': kind, open: wasOpen },
    el('summary', {}, title),
    el('ul', {}, ...lines.map((line) => el('li', {}, line))),
  );
}

/** @param {Connection} connection */
export function showConnection(connection) {
  const chip = byId('connection', HTMLElement);
  const words = {
    connecting: 'connecting…',
    live: 'live',
    reconnecting: 'reconnecting…',
    crowded: 'not live: too many of these pages are open, close one',
    ended: 'this visit has ended: run `sallyport dashboard` for a new address',
  };
  say(chip, words[connection]);
  chip.className = `chip ${connection === 'live' ? 'good pulse' : connection === 'ended' ? 'bad' : 'wait'}`;
  // A page too many asks again and again; what one shows that hears nothing was so, and may not be.
  const isHeard = connection === 'live' || connection === 'crowded';
  byId('ready', HTMLElement).hidden = !isHeard;
  titleHeard(isHeard || connection === 'connecting');
}
