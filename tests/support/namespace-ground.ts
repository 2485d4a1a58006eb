// A sandbox of the kind that matters, for tests: a gateway, a network namespace with its door in it, the certificate it
// trusts, and curl inside. Addresses are handed to curl, so that a test says which one is dialled.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { syntheticAddresses } from '../../src/kit/synthetic-address.ts';
import { makeNamespace, type NamespaceOptions, type TestNamespace } from './namespace.ts';
import type { TestGateway } from './test-gateway.ts';

export interface CurlAnswer {
  /** Of curl itself. */
  readonly exit: number | null;
  /** 0: there was none. */
  readonly status: number;
  readonly body: string;
  readonly stderr: string;
  /** The code of a refusal; null when the answer is no refusal of ours. */
  readonly code: string | null;
}

export interface NamespaceSandbox {
  readonly id: string;
  readonly namespace: TestNamespace;
  /** PEM file of the CA that was made for it. */
  readonly caPath: string;
  /** `address`: what the name in the URL is dialled at; by default the IPv4 address this name has in a sandbox. */
  curl(url: string, more?: readonly string[], address?: string): Promise<CurlAnswer>;
  end(): Promise<void>;
}

export async function openNamespaceSandbox(
  gateway: TestGateway,
  options: NamespaceOptions & { readonly registration?: Record<string, unknown> } = {},
): Promise<NamespaceSandbox> {
  const namespace = await makeNamespace(options);
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-namespace-'));
  const end = async (): Promise<void> => {
    await namespace.end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const registered = await gateway.register({ namespace: { pid: namespace.pid }, ...options.registration });
    const caPath = join(folder, 'ca.pem');
    const { ca_certificate: certificate } = registered.grant as { readonly ca_certificate: string };
    writeFileSync(caPath, certificate);
    return { id: registered.id, namespace, caPath, end, curl: (...asked) => curlIn(namespace, caPath, ...asked) };
  } catch (error) {
    await end();
    throw error;
  }
}

async function curlIn(
  namespace: TestNamespace,
  caPath: string,
  url: string,
  more: readonly string[] = [],
  address?: string,
): Promise<CurlAnswer> {
  const { hostname } = new URL(url);
  const isName = /[a-z]$/i.test(hostname);
  const at = address ?? syntheticAddresses(hostname).v4;
  const dial = isName ? ['--resolve', `${hostname}:${portOf(url)}:${at}`] : [];
  const end = '\n%{http_code}';
  const command = ['curl', '-sS', '-m', '30', '--cacert', caPath, ...dial, '-w', end, '-g', ...more, url];
  const { code: exit, stdout, stderr } = await namespace.run(command);
  const cut = stdout.lastIndexOf('\n');
  const body = stdout.slice(0, cut);
  const refusal = /"code":"([a-z.-]+)"/.exec(body);
  return { exit, status: Number(stdout.slice(cut + 1)), body, stderr, code: refusal?.[1] ?? null };
}

function portOf(url: string): string {
  const { port, protocol } = new URL(url);
  return port || (protocol === 'https:' ? '443' : '80');
}
