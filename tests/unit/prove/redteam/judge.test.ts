import { describe, expect, test } from 'vitest';
import {
  answered,
  findBait,
  fromJournal,
  inBase64,
  refusedInWords,
  stoppedByKernel,
  unlessVisited,
} from '../../../../src/prove/redteam/judge.ts';
import { bait, facts, observation, seenRequest } from '../doctor/facts.ts';

const refusal = observation({
  text: 'HTTP/1.1 403 Forbidden\r\nX-Sallyport-Refused: domain.not-allowed\r\n\r\n{"error":"no"}',
});
const record = { seq: 7, sandbox: 's', host: 'a.example', path: '/', verdict: 'refused', code: 'domain.not-allowed' };

describe('a refusal counts only with proof that it is ours', () => {
  test('our own answer under an expected code holds', () => {
    const finding = refusedInWords(facts({ observed: [refusal] }), /^domain\./);
    expect(finding).toEqual({ verdict: 'held', evidence: '403 domain.not-allowed' });
  });

  test('a failed connection is unproven, never held', () => {
    const observed = [observation({ error: 'ECONNRESET' })];
    expect(refusedInWords(facts({ observed }), /./).verdict).toBe('unproven');
    expect(refusedInWords(facts({ observed: [observation({ error: 'no answer' })] }), /./).verdict).toBe('unproven');
  });

  test('a closed connection holds when the journal has the refusal', () => {
    const observed = [observation({ error: 'ECONNRESET' })];
    expect(refusedInWords(facts({ observed, journal: [record] }), /^domain\./)).toMatchObject({
      verdict: 'held',
      evidence: expect.stringContaining('journal 7: domain.not-allowed'),
    });
    expect(fromJournal(facts({ journal: [record] }), /^push\./, 'x').verdict).toBe('unproven');
  });

  test('an answer of the other side is a hole, and its own error is unproven', () => {
    const passed = observation({ text: 'HTTP/1.1 200 OK\r\n\r\nhello' });
    const failed = observation({ text: 'HTTP/1.1 404 Not Found\r\n\r\n' });
    expect(refusedInWords(facts({ observed: [passed] }), /./).verdict).toBe('hole');
    expect(refusedInWords(facts({ observed: [failed] }), /./).verdict).toBe('unproven');
    expect(refusedInWords(facts({ observed: [refusal, passed] }), /./).verdict).toBe('hole');
  });

  test('our refusal for another reason proves nothing', () => {
    expect(refusedInWords(facts({ observed: [refusal] }), /^push\./).verdict).toBe('unproven');
  });

  test('what arrived on the other side is a hole, whatever the client was told', () => {
    expect(refusedInWords(facts({ observed: [refusal], seen: [seenRequest] }), /^domain\./)).toMatchObject({
      verdict: 'hole',
      evidence: 'arrived at the other side: GET a.example/',
    });
  });
});

describe('the kernel is believed in its own words', () => {
  test.each([
    [null, 'hole'],
    ['EPERM', 'held'],
    ['ETIMEDOUT', 'unproven'],
  ])('%s is %s', (error, verdict) => {
    expect(stoppedByKernel(facts({ observed: [observation({ error })] }), ['EPERM'], 'why').verdict).toBe(verdict);
  });

  test('one that worked among many is a hole', () => {
    const observed = [observation({ error: 'EPERM' }), observation({})];
    expect(stoppedByKernel(facts({ observed }), ['EPERM'], 'why').verdict).toBe('hole');
  });

  test('a visit outside is a hole, whatever the kernel said', () => {
    const all = facts({ observed: [observation({ error: 'EPERM' })], visited: ['the planted docker socket'] });
    expect(unlessVisited(all, () => stoppedByKernel(all, ['EPERM'], 'why')).verdict).toBe('hole');
  });
});

describe('a planted secret that shows up inside is a hole', () => {
  test.each([
    ['as it is', `key=${bait}!`],
    ['in an error', ''],
    ['across two chunks', `HTTP/1.1 200 OK\r\n\r\n10\r\n${bait.slice(0, 16)}\r\n14\r\n${bait.slice(16)}\r\n0\r\n`],
    ['in base64', Buffer.from(`me:${bait}`).toString('base64')],
    ['in base64 at another offset', Buffer.from(`user:${bait}:x`).toString('base64')],
  ])('%s', (how, text) => {
    const observed = [observation(how === 'in an error' ? { error: `bad key ${bait}` } : { text })];
    expect(findBait(facts({ observed }))?.verdict).toBe('hole');
    expect(findBait(facts({ control: observed }))?.verdict).toBe('hole');
  });

  test('anything else is not', () => {
    expect(findBait(facts({ observed: [observation({ text: bait.slice(0, 30) })] }))).toBeNull();
  });

  test('every offset of base64 is known', () => {
    for (const before of ['', 'a', 'ab', 'abc', 'abcd']) {
      const text = Buffer.from(`${before}${bait} and more`).toString('base64');
      expect(inBase64(bait).some((form) => text.includes(form))).toBe(true);
    }
  });
});

test('a control that we refuse, or that fails, is no control', () => {
  const control = answered('x', () => []);
  expect(control.fails([observation({ text: 'HTTP/2 200 \r\n\r\n' })])).toBeNull();
  expect(control.fails([refusal])).toBe('403 domain.not-allowed');
  expect(control.fails([observation({ text: 'HTTP/1.1 500 Oops\r\n\r\n' })])).toBe('500');
  expect(control.fails([observation({ error: 'ECONNREFUSED' })])).toBe('ECONNREFUSED');
});
