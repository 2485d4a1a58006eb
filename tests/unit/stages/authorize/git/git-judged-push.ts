// A push on its way through the judge of pushes, with a server in memory: what it ends in, what goes on of it, and what it
// leaves behind on the disk.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Spool } from '../../../../../src/kit/files/spool.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { wrappedExchange } from '../../../../../src/path/exchange/wrappers.ts';
import type { Authorized, Identified } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import type { CompiledPolicy } from '../../../../../src/policy/compiled.ts';
import type { PushCommand } from '../../../../../src/protocols/git/push-command.ts';
import type { GitServer } from '../../../../../src/stages/authorize/git/git-server.ts';
import { judgePush } from '../../../../../src/stages/authorize/git/judge-push.ts';
import { PushMemory } from '../../../../../src/stages/authorize/git/push-memory.ts';
import { PushRoom } from '../../../../../src/stages/authorize/git/push-room.ts';
import { afterThisFile } from '../../../../support/after-this-file.ts';
import { pushTo } from '../../../../support/asked-git-server.ts';
import { eventually } from '../../../../support/eventually.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { RecordingWriter, type ScriptedExchange } from '../../../path/exchange/scripted-exchange.ts';
import { command, commandLines, History, MemoryServer, workflow } from './git-push-ground.ts';

export const strict = handMadePolicy({ protectedPaths: ['.github/workflows/**'] });
export const { permission } = pushTo('acme/widgets');

/** A server with `main` and a branch of the sandbox on the same commit, and a push that may pass. */
export function ground() {
  const history = new History();
  const base = history.commit([], { a: '1', [workflow]: 'old' });
  const main = history.commit([base], { a: '1', [workflow]: 'old' });
  const server = new MemoryServer(history, { 'refs/heads/main': main, 'refs/heads/sandbox/work': main });
  server.name(main, 'main');
  const next = history.commit([main], { a: '2', [workflow]: 'old' });
  const bodyOf = (commands: readonly PushCommand[]): Buffer => {
    const tips = commands.map(({ newId }) => newId);
    return Buffer.concat([commandLines(commands), history.pack(tips, server)]);
  };
  const good = bodyOf([command('refs/heads/sandbox/work', next, main)]);
  return { history, base, main, next, server, bodyOf, good };
}

export interface PushingOptions {
  readonly policy?: CompiledPolicy;
  readonly fields?: readonly [string, string][];
  readonly spool?: Spool;
  readonly pushRoom?: PushRoom;
  /** Without it nothing is remembered of one push for the next. */
  readonly pushMemory?: PushMemory;
  readonly sandbox?: Parameters<typeof sandboxWith>[0];
}

export function pushing(exchange: ScriptedExchange, server: GitServer, options: PushingOptions = {}) {
  const spool = options.spool ?? new Spool(makeSpoolDirectory(), () => 10_000_000);
  const accepted = acceptedFlow(
    callerFrom(),
    canonicalOf('POST', 'https://git.example.com/acme/widgets/git-receive-pack'),
    {
      headers: HeaderList.from([
        ['Content-Type', 'application/x-git-receive-pack-request'],
        ['Authorization', 'Basic of-the-sandbox'],
        ...(options.fields ?? []),
      ]),
    },
  );
  const flow: Identified = { ...accepted, exchange, sandbox: sandboxWith(options.sandbox) };
  onTestFinished(async () => {
    flow.trail.end();
    await turns();
  });
  const pushRoom = options.pushRoom ?? new PushRoom();
  const pushMemory = options.pushMemory ?? new PushMemory();
  const opened: AbortSignal[] = [];
  const openGitServer = (_flow: Identified, _permission: unknown, signal: AbortSignal): GitServer => {
    opened.push(signal);
    return server;
  };
  const result = judgePush(flow, permission, options.policy ?? strict, {
    spool,
    openGitServer,
    pushRoom,
    pushMemory,
  });
  return { flow, spool, pushRoom, opened, result };
}

export function makeSpoolDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'judge-push-'));
  afterThisFile(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The refusal that it ends in; any other end is a failure of the test. */
export async function refusedWith(result: Promise<unknown>): Promise<Refusal> {
  const error = await result.then(
    () => new Error('it passed'),
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error;
  throw error;
}

/** What git would read. */
export const wordsOf = (refusal: Refusal): string => Buffer.from(refusal.inProtocol?.body ?? []).toString('latin1');

export const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

/** What the upstream would get. */
export async function sentBy(flow: Authorized): Promise<RecordingWriter> {
  const to = new RecordingWriter();
  wrappedExchange(flow).sendBody(to);
  for (let n = 0; n < 5_000 && to.ended === undefined && to.failure === null; n++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return to;
}

/** What a push held on the disk is given back when its flow is over. */
export async function expectRoomBack(flow: Identified, spool: Spool): Promise<void> {
  flow.trail.end();
  await eventually(() => spool.bytes === 0, 'the room is given back');
}
