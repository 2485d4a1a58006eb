// The socket of a sandbox that runs serves its own user alone, also when somebody has opened its mode to all.
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ControlServer } from '../../../src/sandbox/hands/control-server.ts';
import type { RunningSandbox } from '../../../src/sandbox/run/sandbox-plan.ts';
import { asUser } from '../../support/namespace.ts';
import { runClient } from '../../support/run-client.ts';

const ran: (readonly string[])[] = [];
const ended: string[] = [];
let path: string;
let server: ControlServer;

const sandbox: RunningSandbox = {
  ended: new Promise(() => {}),
  signal: (signal) => void ended.push(signal),
  kill: () => void ended.push('kill'),
  streams: null,
  exec({ command }) {
    ran.push(command);
    const none = new PassThrough();
    none.end();
    return Promise.resolve({
      stdin: new PassThrough(),
      stdout: none,
      stderr: null,
      ended: Promise.resolve(0),
      signal: () => {},
      resize: () => {},
    });
  },
};

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-control-'));
  chmodSync(folder, 0o777);
  path = join(folder, 'x.s');
  server = await ControlServer.open(path, sandbox);
});
afterAll(() => server.close());

const caller = `
import json, socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(20)
try:
    s.connect(sys.argv[1])
    for request in sys.argv[2:]:
        s.sendall(struct.pack('>BI', 0, len(request)) + request.encode())
    said = b''
    while True:
        part = s.recv(4096)
        if not part: break
        said += part
    print('said', said)
except OSError as error: print(type(error).__name__)
`;

const request = { verb: 'exec', command: ['id'], environment: {}, workingDirectory: null, terminal: null };
const callAs = async (uid: number, ...requests: readonly object[]): Promise<string> => {
  const words = [
    ...(uid === 0 ? [] : asUser(uid)),
    '/usr/bin/python3',
    '-c',
    caller,
    path,
    ...requests.map((r) => JSON.stringify(r)),
  ];
  return (await runClient(words[0]!, words.slice(1))).stdout;
};

test('another user cannot connect; with the mode opened to all they are hung up on, and nothing runs', async () => {
  expect(await callAs(54_322, request)).toBe('PermissionError\n');
  chmodSync(path, 0o777);
  expect(await callAs(54_322, request)).toMatch(/^(said b''|ConnectionResetError|BrokenPipeError)\n$/);
  expect(await callAs(54_322, { verb: 'stop', seconds: 0 })).toMatch(
    /^(said b''|ConnectionResetError|BrokenPipeError)\n$/,
  );
  expect([ran, ended]).toEqual([[], []]);
});

test('its own user is served', async () => {
  expect(await callAs(0, request)).toContain('{"exit":0}');
  expect(ran).toEqual([['id']]);
});

test('what is no request is refused in words, and nothing runs', async () => {
  ran.length = 0;
  const wrong = [
    { verb: 'exec', command: ['a\0b'], environment: {}, workingDirectory: null, terminal: null },
    { verb: 'exec', command: [], environment: {}, workingDirectory: null, terminal: null },
    { verb: 'exec', command: ['id'], environment: { 'A=B': 'c' }, workingDirectory: null, terminal: null },
    { verb: 'signal', exec: 1, signal: 'KILL -1; reboot' },
    { verb: 'reboot' },
  ];
  for (const each of wrong) expect(await callAs(0, each)).toContain('the request is not understood');
  expect([ran, ended]).toEqual([[], []]);
});
