// The Kubernetes manifests as a cluster would get them: the resources of a kustomization and the ConfigMaps it generates. Read
// with our own YAML parser, so that the tests need no kubectl; where there is one, a test sees that both agree.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';

export const deployFolder = fileURLToPath(new URL('../../deploy/kubernetes/', import.meta.url));
export const variants = ['gateway', 'sandbox', 'sidecar'] as const;
export type Variant = (typeof variants)[number];

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly restartPolicy?: string;
  readonly startupProbe?: { readonly exec: { readonly command: readonly string[] } };
  readonly securityContext?: SecurityContext;
  readonly resources?: { readonly requests?: object; readonly limits?: object };
  readonly volumeMounts?: readonly Mount[];
}

export interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
  readonly fsGroup?: number;
  readonly fsGroupChangePolicy?: string;
}

export interface Mount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly readOnly?: boolean;
}

export interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly dnsPolicy?: string;
  readonly dnsConfig?: {
    readonly nameservers?: readonly string[];
    readonly options?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly securityContext: SecurityContext;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

interface Kustomization {
  readonly namespace: string;
  readonly resources: readonly string[];
  readonly configMapGenerator?: readonly {
    readonly name: string;
    readonly files?: readonly string[];
    readonly envs?: readonly string[];
  }[];
  readonly images: readonly { readonly name: string }[];
}

export function readKustomization(variant: Variant): Kustomization {
  return parse(readText(variant, 'kustomization.yaml')) as Kustomization;
}

export function readManifests(variant: Variant): Manifest[] {
  const { resources, configMapGenerator = [] } = readKustomization(variant);
  const written = resources.flatMap((name) => {
    // Version 1.1, as Kubernetes reads it: there 0555 is octal.
    return parseAllDocuments(readText(variant, name), { version: '1.1' }).map((document) => {
      if (document.errors.length > 0) throw new Error(`${variant}/${name}: ${document.errors[0]!.message}`);
      return document.toJS() as Manifest;
    });
  });
  const generated = configMapGenerator.map(({ name, files = [], envs = [] }): Manifest => {
    const data = Object.fromEntries(files.map((file) => [file, readText(variant, file)]));
    for (const file of envs) Object.assign(data, readVariables(readText(variant, file)));
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
  });
  return [...written, ...generated];
}

/** The one pod of a variant, by itself or as the template of a Deployment. */
export function podOf(variant: Variant): PodSpec {
  const found = readManifests(variant).find(({ kind }) => kind === 'Pod' || kind === 'Deployment')!;
  if (found.kind === 'Pod') return found.spec as PodSpec;
  return (found.spec as { template: { spec: PodSpec } }).template.spec;
}

export function containersOf({ initContainers = [], containers }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

export function containerOf(variant: Variant, name: string): Container {
  const found = containersOf(podOf(variant)).find((container) => container.name === name);
  if (found === undefined) throw new Error(`${variant} has no container ${name}`);
  return found;
}

export function readText(variant: Variant, name: string): string {
  return readFileSync(join(deployFolder, variant, name), 'utf8');
}

/** NAME=value lines, as env files and kustomize have them. */
export function readVariables(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}
