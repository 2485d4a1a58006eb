// Attack: texts that are short to send and long to write down (characters of three bytes, escapes of six), in every place a
// sandbox has a say in, and a path that is quoted again and again: so that few requests fill the journal.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../src/path/refusal.ts';
import { encodeLine } from '../../../src/stages/audit/journal/encode-line.ts';
import { describeFlow } from '../../../src/stages/audit/journal/record.ts';
import { RecentRefusals } from '../../../src/stages/audit/recent-refusals.ts';
import { forwardedFlow } from '../../unit/stages/audit/flow-fixture.ts';

const texts = {
  'three bytes a character': '漢'.repeat(8000),
  'four bytes a pair': '😀'.repeat(4000),
  'escapes of six bytes': '\u0001'.repeat(8000),
  'halves of characters, which are escaped': '\ud800'.repeat(8000),
  'quotes and backslashes': '"\\'.repeat(4000),
  'one byte a character': 'a'.repeat(8000),
};

function hostileRecord(text: string) {
  const path = `/${text}`;
  const flow = forwardedFlow();
  const refusal = new Refusal('path.not-allowed', `POST ${path} is not allowed on ${text}`, {
    rule: `allow[0] ${text}`,
    hint: `allow: { paths: ["${path}"] } ${text}`,
    cause: new Error(`${path} ${text}`),
  });
  const hostile = {
    ...flow,
    canonical: { ...flow.canonical, host: text, path, query: `${text.slice(0, 30)}=1&`.repeat(64) },
    request: { ...flow.request, method: text },
    asked: `push ${text}`,
    incident: `placeholder of ${text}`,
    used: { model: text, tokensIn: 1, tokensOut: 1, microDollars: 1, isEstimated: false },
  };
  return describeFlow(hostile, { verdict: 'refused', status: 403, refusal, error: null });
}

const lineOf = (record: ReturnType<typeof hostileRecord>): string => encodeLine(999_999_999, 'f'.repeat(64), record);

describe('a record has so many bytes at most, whatever was sent', () => {
  test.each(Object.entries(texts))('%s', (_what, text) => {
    const line = lineOf(hostileRecord(text));
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8192);
    // Whole characters only: it is still the line of JSON that was meant.
    expect(Buffer.from(line).toString()).toBe(line);
    expect(JSON.parse(line)).toMatchObject({ seq: 999_999_999, verdict: 'refused', code: 'path.not-allowed' });
  });

  test('that it was cut stands beside it, with the length and a hash of all of it', () => {
    const path = `/${texts['three bytes a character']}`;
    const record = hostileRecord(texts['three bytes a character']);
    const digest = createHash('sha256').update(path).digest('hex').slice(0, 32);
    expect(record.path).toMatch(/^\/漢+…$/);
    expect(record.cut).toContain(`path of ${Buffer.byteLength(path)} bytes, sha256 ${digest}`);
  });

  test('two requests that differ only in what was cut can be told apart', () => {
    const [one, other] = [hostileRecord(`${'漢'.repeat(8000)}a`), hostileRecord(`${'漢'.repeat(8000)}b`)];
    expect(one.path).toBe(other.path);
    expect(one.cut).not.toBe(other.cut);
  });
});

describe('a path is written once', () => {
  const path = `/repos/${'漢'.repeat(80)}/contents`;
  const refusal = new Refusal('path.not-allowed', `GET ${path} is not allowed here`, { hint: `Allow "${path}".` });
  const flow = forwardedFlow();
  const record = describeFlow(
    { ...flow, canonical: { ...flow.canonical, path } },
    { verdict: 'refused', status: 403, refusal, error: null },
  );

  test('where a reason or a hint quotes it, it is named', () => {
    expect(lineOf(record).split('漢'.repeat(80))).toHaveLength(2);
    expect(record).toMatchObject({ path, cut: null, told: 'GET {path} is not allowed here', hint: 'Allow "{path}".' });
  });

  test('the sandbox itself is told in full', () => {
    const refusals = new RecentRefusals();
    refusals.take(record);
    expect(refusals.of('sbx-1')[0]).toMatchObject({
      reason: `GET ${path} is not allowed here`,
      hint: `Allow "${path}".`,
    });
  });

  test('a short one stays where it is read: nothing of daily work changes', () => {
    const short = new Refusal('path.not-allowed', 'POST /v1/messages is not allowed', { hint: 'Allow /v1/messages.' });
    expect(describeFlow(flow, { verdict: 'refused', status: 403, refusal: short, error: null })).toMatchObject({
      path: '/v1/messages',
      told: 'POST /v1/messages is not allowed',
      hint: 'Allow /v1/messages.',
      cut: null,
    });
  });
});
