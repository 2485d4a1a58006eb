// The demonstration from beginning to end: prepares everything, runs one script in a real sandbox, and judges the result.
// Prints nothing.
import type { StartedSandbox } from '../../sandbox/run/start-sandbox.ts';
import type { PretendGithub } from '../internet/pretend-github.ts';
import { layPretendGround, type PretendGroundPorts } from '../internet/pretend-ground.ts';
import { demoGround, makeDemoKeys, ownRepository } from './demo-hosts.ts';
import { type InsideReport, insideScript } from './inside-script.ts';
import { type DemoVerdict, insideOrder, judgeDemo } from './judge-demo.ts';

export interface DemoPorts extends PretendGroundPorts {
  /** Codes of the refusals in the journal, oldest first. */
  refusals(): Promise<readonly string[]>;
  /** How far it has come. */
  onProgress(text: string): void;
}

export interface DemoResult extends DemoVerdict {
  readonly sandbox: string;
  /** From the moment the sandbox is asked for to its end. */
  readonly sandboxMs: number;
}

const limitMs = 60_000;

export async function runDemo(ports: DemoPorts): Promise<DemoResult> {
  const keys = makeDemoKeys();
  let github: PretendGithub | null = null;
  ports.onProgress('starting pretend providers and a gateway');
  const ground = await layPretendGround(
    ports,
    demoGround(keys, (made) => {
      github = made;
    }),
  );
  try {
    const refs = (): Promise<string> => github!.git.refs();
    const before = await refs();
    const order = insideOrder(ground.secretFiles.anthropic!);
    ports.onProgress('in the sandbox');
    const startedMs = performance.now();
    const sandbox = await ground.start([process.execPath, '-e', insideScript(order)], [ownRepository]);
    const { reports, errors } = await listen(sandbox);
    ports.signal.throwIfAborted();
    const sandboxMs = Math.round(performance.now() - startedMs);
    const verdict = judgeDemo({
      reports,
      seen: ground.world.seen,
      journal: await ports.refusals(),
      refs: { before, after: await refs() },
      key: keys.anthropic,
      order,
    });
    const problems = errors === '' || verdict.problems.length === 0 ? verdict.problems : [...verdict.problems, errors];
    return { ...verdict, problems, sandbox: sandbox.grant.id, sandboxMs };
  } finally {
    await ground.clear();
  }
}

async function listen(sandbox: StartedSandbox): Promise<{ reports: InsideReport[]; errors: string }> {
  const { stdin, stdout, stderr } = sandbox.streams!;
  let said = '';
  let errors = '';
  stdout.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  stderr.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk}`.slice(-1000);
  });
  stdin.on('error', () => {});
  stdin.end();
  const limit = setTimeout(() => sandbox.kill(), limitMs);
  await sandbox.ended.finally(() => clearTimeout(limit));
  const reports = said.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as InsideReport];
    } catch {
      return [];
    }
  });
  return { reports, errors: errors.trim() };
}
