// Light, dark, or as the system has it: one button goes round, and the choice is kept in this browser.
import { say } from './dom.js';

const key = 'sallyport-theme';
const choices = /** @type {const} */ (['system', 'light', 'dark']);

/** @typedef {(typeof choices)[number]} Theme */

/** @param {HTMLButtonElement} button */
export function startTheme(button) {
  let theme = kept();
  const show = () => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    say(button, { system: 'Auto', light: 'Light', dark: 'Dark' }[theme]);
    button.setAttribute('aria-label', `Colours: ${theme === 'system' ? 'as the system has them' : theme}. Change`);
  };
  button.addEventListener('click', () => {
    theme = choices[(choices.indexOf(theme) + 1) % choices.length] ?? 'system';
    try {
      localStorage.setItem(key, theme);
    } catch {
      // Storage may be switched off: then the choice lasts as long as the page.
    }
    show();
  });
  show();
}

/** @returns {Theme} */
function kept() {
  try {
    const value = localStorage.getItem(key);
    return choices.find((choice) => choice === value) ?? 'system';
  } catch {
    return 'system';
  }
}
