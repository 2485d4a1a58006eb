// Containers of a real Docker, and the part of a gateway that knows them: registry, witness, labels, and the stage that says
// who is calling. Calls are made in name only: the address is what a door would have seen.
import { DockerSandboxes } from '../../src/gateway/sandboxes/docker-sandboxes.ts';
import { createLog } from '../../src/kit/text/log.ts';
import { Refusal } from '../../src/path/refusal.ts';
import type { CompiledPolicy, DockerSettings } from '../../src/policy/compiled.ts';
import { identifyCaller } from '../../src/stages/identify/identify-caller.ts';
import type { SandboxRegistry } from '../../src/stages/identify/registry/registry.ts';
import { toPublic } from '../../src/stages/identify/registry/sandbox-record.ts';
import { type DockerWorld, startDockerWorld } from './docker-world.ts';
import { handMadePolicy } from './hand-made-policy.ts';
import { MemoryBackup, openTestRegistry } from './memory-registry.ts';

export const sandboxNetwork = 'sandboxes';

export interface WitnessedGateway {
  readonly registry: SandboxRegistry;
  readonly docker: DockerSandboxes;
  /** Everything it logged, one line each. */
  readonly log: string[];
  register(input: Record<string, unknown>): Promise<ReturnType<typeof toPublic>>;
  /** What becomes of a call from this address: the id of the sandbox, or the code of the refusal. */
  call(address: string): Promise<string>;
  configure(settings: Partial<DockerSettings>): void;
  stop(): Promise<void>;
}

/** The backup outlives a gateway, as the file does. */
export async function startWitness(
  settings: Partial<DockerSettings> & { readonly socket: string },
  backup = new MemoryBackup(),
): Promise<WitnessedGateway> {
  let policy: CompiledPolicy = withDocker(settings);
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) });
  const { registry } = await openTestRegistry({ backup, now: Date.now });
  const docker = new DockerSandboxes({ registry, policy: () => policy, log });
  registry.useWitness((asked) => docker.resolve(asked));
  const register = async (input: unknown) => ({ record: toPublic((await registry.register(input)).record) });
  docker.start(register);
  return {
    registry,
    docker,
    log: lines,
    register: async (input) => (await register(input)).record,
    async call(address) {
      await docker.confirm(address);
      try {
        return identifyCaller(registry, { door: 'proxy', address, socketOf: null, proxyAuthorization: null }).id;
      } catch (error) {
        if (error instanceof Refusal) return error.code;
        throw error;
      }
    },
    configure(changed) {
      policy = withDocker({ ...policy.docker, ...changed });
      docker.configure();
    },
    async stop() {
      docker.stop();
      registry.close();
    },
  };
}

function withDocker(settings: Partial<DockerSettings>): CompiledPolicy {
  const policy = handMadePolicy({});
  return { ...policy, docker: { ...policy.docker, ...settings } };
}

export interface WitnessWorld extends DockerWorld {
  /** A container that waits. Returns its full id. */
  runContainer(name: string, ...options: string[]): Promise<string>;
  /** Says something to Docker that must succeed; gives what it printed. */
  must(...words: string[]): Promise<string>;
}

/** A Docker with the image `waits` and the internal network `sandboxes` (172.30.5.0/24, fd00:5::/64). */
export async function startWitnessWorld(options: Parameters<typeof startDockerWorld>[0] = {}): Promise<WitnessWorld> {
  const world = await startDockerWorld(options);
  const must = async (...words: string[]): Promise<string> => {
    const run = await world.docker(...words);
    if (run.code !== 0) throw new Error(`docker ${words.join(' ')}: ${run.stderr}`);
    return run.stdout.trim();
  };
  await world.importImage('waits', { programs: ['sleep'] });
  const subnets = ['--subnet', '172.30.5.0/24', '--ipv6', '--subnet', 'fd00:5::/64'];
  await must('network', 'create', '--internal', ...subnets, sandboxNetwork);
  return {
    ...world,
    must,
    runContainer: (name, ...rest) =>
      must('run', '--detach', '--init=false', '--name', name, ...rest, 'waits', 'sleep', '600'),
  };
}
