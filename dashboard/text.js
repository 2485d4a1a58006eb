// Words and numbers for people. Nearly every text on this page may come from a sandbox: what cannot be seen, or turns the
// direction of writing around, is made visible here, so that no name can pose as another. Never makes markup.

/**
 * Controls, format characters (bidi, zero width, tags), lone surrogates, private and unassigned ones, line separators, what may be
 * drawn as nothing (blank letters, variation selectors), the blank of Braille. As in src/kit/text/unseen.ts: a test compares them.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * `⟨U+202E⟩` in place of what cannot be seen.
 * @param {unknown} value
 */
export function visible(value) {
  return String(value ?? '').replace(unseen, (character) => {
    const code = /** @type {number} */ (character.codePointAt(0));
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/**
 * @param {string} text
 * @param {number} max
 */
export function cut(text, max) {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** @param {number} value */
export function count(value) {
  return whole.format(value);
}

/**
 * `3 requests`.
 * @param {number} value
 * @param {string} one
 * @param {string} many
 */
export function counted(value, one, many = `${one}s`) {
  return `${whole.format(value)} ${value === 1 ? one : many}`;
}

/** @param {number} value */
export function bytes(value) {
  let left = value;
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (left < 1000) return `${short.format(left)} ${unit}`;
    left /= 1000;
  }
  return `${short.format(left)} TB`;
}

/** @param {number} value */
export function dollars(value) {
  const digits = value === 0 || value >= 1 ? 2 : value >= 0.01 ? 3 : 5;
  return `$${value.toFixed(digits)}`;
}

/** @param {number} ms */
export function took(ms) {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${short.format(ms)} ms`;
  return ms < 60_000 ? `${short.format(ms / 1000)} s` : span(ms);
}

/**
 * A stretch of time in its two largest units: `3 h 12 min`.
 * @param {number} ms
 */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** @param {number} ms */
export function clockTime(ms) {
  return new Date(ms).toLocaleTimeString('en-GB');
}

/** @param {number} ms */
export function fullTime(ms) {
  return Number.isNaN(ms)
    ? 'unknown'
    : new Date(ms)
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, ' UTC');
}

/**
 * Host with what is unusual about scheme and port; `https` and its port go without saying. Of a tunnel: host and port.
 * @param {{readonly scheme: string, readonly host: string, readonly port: number, readonly kind?: string}} target
 */
export function origin({ scheme, host, port, kind }) {
  if (kind === 'connect' || kind === 'tunnel') return `${host}:${port}`;
  const usual = scheme === 'http' ? 80 : 443;
  return `${scheme === 'http' ? 'http://' : ''}${host}${port === usual || port === 0 ? '' : `:${port}`}`;
}
