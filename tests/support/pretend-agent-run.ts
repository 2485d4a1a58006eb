// A user with an agent, a key and a project: `sallyport run` as that user types it, the real agent in a real sandbox, and
// a pretend provider at the far end. Nothing of it leaves the machine.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { afterThisFile } from './after-this-file.ts';
import type { PretendProvider } from './pretend-provider.ts';
import { runClient } from './run-client.ts';
import { type BuiltCommand, buildCommand } from './spawn-gateway.ts';
import type { TestCa } from './test-ca.ts';

export interface AgentUser {
  /** Files of the user's home: where the agent outside keeps its key. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Files that an earlier sandbox has left in the home that is kept. */
  readonly kept?: Readonly<Record<string, string>>;
}

/** A host that is played here. */
export type PretendPlace = Pick<PretendProvider, 'host' | 'address'>;

export interface AgentRun {
  readonly code: number | null;
  /** What the agent printed. */
  readonly stdout: string;
  readonly stderr: string;
  /** The environment of the sandbox. */
  readonly environment: string;
  /** Every file of the sandbox's home and of its project after the run, by its path. */
  readonly files: ReadonlyMap<string, string>;
  /** What the gateway wrote down of it. */
  readonly journal: readonly Record<string, unknown>[];
}

export interface AgentGround {
  /** Where the user's files are. */
  readonly home: string;
  run(command: string): Promise<AgentRun>;
  remove(): void;
}

/** Where scripts/install-agents puts them. */
const agents = process.env.SALLYPORT_TEST_AGENTS ?? join(homedir(), '.cache', 'sallyport-tests', 'agents');
/** Built once for a test file. */
let built: BuiltCommand | null = null;

function builtForThisFile(): BuiltCommand {
  if (built === null) {
    const made = buildCommand({});
    built = made;
    afterThisFile(() => {
      built = null;
      made.remove();
    });
  }
  return built;
}

const border = '--- the environment ---';

export function makeAgentGround(
  ca: TestCa,
  preset: string,
  provider: PretendPlace | readonly PretendPlace[],
  user: AgentUser,
): AgentGround {
  if (!existsSync(join(agents, 'installed')))
    throw new Error('the agents are not installed: run scripts/install-agents');
  const main = join(builtForThisFile().home, 'package', 'dist', 'main.cjs');
  const ground = mkdtempSync(join(tmpdir(), 'sallyport-agent-'));
  const home = join(ground, 'home');
  const project = join(home, 'project');
  mkdirSync(project, { recursive: true });
  const config = join(ground, 'sallyport.yaml');
  const resolve = Object.fromEntries([provider].flat().map(({ host, address }) => [host, address]));
  const upstream = { ca: ca.path, resolve };
  writeFileSync(config, stringify({ version: 1, allow: [{ preset }], upstream }));
  const state = join(ground, 'state');
  layFiles(home, user.files ?? {});
  layFiles(join(state, 'home'), user.kept ?? {});
  return {
    home,
    async run(command) {
      const script = `${command}; code=$?; echo '${border}'; env; exit $code`;
      const options = ['run', '--config', config, '--home', 'persist', '--ro', agents, '--', 'sh', '-c', script];
      const { code, stdout, stderr } = await runClient(process.execPath, [main, ...options], {
        cwd: project,
        env: {
          PATH: [join(agents, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
          HOME: home,
          SALLYPORT_HOME: state,
          ...user.env,
        },
        timeoutMs: 150_000,
      });
      const [printed, environment = ''] = stdout.split(`${border}\n`);
      return {
        code,
        stdout: printed!,
        stderr,
        environment,
        files: new Map(
          [join(state, 'homes'), project].flatMap(filesBelow).map((path) => [path, readFileSync(path, 'latin1')]),
        ),
        journal: filesBelow(join(state, 'journal'))
          .filter((path) => path.endsWith('.jsonl'))
          .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      };
    },
    remove: () => rmSync(ground, { recursive: true, force: true }),
  };
}

/** Private, as agents make them. */
function layFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, path), text, { mode: 0o600 });
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
