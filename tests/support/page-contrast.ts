// How well the text of a page can be told from what is behind it, as the browser has computed both: by WCAG's formula, over
// every text that is drawn. Backgrounds that let others through are laid over each other first.
import type { Page } from 'playwright-core';

export interface Contrasts {
  /** How many texts were looked at: none at all would be good, too. */
  readonly texts: number;
  /** Those below 4.5 to 1: `3.2 dt.soft "Ends"`. */
  readonly faint: readonly string[];
}

export function contrastsOf(page: Page): Promise<Contrasts> {
  return page.evaluate<Contrasts>(`(${measure.toString()})()`);
}

/** Runs in the page, hence in one piece. Types of the DOM are not here. */
function measure(): Contrasts {
  // biome-ignore lint/suspicious/noExplicitAny: the browser's own objects
  const { document, getComputedStyle, NodeFilter } = globalThis as any;
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const known = new Map<string, number[]>();
  const colour = (text: string): number[] => {
    let found = known.get(text);
    if (found === undefined) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = text;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      found = [r, g, b, a / 255];
      known.set(text, found);
    }
    return found;
  };
  const over = (top: number[], below: number[]): number[] =>
    [0, 1, 2].map((at) => top[at]! * top[3]! + below[at]! * (1 - top[3]!)).concat(1);
  const brightness = (rgb: number[]): number => {
    const [r, g, b] = rgb.slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const faint: string[] = [];
  let texts = 0;
  const look = (element: typeof document, ink: string, words: string): void => {
    const chain = [];
    for (let one = element; one !== null; one = one.parentElement) chain.unshift(getComputedStyle(one));
    let ground = getComputedStyle(document.documentElement).colorScheme.includes('dark')
      ? [0, 0, 0, 1]
      : [255, 255, 255, 1];
    let opacity = 1;
    for (const style of chain) {
      ground = over(colour(style.backgroundColor), ground);
      opacity *= Number(style.opacity);
    }
    const drawn = colour(ink);
    const front = over([...drawn.slice(0, 3), drawn[3]! * opacity], ground);
    const [light, dark] = [brightness(front), brightness(ground)].sort((a, b) => b - a);
    const ratio = (light! + 0.05) / (dark! + 0.05);
    texts++;
    const name = `${element.localName}.${element.getAttribute('class') ?? ''}`;
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${name} ${JSON.stringify(words.slice(0, 40))}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const words = node.textContent.trim();
    const box = element.getBoundingClientRect();
    // Text for screen readers alone has one pixel; what cannot be used now is exempt.
    if (words === '' || box.width <= 1 || box.height <= 1 || !element.checkVisibility({ visibilityProperty: true }))
      continue;
    if (element.closest('.unseen, script, style, noscript, option, :disabled') !== null) continue;
    const style = getComputedStyle(element);
    look(element, element.closest('svg') === null ? style.color : style.fill, words);
  }
  for (const field of document.querySelectorAll('input[placeholder]')) {
    if (field.checkVisibility()) look(field, getComputedStyle(field, '::placeholder').color, field.placeholder);
  }
  return { texts, faint };
}
