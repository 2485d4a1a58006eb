// What sandboxes in containers read of the gateway: its CA certificate, a bundle of roots with it, git's configuration, and
// files that make agents believe in a login that the gateway has, in a folder that they see read-only (a volume).
// Certificates, settings and placeholders alone: nothing in it is secret.
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import { writeFileAtomically } from '../../kit/files/atomic-file.ts';
import { inTurn } from '../../kit/in-turn.ts';
import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy, CredentialSpec } from '../../policy/compiled.ts';
import { type AgentStub, agentStubs } from '../../sandbox/stubs/agent-stubs.ts';
import { sandboxGitFiles } from '../../sandbox/stubs/sandbox-gitconfig.ts';
import { certificatesIn, readSystemRoots, toPem } from '../../sandbox/trust/trust-bundle.ts';

/** Where a sandbox sees the folder: docker/sandbox.env names the files there. */
export const publishedPlace = '/etc/sallyport';

/** The names of what is in it. */
export const publishedNames = { certificate: 'ca.pem', bundle: 'bundle.pem', git: 'git', home: 'home' } as const;

/** Where the work of a sandbox is, in docker/sandbox.Dockerfile. */
const workspace = '/workspace';

export interface PublishedTrust {
  /** `--publish`: made if it is not there. */
  readonly folder: string;
  readonly caPem: string;
  /** Hosts that serve git, whose ssh URLs are led through the door. */
  readonly gitHosts: readonly string[];
  /** `publishedHome`: what docker/sandbox-entrypoint lays into a home that does not have it. */
  readonly home?: readonly AgentStub[];
}

const forEverybody = 0o644;

/** Each file is replaced as a whole, and the certificate last: a sandbox that waits for it finds the rest. */
export async function publishTrust({ folder, caPem, gitHosts, home = [] }: PublishedTrust): Promise<void> {
  const place = (name: string): string => join(folder, name);
  // Guards: the real logins of the gateway's own user, in whose place there would be placeholders.
  if (resolve(place(publishedNames.home)) === homedir()) {
    throw new Error(`${place(publishedNames.home)} is your own home: name another folder with --publish`);
  }
  const below = async (name: string, text: string, mode: number): Promise<void> => {
    await mkdir(dirname(place(name)), { recursive: true, mode: 0o755 });
    await writeFileAtomically(place(name), text, mode);
  };
  try {
    for (const { name, mode, text } of gitFiles(gitHosts)) await below(`${publishedNames.git}/${name}`, text, mode);
    for (const { path, text } of home) await below(`${publishedNames.home}/${path}`, text, forEverybody);
    await removeOthers(place(publishedNames.home), new Set(home.map(({ path }) => path)));
    await writeFileAtomically(place(publishedNames.bundle), bundleWith(caPem), forEverybody);
    await writeFileAtomically(place(publishedNames.certificate), caPem, forEverybody);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new Error(
      `the files for sandboxes cannot be written to ${folder} (${code}). Name a folder with --publish that user ${process.geteuid?.()} may write to.`,
      { cause },
    );
  }
}

/** Keeps a folder as the policy in force has it. */
export class TrustPublisher {
  readonly #publishInTurn: () => Promise<void>;
  readonly #log: Pick<Log, 'error'>;
  #last: Promise<void> = Promise.resolve();

  /** `folder` undefined: nothing is published. */
  constructor(folder: string | undefined, policy: () => CompiledPolicy, caPem: string, log: Pick<Log, 'error'>) {
    this.#log = log;
    // Of two side by side, each would remove what the other has written.
    this.#publishInTurn = inTurn(async () => {
      if (folder === undefined) return;
      const { githubHosts, gitHosts, credentials } = policy();
      const hosts = new Set([...githubHosts, ...gitHosts]);
      await publishTrust({ folder, caPem, gitHosts: [...hosts], home: publishedHome(credentials) });
    });
  }

  /** Rejects when it cannot be written. */
  publish(): Promise<void> {
    return this.#publishInTurn();
  }

  /** Another policy is in force. What goes wrong is for the log: nobody waits for it. */
  publishAgain(): void {
    this.#last = this.#publishInTurn().catch((error: unknown) =>
      this.#log.error('what sandboxes read could not be written', { error }),
    );
  }

  /** When what was begun is written. */
  settled(): Promise<void> {
    return this.#last;
  }
}

/** A login that is no longer configured is gone from here too. By name: what else lies there is not ours. */
async function removeOthers(folder: string, kept: ReadonlySet<string>): Promise<void> {
  for (const { path } of stubsFor(new Set(['anthropic', 'chatgpt', 'gemini', 'copilot', 'xai']))) {
    if (kept.has(path)) continue;
    await rm(join(folder, path), { force: true });
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent))
      await removeIfEmpty(join(folder, parent));
  }
  await removeIfEmpty(folder);
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}

/**
 * Files for the agents whose login the gateway is configured with; none without a login. By the configuration alone: a value
 * that is set while the gateway runs is not known when a container starts.
 */
export function publishedHome(credentials: ReadonlyMap<string, CredentialSpec>): readonly AgentStub[] {
  const logins = new Set(
    [...credentials.values()].filter(({ login, source }) => login !== null && isLogin(source)).map(({ name }) => name),
  );
  return logins.size === 0 ? [] : stubsFor(logins);
}

function stubsFor(logins: ReadonlySet<string>): readonly AgentStub[] {
  return agentStubs({ workingDirectory: workspace, placeholders: {}, credentials: logins, logins });
}

/** Other sources may hold a token of a login too, but nothing says so. */
function isLogin({ kind }: CredentialSpec['source']): boolean {
  return kind === 'login' || kind === 'oauth';
}

/** Ours first: a reader that stops at something odd in a root has read it. Node's own too: an image may come without any. */
function bundleWith(caPem: string): string {
  const others = toPem([...readSystemRoots(), ...certificatesIn(rootCertificates.join('\n'))]);
  return toPem(certificatesIn(caPem + others));
}

function gitFiles(hosts: readonly string[]): ReturnType<typeof sandboxGitFiles> {
  return sandboxGitFiles({
    directory: `${publishedPlace}/${publishedNames.git}`,
    hosts,
    // Which images have git-lfs cannot be known here; docker/sandbox-entrypoint sets its filters up where it is.
    lfs: false,
    // A workspace that is mounted may belong to anybody, and a container has one user: there is nobody to guard against.
    safeDirectories: ['*'],
  });
}
