// Builds the page: elements, attributes and text, never markup. Every text and every label goes through `visible`, here,
// so that no other module can forget it.
import { visible } from './text.js';

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>} Attributes */

const svgNamespace = 'http://www.w3.org/2000/svg';
const spoken = new Set(['title', 'aria-label', 'aria-valuetext', 'placeholder', 'alt']);

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  fill(element, children);
  return element;
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(svgNamespace, tag);
  dress(element, attributes);
  fill(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, spoken.has(name) ? visible(value) : String(value));
  }
}

/**
 * Puts these in place of what is there.
 * @param {Element} element
 * @param {readonly Child[]} children
 */
export function fill(element, children) {
  /** @type {(Node | string)[]} */
  const nodes = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    nodes.push(child instanceof Node ? child : visible(child));
  }
  element.replaceChildren(...nodes);
}

/**
 * Changes a text only when it is another one: a screen reader and a selection are left in peace.
 * @param {Element} element
 * @param {string | number} text
 */
export function say(element, text) {
  const next = visible(text);
  if (element.textContent !== next) element.textContent = next;
}

/**
 * @template {Element} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`the page has no ${id}`);
}

/**
 * A list of which each item keeps its element for as long as it is there, so that focus and open fields stay.
 * @template Item
 * @param {Element} parent
 * @param {(item: Item) => string} keyOf
 * @param {(item: Item) => {readonly node: Element, readonly update: (item: Item) => void}} make
 * @returns {(items: readonly Item[]) => void}
 */
export function keyed(parent, keyOf, make) {
  /** @type {Map<string, {readonly node: Element, readonly update: (item: Item) => void}>} */
  const kept = new Map();
  return (items) => {
    const wanted = new Set(items.map(keyOf));
    for (const [key, { node }] of kept) {
      if (wanted.has(key)) continue;
      node.remove();
      kept.delete(key);
    }
    let at = parent.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      const entry = kept.get(key) ?? make(item);
      kept.set(key, entry);
      entry.update(item);
      if (entry.node === at) at = at.nextElementSibling;
      else parent.insertBefore(entry.node, at);
    }
  };
}

/**
 * A list of facts: those without a value are left out.
 * @param {readonly (readonly [string, Child])[]} facts
 */
export function factList(facts) {
  const list = el('dl', { class: 'facts' });
  for (const [name, value] of facts) {
    if (value === null || value === undefined || value === false || value === '') continue;
    list.append(el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  }
  return list;
}

/**
 * What to do, which may be lines of a file to write: kept as lines, where elsewhere a line end is a character like any other.
 * @param {string} text
 */
export function advice(text) {
  const lines = text.split('\n').map((line) => el('span', { class: 'line' }, line === '' ? ' ' : line));
  return el('span', { class: 'advice' }, ...lines);
}

/**
 * Text of a file as it stands there, line by line, with its numbers.
 * @param {string} text
 * @param {number} first
 * @param {string} mark
 */
export function fileLines(text, first, mark = '') {
  const lines = text.replace(/\n$/, '').split('\n');
  const rows = lines.map((line, at) =>
    el('span', { class: 'line' }, el('span', { class: 'number' }, first + at), mark, line === '' ? ' ' : line),
  );
  return el('pre', { class: mark === '' ? 'file' : 'file added', tabindex: 0 }, ...rows);
}
