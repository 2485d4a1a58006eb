// Attack on the journal's readers: get a credential, a query value, a header value or a line of one's own choice
// into the journal.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../src/path/refusal.ts';
import { describeFlow } from '../../../src/stages/audit/journal/record.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { arrivedFlow, forwardedFlow } from '../../unit/stages/audit/flow-fixture.ts';
import { fileOf, journalDirectory, openJournal } from '../../unit/stages/audit/journal/journal-fixture.ts';

describe('the journal holds no value the sandbox or an operator would miss', () => {
  test('no header value, query value, proof or real key', () => {
    const whole = describeFlow(forwardedFlow(), { verdict: 'allowed', status: 200, refusal: null, error: null });
    const refusal = new Refusal('malformed.framing', 'no');
    const early = describeFlow(arrivedFlow(), { verdict: 'refused', status: 400, refusal, error: null });
    const text = JSON.stringify([whole, early]);
    expect(text).not.toContain('planted');
    expect(text).not.toContain('c2J4OnB3');
    expect(text).toContain('"query":"key&beta"');
  });

  test('a value sent in the place of a name is not kept', () => {
    const flow = forwardedFlow();
    const query = `${'A1b2'.repeat(12)}&ok`;
    const record = describeFlow(
      { ...flow, canonical: { ...flow.canonical, query } },
      { verdict: 'allowed', status: 200, refusal: null, error: null },
    );
    expect(record.query).toBe('…&ok');
  });

  test('a cause that quotes a key is masked', () => {
    const refusal = new Refusal('credential.unreadable', 'the credential could not be had', {
      cause: new Error('upstream said: invalid key sk-ant-api03-PLANTEDPLANTEDPLANTED'),
    });
    const record = describeFlow(forwardedFlow(), { verdict: 'refused', status: 502, refusal, error: null });
    expect(record.reason).toContain('invalid key ***');
    expect(JSON.stringify(record)).not.toContain('PLANTED');
  });

  test('newlines, quotes, NUL and lone surrogates in a path stay inside their record', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory);
    const flow = forwardedFlow();
    const nasty = '/a"}\n{"seq":2,"prev":"x"}\r\u0000\u2028\ud800é漢';
    const canonical = { ...flow.canonical, path: nasty };
    journal.append(
      describeFlow({ ...flow, canonical }, { verdict: 'allowed', status: 200, refusal: null, error: null }),
    );
    journal.close();
    const lines = readFileSync(fileOf(directory), 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!).path).toBe(nasty);
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 1 });
  });
});
