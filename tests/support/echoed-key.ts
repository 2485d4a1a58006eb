// The planted key as an upstream may send it back, and a look at whether any of it came through.
import { plantedKey } from './attack-ground.ts';

const bytes = Buffer.from(plantedKey);

/** Name of the form, and the key in it. */
export const echoedForms: readonly (readonly [name: string, text: string])[] = [
  ['as it is', plantedKey],
  ['base64', bytes.toString('base64')],
  ['base64 one byte on', Buffer.from(`:${plantedKey}.`).toString('base64')],
  ['base64 two bytes on', Buffer.from(`u:${plantedKey}.`).toString('base64')],
  ['base64 for URLs', Buffer.from(`x-access-token:${plantedKey}`).toString('base64url')],
  ['hexadecimal', bytes.toString('hex')],
  ['hexadecimal in capitals', bytes.toString('hex').toUpperCase()],
  ['percent-encoded', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
  ['percent-encoded in part', plantedKey.replaceAll('-', '%2D')],
  ['escaped as JSON', [...plantedKey].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('')],
];

/** The longest run of the key's own characters that can be read in what came, whatever it is written in. */
export function readableKey(received: string): number {
  const plain = received
    .replace(/\\u00([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const words = received.match(/[A-Za-z0-9+/_-]{6,}/g) ?? [];
  const decoded = words.flatMap((word) => [
    ...[0, 1, 2, 3].map((skip) => Buffer.from(word.slice(skip), 'base64').toString('latin1')),
    ...[0, 1].map((skip) => Buffer.from(word.slice(skip), 'hex').toString('latin1')),
  ]);
  return Math.max(...[plain, ...decoded].map(longestRun));
}

function longestRun(text: string): number {
  let longest = 0;
  for (let from = 0; from < plantedKey.length; from++) {
    while (text.includes(plantedKey.slice(from, from + longest + 1)) && from + longest < plantedKey.length) longest++;
  }
  return longest;
}
