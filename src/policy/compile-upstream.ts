// `upstream`: fixed addresses, extra roots, a proxy to go through. The certificates are read and checked here, so that
// a bad file is an error of the document and not of the first request. Never dials anything.
import { X509Certificate } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import type * as z from 'zod';
import type { CompiledPolicy, ResolveEntry, UpstreamProxy } from './compiled.ts';
import { parseHostPattern } from './host-pattern.ts';
import type { MachineFiles } from './load/machine-files.ts';
import type { Findings } from './schema/findings.ts';
import { plainProxy, systemProxy, writtenProxy } from './schema/proxy-schema.ts';
import { resolveTarget, rootFiles, upstreamSection } from './schema/settings-schema.ts';

export function compileUpstream(
  value: unknown,
  directory: string,
  machine: MachineFiles,
  findings: Findings,
): CompiledPolicy['upstream'] {
  const checked = findings.check(upstreamSection, value ?? {}, ['upstream']);
  return {
    resolve: compileResolve(checked?.resolve, findings),
    extraRoots: compileRoots(checked?.ca, ['upstream', 'ca'], directory, machine, findings),
    proxy: compileProxy(checked?.proxy ?? null, machine, findings),
    ...(checked?.proxy === 'system' && { followsVariables: true }),
  };
}

function compileProxy(value: unknown, machine: MachineFiles, findings: Findings): UpstreamProxy | null {
  const place = ['upstream', 'proxy'];
  if (value === null) return null;
  if (value !== 'system') {
    const schema: z.ZodType<UpstreamProxy> = typeof value === 'string' ? plainProxy : writtenProxy;
    return findings.check(schema, value, place) ?? null;
  }
  const found = systemProxy(machine.env);
  if (typeof found !== 'string') return found;
  findings.error(place, found);
  return null;
}

/** The text of the PEM files that `value`, at this place of the document, names. */
export function compileRoots(
  value: unknown,
  place: readonly string[],
  directory: string,
  machine: MachineFiles,
  findings: Findings,
): string[] {
  const files = value === undefined || value === null ? [] : (findings.check(rootFiles, value, place) ?? []);
  return files.flatMap((file, i) => {
    const roots = readRoots(isAbsolute(file) ? file : join(directory, file), machine);
    if (typeof roots !== 'string') return roots;
    findings.error(Array.isArray(value) ? [...place, i] : place, roots);
    return [];
  });
}

function compileResolve(value: unknown, findings: Findings): ResolveEntry[] {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value)) {
    findings.error(
      ['upstream', 'resolve'],
      'write a map of hosts and addresses such as {api.example.com: "127.0.0.1:9443"}',
    );
    return [];
  }
  const compiled: ResolveEntry[] = [];
  for (const [text, address] of Object.entries(value)) {
    const path = ['upstream', 'resolve', text];
    const target = findings.check(resolveTarget, address, path);
    const pattern = parseHostPattern(text);
    if ('problem' in pattern) {
      findings.error(path, pattern.problem, 'key');
    } else if (compiled.some((entry) => entry.host.text === pattern.value.text)) {
      findings.error(path, `${pattern.value.text} is already there in another spelling: keep one`, 'key');
    } else if (target) {
      compiled.push({ host: pattern.value, ...target });
    }
  }
  // The first that covers a host is taken: exact names, then the wildcard that says most.
  const weight = (entry: ResolveEntry): number => (entry.host.text.startsWith('*') ? 0 : 1000) + entry.host.text.length;
  return compiled.sort((a, b) => weight(b) - weight(a));
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates of a PEM file, or the sentence that says what is wrong with it. */
function readRoots(path: string, machine: MachineFiles): string[] | string {
  const text = machine.readText(path);
  if (text === null) return `cannot read ${path}: check that it is there and readable by the gateway`;
  if (text.includes('PRIVATE KEY-----')) return `${path} holds a private key: write the certificate's file`;
  const blocks = text.match(certificateBlock) ?? [];
  if (blocks.length === 0) return `${path} holds no PEM certificate (-----BEGIN CERTIFICATE-----)`;
  for (const [i, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      return `certificate ${i + 1} in ${path} cannot be read`;
    }
  }
  return blocks.map((block) => `${block}\n`);
}
