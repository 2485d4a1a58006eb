// What `sallyport firewall` needs to know before it writes a rule: the options, the configuration, Docker, and the
// registrations of a gateway that may belong to another user or live in a container.
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { GatewayUnreachable } from '../../gateway/admin/admin-client.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { Pin } from '../../sandbox/firewall/pin.ts';
import type { Ruleset } from '../../sandbox/firewall/ruleset.ts';
import type { RegisteredSandbox } from '../../sandbox/firewall/survey-members.ts';
import type { CliContext } from '../cli-context.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';
import { gather } from './rights-options.ts';

export interface FirewallOptions {
  readonly network?: string;
  readonly bridge?: string;
  readonly gateway?: string[];
  readonly gatewayContainer?: string;
  readonly pin?: string[];
  readonly port?: string[];
  readonly redirect?: boolean;
  readonly config?: string;
  readonly docker?: string;
}

export interface SurveyedFirewall {
  /** As everything is at this moment. */
  now(): Promise<{ readonly ruleset: Ruleset; readonly notes: readonly string[]; readonly pins: readonly Pin[] }>;
}

export function addNetworkOptions(command: Command): Command {
  return command
    .option('--network <NAME>', 'the Docker network of the sandboxes')
    .option('--bridge <NAME>', 'or its bridge on this host')
    .option('--gateway-container <NAME>', 'the gateway, where it is a container on that network')
    .option('--gateway <ADDRESS>', 'the gateway on this host (an address of the bridge), or ADDRESS=MAC@PORT', gather)
    .option('--pin <ADDRESS=MAC@PORT>', 'a sandbox that Docker does not run; may be repeated', gather)
    .option(
      '--port <NUMBER>',
      'a TCP port of the gateway, 53 for DNS (default: as configured); may be repeated',
      gather,
    )
    .option('--redirect', 'redirect web and DNS traffic, whatever its address, to the gateway on this host')
    .option('--config <FILE>', 'the configuration (default: the one that `sallyport up` would use)')
    .option('--docker <SOCKET>', 'the Docker socket (default: docker.socket of the configuration)');
}

export async function surveyFirewall(context: CliContext, options: FirewallOptions): Promise<SurveyedFirewall> {
  const [{ planFirewall }, { surveyMembers }, { writeRuleset }, { parsePin }, { kernelSeesBridges }, { DockerApi }] =
    await Promise.all([
      import('../../sandbox/firewall/plan-firewall.ts'),
      import('../../sandbox/firewall/survey-members.ts'),
      import('../../sandbox/firewall/ruleset.ts'),
      import('../../sandbox/firewall/pin.ts'),
      import('../../sandbox/firewall/nft.ts'),
      import('../../kit/docker/docker-api.ts'),
    ]);
  const given = (options.pin ?? []).map(parsePin);
  const policy = await readPolicy(context, options.config);
  const socket = options.docker ?? policy.docker.socket;
  const docker = new DockerApi(socket);
  const seesBridge = await kernelSeesBridges();
  const { port, ...asked } = options;
  const ports = port?.map(Number);
  let known: readonly RegisteredSandbox[] = [];
  return {
    async now() {
      // As a running gateway does: it follows the ports that `allow` names, and listens where it did when it was started.
      const { allow } = await readPolicy(context, options.config);
      const plan = await planFirewall(
        { ...asked, ...(ports !== undefined && { port: ports }) },
        { docker, policy: { listen: policy.listen, allow }, seesBridge },
      );
      const notes: string[] = [];
      try {
        known = await readRegistrations(context, options.gatewayContainer, socket);
      } catch (error) {
        if (!(error instanceof GatewayUnreachable)) throw error;
        notes.push(`${error.message}: the registrations are unknown, so only earlier known ones and --pin pass`);
      }
      const survey = await surveyMembers(plan, given, known, docker);
      const { pins } = survey.members;
      return { ruleset: writeRuleset(plan, survey.members), notes: [...notes, ...survey.notes], pins };
    },
  };
}

async function readPolicy(context: CliContext, file: string | undefined): Promise<CompiledPolicy> {
  const [{ findConfigFile, loadPolicy }, { formatPolicyError }, { thisMachine }] = await Promise.all([
    import('../../policy/load/load-policy.ts'),
    import('../../policy/schema/policy-error.ts'),
    import('../../policy/load/machine-files.ts'),
  ]);
  const machine = thisMachine();
  const path = findConfigFile({ flag: file, env: context.env, cwd: context.cwd, home: machine.home });
  const result = await loadPolicy(path, machine);
  if (result.ok) return result.policy;
  const words = result.errors.map(formatPolicyError).join('\n');
  throw new CommandFailed(exitCode.usage, `the configuration is not valid:\n${words}`);
}

/** Throws GatewayUnreachable when nobody can be asked. */
async function readRegistrations(
  context: CliContext,
  container: string | undefined,
  dockerSocket: string,
): Promise<readonly RegisteredSandbox[]> {
  if (container !== undefined) {
    const words = ['--host', `unix://${dockerSocket}`, 'exec', container, 'sallyport', 'list', '--json'];
    return parseList(await run('docker', words, { PATH: context.env.PATH ?? '' }));
  }
  const owner = ownerOf(context.places.adminSocket);
  const isOurs = owner === null || owner.uid === process.geteuid?.();
  if (isOurs) {
    const { containers } = await context.admin.call<{ containers: unknown }>('GET', '/internal/containers');
    return asSandboxes(containers);
  }
  // Root does not speak to a socket that somebody else may have put there; it asks as its owner does.
  const env = { PATH: context.env.PATH ?? '', HOME: context.places.home, SALLYPORT_HOME: context.places.home };
  return parseList(await run(process.execPath, [process.argv[1]!, 'list', '--json'], env, owner));
}

function ownerOf(path: string): { readonly uid: number; readonly gid: number } | null {
  try {
    const { uid, gid } = statSync(path);
    return { uid, gid };
  } catch {
    return null;
  }
}

function run(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env, cwd: '/', timeout: 10_000, maxBuffer: 64 * 1024 * 1024, ...user };
    execFile(program, [...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      reject(
        new GatewayUnreachable(`the gateway could not be asked (${stderr.trim().split('\n')[0] || error.message})`),
      );
    });
  });
}

function parseList(text: string): RegisteredSandbox[] {
  try {
    return asSandboxes(JSON.parse(text));
  } catch {
    throw new GatewayUnreachable("the gateway's answer cannot be read");
  }
}

function asSandboxes(list: unknown): RegisteredSandbox[] {
  if (!Array.isArray(list)) throw new GatewayUnreachable("the gateway's answer cannot be read");
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return (list as Record<string, unknown>[]).map((record) => ({
    id: String(record.id),
    container_ip: text(record.container_ip),
    container_id: text(record.container_id),
  }));
}
