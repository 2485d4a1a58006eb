// What `sallyport run` says around the command: before it, what the sandbox can use and how; after it, what was refused. All
// of it on standard error, and only to a person: in a pipe nothing is said but what must be heard.
import type { CredentialStatus } from '../../gateway/admin/admin-ports.ts';
import { isLoopbackAddress, type PortToPublish, placeOf } from '../../kit/text/published-port.ts';
import type { StartedSandbox } from '../../sandbox/run/start-sandbox.ts';
import type { CliContext } from '../cli-context.ts';
import { joined, printable } from '../terminal/printable.ts';
import { credentialTroubles, stateOfCredential } from './credential-states.ts';

export interface RunFacts {
  readonly launcher: string;
  readonly started: Pick<StartedSandbox, 'grant' | 'notices'> & Partial<Pick<StartedSandbox, 'limits'>>;
  readonly workingDirectory: string;
  readonly repos: readonly string[];
  readonly branches: readonly string[];
  /** Null: nobody could be asked. */
  readonly credentials: readonly CredentialStatus[] | null;
  readonly config: string;
  readonly persistentHome: boolean;
  /** What `run:` of the configuration added; null: nothing. */
  readonly saved: string | null;
}

export function describeRun({ colors }: Pick<CliContext, 'colors'>, facts: RunFacts): string {
  const { grant, notices, limits = [] } = facts.started;
  const lines = [`${colors.bold('Sallyport')} ${printable(grant.id)} ${colors.dim(`(${facts.launcher})`)}`];
  const fact = (name: string, text: string) => lines.push(`  ${colors.dim(name.padEnd(7))} ${text}`);
  fact('keys', describeKeys(grant.credentials, facts.credentials));
  for (const trouble of credentialTroubles(facts.credentials ?? []))
    lines.push(`  ${colors.yellow('problem')} ${trouble}`);
  const pushes = facts.repos.length === 0 ? '' : `, pushes to ${joined(facts.branches)}`;
  fact('repos', facts.repos.length === 0 ? 'none: --repo OWNER/REPO lets one in' : `${joined(facts.repos)}${pushes}`);
  fact('files', `${printable(facts.workingDirectory)}, and ${facts.persistentHome ? 'the kept' : 'a fresh'} home`);
  if (limits.length > 0) fact('limits', joined(limits));
  for (const port of grant.hostPorts) fact('port', describeHostPort(port));
  for (const one of grant.published ?? []) fact('port', describePublished(one));
  if (grant.plainHosts.length > 0) fact('tcp', `${joined(grant.plainHosts)}; not read, and without a credential`);
  fact('policy', printable(facts.config));
  if (facts.saved !== null) fact('saved', printable(facts.saved));
  for (const notice of notices) lines.push(`  ${colors.yellow('note')}    ${printable(notice)}`);
  return lines.join('\n');
}

/** By its name: cookies of 127.0.0.1, the dashboard's among them, do not go there. */
export function describePublished({ address, hostPort, port }: PortToPublish): string {
  if (address === '127.0.0.1') return `http://localhost:${hostPort} here is port ${port} inside`;
  const from = isLoopbackAddress(address) ? '' : ': OPEN TO OTHER MACHINES';
  return `${placeOf(address, hostPort)} here is port ${port} inside${from}`;
}

function describeHostPort(text: string): string {
  const [port, inside = port] = text.split(':');
  return `127.0.0.1:${printable(inside)} inside is port ${printable(port)} of this machine`;
}

/** Where each key comes from; the sandbox itself holds placeholders. */
function describeKeys(usable: readonly string[], known: readonly CredentialStatus[] | null): string {
  if (usable.length === 0) {
    const broken = (known ?? []).filter((one) => stateOfCredential(one) === 'unreadable').map(({ name }) => name);
    if (broken.length > 0) return `none that can be used: ${joined(broken)} cannot be read`;
    return 'none are set; requests go out without a key. `sallyport secret --help` tells more';
  }
  const named = usable.map((name) => {
    const source = known?.find((one) => one.name === name)?.source;
    return source === undefined || source === 'memory' ? name : `${name} (${source})`;
  });
  return `${joined(named)}; the sandbox has placeholders only`;
}

export interface RefusedSummary {
  readonly method: string;
  readonly scheme: string | null;
  readonly host: string;
  readonly path: string;
  readonly reason: string;
}

const refusalsShown = 3;

/** Each once, the last three. Null: nothing was refused. */
export function describeRefusals(
  { colors }: Pick<CliContext, 'colors'>,
  id: string,
  refused: readonly RefusedSummary[],
): string | null {
  if (refused.length === 0) return null;
  const times = new Map<string, number>();
  for (const each of refused.filter((one) => !isFollowed(one, refused))) {
    const { method, scheme, host, path, reason } = each;
    const target = `${scheme === 'http' ? 'http://' : ''}${host}${path === '/' ? '' : path}`;
    const line = `  ${colors.red('refused')} ${printable(`${method} ${target}`)}  ${colors.dim(printable(reason))}`;
    const before = times.get(line) ?? 0;
    times.delete(line);
    times.set(line, before + 1);
  }
  const lines = [...times]
    .slice(-refusalsShown)
    .map(([line, count]) => (count === 1 ? line : `${line} (${count} times)`));
  return [...lines, colors.dim(`  all of them, and why: sallyport logs --refused --sandbox ${printable(id)}`)].join(
    '\n',
  );
}

/** The question for a name, where the request to it was refused too: that one says more. */
function isFollowed({ method, host }: RefusedSummary, refused: readonly RefusedSummary[]): boolean {
  return method === 'DNS' && refused.some((other) => other.method !== 'DNS' && other.host === host);
}
