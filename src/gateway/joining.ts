// Which runs have joined this gateway, and who may: only a run that would start the very same one, by the file that it follows,
// by what is in it, and by the variables that a policy or a key comes from. // Guards: threats.md T107

import { packageVersion } from '../kit/files/package-version.ts';
import { closeToOwnPrograms, ownPath } from '../kit/process/own-path.ts';
import type { CompiledPolicy } from '../policy/compiled.ts';
import { sourceOf } from '../policy/load/policy-source.ts';
import { systemProxyVariables } from '../policy/schema/proxy-schema.ts';
import { plainSourcesIn } from '../policy/schema/source-fits.ts';
import { userKeyPlaces } from '../stages/inject/sources/user-key-places.ts';
import type { AdminPorts, JoinedRun } from './admin/admin-ports.ts';
import { digestOf, documentDigest, type GatewayKind, type JoinRequest } from './admin/join.ts';
import type { StartOptions } from './contract.ts';

export interface JoiningParts {
  readonly options: Pick<StartOptions, 'kind' | 'home' | 'userKeys' | 'onLeases'>;
  readonly policy: () => CompiledPolicy;
  readonly startedWith: NodeJS.ProcessEnv;
  /** How many processes serve. */
  readonly processes: number;
  readonly reload: () => Promise<void>;
}

/** What `packages` of a policy, and keys of the user's own tools, are found by. */
const placesOfTools =
  /^(?:HOME|PREFIX|XDG_(?:CONFIG|DATA|CACHE|STATE)_HOME|M2_HOME|MAVEN_HOME|GEMRC|GO(?:ENV|PROXY|NOPROXY|PRIVATE|SUMDB|NOSUMDB)|(?:npm_config|composer|bundle|cargo|pip|uv|poetry|aws|gh)_.*)$/i;

/** Of those, what says nothing of a place or a key. */
const harmless = /(?:CERT|CA_?BUNDLE|CAFILE|TIMEOUT|RETRIES|PAGER)$/i;

export class Joining {
  readonly #parts: JoiningParts;
  #open = 0;
  #isOver = false;

  constructor(parts: JoiningParts) {
    this.#parts = parts;
  }

  readonly join: AdminPorts['join'] = async (asked): Promise<JoinedRun> => {
    const { options, policy } = this.#parts;
    const kind: GatewayKind = options.kind ?? 'up';
    const why = await this.#whyNot(asked);
    if (why !== null)
      return { answer: { joined: false, kind, pid: process.pid, why, ending: this.#isOver }, lease: null };
    const answer = { joined: true, kind, pid: process.pid, home: options.home, config: policy().origin } as const;
    if (asked.probe) return { answer, lease: null };
    closeToOwnPrograms(asked.writable);
    // Programs that sources of credentials start are looked for in the variable itself.
    if (process.env.PATH !== undefined) process.env.PATH = ownPath();
    this.#changed(1);
    return { answer, lease: { end: () => this.#changed(-1) } };
  };

  #changed(by: 1 | -1): boolean {
    const { kind, onLeases } = this.#parts.options;
    this.#open += by;
    onLeases?.(this.#open);
    this.#isOver = kind === 'run' && this.#open === 0;
    return this.#isOver;
  }

  async #whyNot(asked: JoinRequest): Promise<string | null> {
    const { policy, processes } = this.#parts;
    if (this.#isOver) return 'it is about to end';
    if (processes > 1) return 'it serves with several workers, which open no door for `run` (listen.workers)';
    if (asked.version !== packageVersion()) return `it is of version ${packageVersion()}: start it again`;
    if (asked.any) return null;
    const { origin } = policy();
    if ((asked.config ?? 'embedded default') !== origin) return `it follows another configuration: ${origin}`;
    if (asked.config !== null && !this.#follows(asked)) {
      // It looks at the file once a second only.
      await this.#parts.reload().catch(() => {});
      if (!this.#follows(asked)) return `${origin} as it is now is not in force there`;
    }
    return this.#whatDiffers(asked);
  }

  #follows({ document }: JoinRequest): boolean {
    const source = sourceOf(this.#parts.policy());
    return source !== null && document === documentDigest(source.text);
  }

  #whatDiffers({ key, variables }: JoinRequest): string | null {
    const { startedWith, options, policy } = this.#parts;
    const { credentials, upstream } = policy();
    const named = new Set([...credentials.values()].flatMap(({ source }) => variablesOf(source)));
    if (upstream.proxy?.login?.kind === 'own')
      for (const name of variablesOf(upstream.proxy.login.password)) named.add(name);
    if (upstream.followsVariables) for (const name of systemProxyVariables) named.add(name);
    if (options.userKeys === true)
      for (const { variables, loginVariables } of userKeyPlaces.values())
        for (const name of [...variables, ...loginVariables]) named.add(name);
    const matters = (name: string): boolean => named.has(name) || (placesOfTools.test(name) && !harmless.test(name));
    const ownDigest = (name: string): string | undefined => {
      const value = startedWith[name];
      return value === undefined ? undefined : digestOf(key, name, value);
    };
    const other = [...new Set([...Object.keys(variables), ...Object.keys(startedWith)])]
      .filter((name) => matters(name) && variables[name] !== ownDigest(name))
      .sort();
    if (other.length === 0) return null;
    return `it was started with another value of ${other.slice(0, 3).join(', ')}${other.length > 3 ? ' and more' : ''}`;
  }
}

function variablesOf(source: Parameters<typeof plainSourcesIn>[0]): readonly string[] {
  return plainSourcesIn(source).flatMap((plain) => {
    if (plain.kind === 'environment') return [plain.variable];
    return plain.kind === 'command' ? (plain.passEnv ?? []) : [];
  });
}
