// Must not happen: routes are changed in the network of the gateway or of the machine, where "every address is local" would
// cut everything off; whether the process named is wrong from the start or its number changes hands under ours. Tried in
// namespaces made for it: here a gateway that fails the test has only its own to lose.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { layKoffiBeside } from '../../support/koffi-beside.ts';
import { runClient } from '../../support/run-client.ts';

const id = 'a'.repeat(64);
let folder: string;
let script: string;

/** Leads the process home that is named, and says what came of it. */
const leader = `
  import { closeNamespaceHandles, openNamespaceDoor } from './src/sandbox/namespace/open-namespace-door.ts';
  const pid = process.argv[2] === 'self' ? process.pid : Number(process.argv[2]);
  await openNamespaceDoor({ pid, ports: [] }).then(closeNamespaceHandles).then(() => console.log('bound'), (error) => console.log(error.message));`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-routes-'));
  script = join(folder, 'lead.mjs');
  layKoffiBeside(folder);
  buildSync({
    stdin: { contents: leader, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: script,
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * In a machine of its own: `lines` are run by its first process, whose network is the machine's. Every process in it is one
 * of the container by its mounts, so that only the network tells them apart.
 */
async function onMachine(...lines: string[]): Promise<string[]> {
  const words = ['--net', '--pid', '--mount', '--fork', '--kill-child', '--mount-proc', 'sh', '-c'];
  const all = [
    'bound="$3/containers/$4"; mkdir -p "$bound"; echo > "$bound/hostname"; mount --bind "$bound/hostname" /etc/hostname',
    'lead="$1 $2"; way() { ip route get 203.0.113.9 2>&1 | head -n 1; }',
    ...lines,
  ].join('\n');
  const run = await runClient('unshare', [...words, all, 'sh', process.execPath, script, folder, id]);
  expect(run.stderr).toBe('');
  return run.stdout.trim().split('\n');
}

const untouched = 'RTNETLINK answers: Network is unreachable';
const refused = expect.stringContaining('has no network namespace of its own');

describe('no route is changed', () => {
  test('in the network of the gateway itself', async () => {
    const said = await onMachine(`unshare --net sh -c '"$0" "$1" self; ip route get 203.0.113.9 2>&1' $lead`);
    expect(said).toEqual([refused, untouched]);
  });

  test('in the network of the first process of the machine, where the gateway has another', async () => {
    expect(await onMachine('unshare --net $lead 1', 'way')).toEqual([refused, untouched]);
  });

  test('while the same call binds the addresses of a network of its own', async () => {
    const said = await onMachine(
      'unshare --net sleep 9 & own=$!',
      'until [ "$(readlink /proc/$own/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done',
      '$lead $own; nsenter --target $own --net ip route get 203.0.113.9 | head -n 1',
      'way',
    );
    expect(said).toEqual(['bound', expect.stringContaining('local 203.0.113.9 dev lo'), untouched]);
  });
});
