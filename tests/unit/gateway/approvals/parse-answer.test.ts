import { describe, expect, test } from 'vitest';
import { describeLine, said } from '../../../../src/gateway/approvals/parse-answer.ts';
import { askedFor } from '../../../support/approvals-ground.ts';

const by = 'user 0';
const forFive = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by } as const;
const effect = { rule: 'github.effects.bot.ask', effect: 'release', repository: 'acme/widgets', credential: 'key' };

describe('what was said tells all that it covers', () => {
  test.each([
    ['GET', 'GET https://ask.example/live, with any query'],
    ['GET (WebSocket)', 'GET (WebSocket) https://ask.example/live, with any query'],
  ])('for minutes, as it was shown: %s', (method, reach) => {
    const words = `approved for 5 minutes, for one alone: ${reach}`;
    expect(said(askedFor('/live', { method }), forFive)).toBe(words);
  });

  test('an effect on GitHub with its host, its port where it is another, and its credential', () => {
    expect(said(askedFor('/x', effect), forFive)).toContain('release on acme/widgets at ask.example, with key');
    const bare = askedFor('/x', { ...effect, port: 8443, credential: null });
    const words = 'release on every repository it may use at ask.example:8443, without a credential';
    expect(said(bare, { ...forFive, scope: 'host' })).toContain(words);
  });

  test.each(['GET', 'GET (WebSocket)'])('a line for GET covers both kinds, whichever was asked: %s', (method) => {
    const asked = askedFor('/live', { method });
    const rest = 'plain or as a WebSocket, for every sandbox, with the credential that belongs there';
    expect(describeLine(asked, 'path')).toBe(`GET https://ask.example/live, with any query, ${rest}`);
    expect(describeLine(asked, 'host')).toBe(`GET on every path of ask.example, ${rest}`);
  });

  test('a line for another method, or for a tunnel, has nothing of WebSockets', () => {
    expect(describeLine(askedFor(), 'host')).toBe(
      'POST on every path of ask.example, for every sandbox, with the credential that belongs there',
    );
    const tunnel = askedFor('', { method: 'CONNECT' });
    expect(describeLine(tunnel, 'host')).toBe('an undecrypted tunnel to ask.example:443, for every sandbox');
  });
});
