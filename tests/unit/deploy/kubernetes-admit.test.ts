import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Grant } from '../../../src/gateway/admin/admin-ports.ts';
import { deployFolder, podOf } from '../../support/kubernetes-manifests.ts';
import { type ClientRun, runClient } from '../../support/run-client.ts';

const identity = { certificate: 'CERT\n', key: 'KEY\n', ca: 'CA\n', expires_at: '2027-01-15T00:00:00Z' };
const grant: Grant = { identity };

/** A cluster in one script: `exec` runs here, in place of the gateway's container, and `apply` keeps what it is given. */
const kubectl = (folder: string): string => `#!/bin/bash
printf '%s\\n' "$*" >>${folder}/calls
case "$*" in
  *'get service'*) printf '%s' "\${PRETEND_ADDRESS-192.0.2.10}" ;;
  *' exec '*) while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;;
  apply*) cat >>${folder}/applied; echo >>${folder}/applied ;;
esac
`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-admit-'));
  const programs = {
    kubectl: kubectl(folder),
    // The gateway's own, as the contract has its answer.
    sallyport: `#!/bin/sh\nprintf '%s\\n' "$*" >>${folder}/registered\ncat <<'END'\n${JSON.stringify({ id: 'agent', grant })}\nEND\n`,
    // What stands at /handover in the gateway's container.
    node: `#!/bin/sh\nshift; program=$(printf '%s' "$1" | sed 's#/handover#${folder}/handover#'); shift\nexec ${process.execPath} --eval "$program" "$@"\n`,
  };
  for (const [name, text] of Object.entries(programs)) put(`bin/${name}`, text, 0o755);
  for (const name of ['ca.pem', 'bundle.pem', 'git/gitconfig', 'git/tame.gitconfig', 'git/rewrite-urls.gitconfig'])
    put(`handover/${name}`, `text of ${name}`);
  put('handover/git/hooks/pre-push', '#!/bin/sh\n');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  chmodSync(join(folder, path), mode);
}

function admit(args: readonly string[], env: Record<string, string> = {}): Promise<ClientRun> {
  const path = `${join(folder, 'bin')}:${process.env.PATH}`;
  return runClient(join(deployFolder, 'admit'), args, { env: { PATH: path, ...env } });
}

const applied = (): Record<string, unknown>[] =>
  readFileSync(join(folder, 'applied'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('deploy/kubernetes/admit', () => {
  test('registers the sandbox, and makes the Secret and the ConfigMap that its pod mounts', async () => {
    const run = await admit(['agent', '--repo', 'owner/repo']);
    expect([run.code, run.stdout]).toEqual([0, '']);
    expect(readFileSync(join(folder, 'registered'), 'utf8')).toBe(
      'register --json --id agent --proof mtls --repo owner/repo\n',
    );
    const [map, secret] = applied();
    expect(secret).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name: 'agent-identity', namespace: 'sallyport-sandboxes' },
      stringData: { 'certificate.pem': 'CERT\n', 'key.pem': 'KEY\n', 'ca.pem': 'CA\n' },
    });
    const volumes = podOf('sandbox').volumes;
    expect(volumes).toContainEqual({ name: 'identity', secret: { secretName: 'agent-identity' } });
    expect(map).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'sallyport-handover' } });
    const { items } = volumes.find(({ name }) => name === 'handover')!.configMap as { items: { key: string }[] };
    const keys = ['gateway-address', ...items.map(({ key }) => key)].sort();
    expect(Object.keys(map!.data as object).sort()).toEqual(keys);
    expect(map!.data).toMatchObject({ 'gateway-address': '192.0.2.10', gitconfig: 'text of git/gitconfig' });
  });

  test('an IPv6 address of the gateway is written as a host', async () => {
    await admit(['agent'], { PRETEND_ADDRESS: '2001:db8::10' });
    expect(applied()[0]!.data).toMatchObject({ 'gateway-address': '[2001:db8::10]' });
  });

  test('the key is in no argument of a program', async () => {
    await admit(['agent']);
    expect(readFileSync(join(folder, 'calls'), 'utf8')).not.toContain('KEY');
  });

  test('stops, in words, at a name that is none and at a gateway that is not there', async () => {
    for (const name of ['', 'No Name', '-x', '../x', 'a;b']) {
      const run = await admit([name]);
      expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('name the sandbox')]);
    }
    const run = await admit(['agent'], { PRETEND_ADDRESS: '' });
    expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('has no address')]);
    expect(() => readFileSync(join(folder, 'registered'))).toThrow();
  });

  test('a name that is still in use is told as the gateway tells it, with what ends it', async () => {
    put('bin/sallyport', '#!/bin/sh\necho "sallyport: the id agent is in use" >&2; exit 1\n', 0o755);
    const run = await admit(['agent']);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(
      /^sallyport: the id agent is in use\nadmit: agent is not registered\..* unregister agent\n$/,
    );
    expect(applied().map(({ kind }) => kind)).toEqual(['ConfigMap']);
  });

  test('a gateway that has published nothing is an error, and nobody is registered', async () => {
    rmSync(join(folder, 'handover', 'ca.pem'));
    const run = await admit(['agent']);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toContain('--publish');
    expect(() => readFileSync(join(folder, 'registered'))).toThrow();
  });
});
