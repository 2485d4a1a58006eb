// The title and the icon: all that is seen of the page in a row of tabs. They say how many wait, or that nobody knows, since the
// page does not hear from its gateway.
import { byId } from './dom.js';

let waiting = 0;
let isHeard = true;

/** @param {number} count */
export function titleWaiting(count) {
  waiting = count;
  show();
}

/** @param {boolean} heard whether what the page shows is still so */
export function titleHeard(heard) {
  isHeard = heard;
  show();
}

function show() {
  const some = waiting > 0 && isHeard;
  document.title = !isHeard ? 'Not live: Sallyport' : some ? `(${waiting}) Sallyport` : 'Sallyport';
  byId('icon', HTMLLinkElement).href = some ? '/icon-waiting.svg' : '/icon.svg';
}
