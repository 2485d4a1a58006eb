// Time as the gateway counts it, and the words that grow old on the page: one timer rewrites them all. Elements made by
// `until`, `ago` and `age` need nothing more.
import { el, say } from './dom.js';
import { fullTime, span } from './text.js';

let aheadMs = 0;

/** @param {number} gatewayMs */
export function setClock(gatewayMs) {
  aheadMs = gatewayMs - Date.now();
}

export function now() {
  return Date.now() + aheadMs;
}

/**
 * `in 3 min`, counting down.
 * @param {number} ms
 * @param {'left' | 'in' | 'bare'} words
 */
export function until(ms, words = 'in') {
  return timeElement(ms, words);
}

/**
 * `3 min ago`.
 * @param {number} ms
 */
export function ago(ms) {
  return timeElement(ms, 'ago');
}

/**
 * `3 min`, growing.
 * @param {number} ms
 */
export function age(ms) {
  return timeElement(ms, 'age');
}

/**
 * @param {number} ms
 * @param {string} words
 */
function timeElement(ms, words) {
  if (Number.isNaN(ms)) return el('span', {}, 'unknown');
  const time = el('time', { 'data-at': ms, 'data-words': words, title: fullTime(ms) });
  time.dateTime = new Date(ms).toISOString();
  refresh(time);
  return time;
}

/** @param {HTMLTimeElement} time */
function refresh(time) {
  const at = Number(time.dataset.at);
  const leftMs = at - now();
  if (time.dataset.words === 'ago') say(time, -leftMs < 1500 ? 'just now' : `${span(-leftMs)} ago`);
  else if (time.dataset.words === 'age') say(time, span(-leftMs));
  else if (leftMs <= 0) say(time, 'over');
  else if (time.dataset.words === 'in') say(time, `in ${span(leftMs)}`);
  else say(time, time.dataset.words === 'left' ? `${span(leftMs)} left` : span(leftMs));
}

export function startClock() {
  setInterval(() => {
    for (const time of document.querySelectorAll('time[data-at]')) refresh(/** @type {HTMLTimeElement} */ (time));
  }, 1000);
}
