// Attack: a program answers questions in the place of people, and whoever answers chooses the name that it passes on. A name
// with quotes in it must not become fields of a record, nor a line that nobody can read.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Question, startGateway } from '../../../src/index.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';

const host = 'asked.example.com';

test('a name with quotes stays a name, and the journal stays whole', async () => {
  const ground = mkdtempSync(join(tmpdir(), 'sallyport-approver-'));
  const far = createServer((_, response) => response.end('passed'));
  await new Promise<void>((resolve) => far.listen(0, '127.0.0.1', resolve));
  const home = join(ground, 'state');
  const gateway = await startGateway({
    config: {
      version: 1,
      listen: { proxy: '127.0.0.1:0' },
      allow: [{ host, plain_http: true, ports: [80], ask: true }],
      upstream: { resolve: { [host]: `127.0.0.1:${(far.address() as AddressInfo).port}` } },
    },
    home,
    log: false,
  });
  try {
    const { proof } = await gateway.register({ id: 'one', proof: ['secret'] });
    const stop = new AbortController();
    const answering = (async () => {
      for await (const { event, data } of gateway.questions.watch(stop.signal)) {
        if (event !== 'question') continue;
        const by = 'Zoë"],["x",0,"y"]],"verdict":"refused","trail":[["z",0,"';
        await gateway.questions.answer((data as Question).id, { answer: 'approve', for: 'once', by });
      }
    })();
    const socket = connect(Number(/:(\d+)$/.exec(gateway.doors[0]!)?.[1]), '127.0.0.1');
    const login = Buffer.from(`one:${proof.secret}`).toString('base64');
    socket.write(
      `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nProxy-Authorization: Basic ${login}\r\nConnection: close\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200[\s\S]*passed$/);
    stop.abort();
    await answering;
  } finally {
    await gateway.stop();
    far.close();
  }
  const directory = join(home, 'journal');
  const lines = readFileSync(join(directory, 'journal-000001.jsonl'), 'utf8').trimEnd().split('\n');
  const records = lines.map((line) => JSON.parse(line) as { readonly verdict?: string; readonly trail?: unknown[][] });
  const passed = records.find(({ trail }) => trail !== undefined);
  expect(passed?.verdict).toBe('allowed');
  expect(passed?.trail?.find(([stage]) => stage === 'ask')?.[2]).toMatch(/^approve once by Zo_[\w.:/ -]*$/);
  expect(await verifyJournal(directory)).toMatchObject({ ok: true });
  rmSync(ground, { recursive: true });
});
