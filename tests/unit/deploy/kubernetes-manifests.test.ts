import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { sandboxGitFiles } from '../../../src/sandbox/stubs/sandbox-gitconfig.ts';
import {
  containersOf,
  deployFolder,
  type Manifest,
  podOf,
  readKustomization,
  readManifests,
  readText,
  readVariables,
  variants,
} from '../../support/kubernetes-manifests.ts';
import { runWith } from '../cli/command-line.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const schema = JSON.parse(readFileSync(join(root, 'tests/support/kubernetes-fields.json'), 'utf8')) as {
  kinds: Record<string, string>;
  types: Record<string, Record<string, string>>;
};

/** Every field that the type does not have, and every value of another type. */
function faults(value: unknown, type: string, path: string): string[] {
  const list = /^Array<(.+)>$/.exec(type)?.[1];
  if (list !== undefined)
    return Array.isArray(value)
      ? value.flatMap((one, at) => faults(one, list, `${path}[${at}]`))
      : [`${path}: no list`];
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (map !== undefined || type.startsWith('V1')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path}: no map`];
    return Object.entries(value).flatMap(([name, one]) => {
      const field = map ?? schema.types[type]?.[name];
      return field === undefined ? [`${path}.${name}: no field of ${type}`] : faults(one, field, `${path}.${name}`);
    });
  }
  const good =
    type === 'IntOrString' || type === 'any' ? ['number', 'string'].includes(typeof value) : typeof value === type;
  return good ? [] : [`${path}: ${JSON.stringify(value)} is no ${type}`];
}

describe.each(variants)('deploy/kubernetes/%s', (variant) => {
  const manifests = readManifests(variant);

  test('has only fields that Kubernetes knows, with values of their type', () => {
    expect(manifests.length).toBeGreaterThan(4);
    for (const manifest of manifests) {
      const type = schema.kinds[manifest.kind];
      expect(type, manifest.kind).toBeDefined();
      expect(faults(manifest, type!, `${manifest.kind} ${manifest.metadata.name}`)).toEqual([]);
    }
  });

  test('what is referred to is there, or the page says how it is made', () => {
    const pod = podOf(variant);
    const made = new Set(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    const page = readFileSync(join(root, 'docs/kubernetes.md'), 'utf8');
    for (const volume of pod.volumes) {
      const { configMap, secret, persistentVolumeClaim: claim } = volume as Record<string, Record<string, string>>;
      const wanted = [
        ...(configMap ? [`ConfigMap ${configMap.name}`] : []),
        ...(secret ? [`Secret ${secret.secretName}`] : []),
        ...(claim ? [`PersistentVolumeClaim ${claim.claimName}`] : []),
      ];
      for (const name of wanted) expect(made.has(name) || page.includes(name.split(' ')[1]!), name).toBe(true);
    }
    expect(made).toContain(`ServiceAccount ${pod.serviceAccountName}`);
    const volumes = pod.volumes.map(({ name }) => name);
    const mounted = containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
    expect([...new Set(mounted)].sort()).toEqual([...volumes].sort());
    const images = readKustomization(variant).images.map(({ name }) => name);
    for (const { image } of containersOf(pod)) expect(images).toContain(image);
  });

  test('no Secret is written down', () => {
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  test('kubectl makes the same of it', () => {
    if (!existsSync('/usr/bin/kubectl')) {
      console.warn('NO kubectl HERE: deploy/kubernetes was read by the YAML parser alone, not by kustomize.');
      expect(manifests.length).toBeGreaterThan(4);
      return;
    }
    const text = execFileSync('/usr/bin/kubectl', ['kustomize', join(deployFolder, variant)], { encoding: 'utf8' });
    const built = parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as Manifest);
    const named = (list: readonly Manifest[]) =>
      list.map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/-[a-z0-9]{10}$/, '')}`).sort();
    expect(named(built)).toEqual(named(manifests));
    for (const { kind, metadata } of built)
      if (kind !== 'Namespace') expect(metadata.namespace).toBe(readKustomization(variant).namespace);
    const data = (list: readonly Manifest[]) => list.filter(({ kind }) => kind === 'ConfigMap').map((map) => map.data);
    expect(data(built)).toEqual(expect.arrayContaining(data(manifests)));
  });
});

describe('the configurations in the ConfigMaps', () => {
  test.each(['gateway', 'sidecar'] as const)('%s/sallyport.yaml passes `sallyport config check`', async (variant) => {
    const { code, out } = await runWith(['config', 'check', join(deployFolder, variant, 'sallyport.yaml')]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^ok /)]);
    expect(out).not.toMatch(/warning/i);
  });
});

describe('the environment of the agent', () => {
  const doors = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'];
  const compose = readVariables(readFileSync(join(root, 'docker/sandbox.env'), 'utf8'));

  test.each([
    ['sandbox', 'http://127.0.0.1:3128'],
    ['sidecar', 'http://127.0.0.1:8080'],
  ] as const)('%s: is that of the compose set-up, but for the door at %s', (variant, door) => {
    const here = readVariables(readText(variant, 'sandbox.env'));
    expect(here).toEqual({ ...compose, ...Object.fromEntries(doors.map((name) => [name, door])) });
  });

  test('what the gateway publishes is all handed over, each file at its place', () => {
    const volume = podOf('sandbox').volumes.find(({ name }) => name === 'handover')!;
    const { items } = volume.configMap as { items: { key: string; path: string; mode?: number }[] };
    const git = sandboxGitFiles({ directory: '/etc/sallyport/git', hosts: [], lfs: false, safeDirectories: [] });
    expect(items.map(({ path }) => path)).toEqual(['ca.pem', 'bundle.pem', ...git.map(({ name }) => `git/${name}`)]);
    for (const { key, path, mode } of items) {
      expect(key).toBe(path.split('/').at(-1));
      expect(mode).toBe(path.includes('/hooks/') ? 0o555 : undefined);
    }
  });
});
