// How the page's server answers: every answer carries the same strict fields, every text of a sandbox is JSON that no
// parser of HTML could take for its own. Never anything inline, never a cache.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** Nothing from elsewhere, nothing inline, in nobody's frame; and no text becomes markup, whatever a script does. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const strictFields: OutgoingHttpHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-read=()',
  'cache-control': 'no-store',
  // Another port of the same host is another site to nobody but us.
  'origin-agent-cluster': '?1',
};

/** To be called before anything else is done with an answer. */
export function setStrictFields(response: ServerResponse): void {
  for (const [name, value] of Object.entries(strictFields)) response.setHeader(name, value ?? '');
}

/** JSON in which no `<` is left, nor a line end that a script would see: safe wherever it lands. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escaped);
}

export function giveJson(response: ServerResponse, status: number, value: unknown): void {
  give(response, status, 'application/json; charset=utf-8', safeJson(value));
}

export function give(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.statusCode = status;
  response.setHeader('content-type', type);
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

/** A page in words, for a person without a session. The words are ours: they hold nothing of the request. */
export function giveWords(response: ServerResponse, status: number, title: string, words: string): void {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title><h1>${title}</h1><p>${words}</p></html>\n`;
  give(response, status, 'text/html; charset=utf-8', html);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
