// Pushes written by hand: the bytes of a receive-pack request as an attacker makes them, sent through the whole gateway,
// and what must be true afterwards. Nothing here asks git whether it would ever send such a thing.
import { expect } from 'vitest';
import { encodePkt, flushPkt } from '../../src/protocols/git/pkt-line.ts';
import { zeroId } from '../../src/protocols/git/ref-name.ts';
import { eventually } from './eventually.ts';
import type { GitFolder } from './git-folder.ts';
import type { PushGround, TestRepository } from './push-ground.ts';
import { type RawAnswer, sendTunnelled, type TunnelOptions } from './raw-client.ts';

export { zeroId };

/** Old id, new id, ref. */
export type Command = readonly [oldId: string, newId: string, ref: string];

const usual = 'report-status side-band-64k agent=git/2.39.5';

/** The command section, with its flush. */
export function commandSection(commands: readonly Command[], capabilities = usual): Buffer {
  const lines = commands.map(([oldId, newId, ref], i) =>
    encodePkt(`${oldId} ${newId} ${ref}${i === 0 ? `\0 ${capabilities}` : ''}`),
  );
  return Buffer.concat([...lines, flushPkt]);
}

export function pushOf(commands: readonly Command[], pack: Buffer, capabilities = usual): Buffer {
  return Buffer.concat([commandSection(commands, capabilities), pack]);
}

/** A pack as git writes it: what `wants` reach and `haves` do not. */
export function honestPack(
  folder: GitFolder,
  wants: readonly string[],
  haves: readonly string[] = [],
  ...options: string[]
): Promise<Buffer> {
  const revisions = [...wants, ...haves.map((id) => `^${id}`), ''].join('\n');
  return folder.bytes(['pack-objects', '--stdout', '--revs', '--quiet', ...options], revisions);
}

export interface RawPushOptions extends TunnelOptions {
  readonly host?: string;
  readonly method?: string;
  /** Path and query; default that of the repository. */
  readonly target?: string;
  /** In the place of the usual Content-Type. */
  readonly contentType?: readonly string[];
  /** In the place of a Content-Length of the true size. */
  readonly framing?: readonly string[];
  readonly more?: readonly string[];
}

export function sendPush(
  ground: PushGround,
  repository: { readonly name: string },
  body: Buffer,
  options: RawPushOptions = {},
): Promise<RawAnswer> {
  const host = options.host ?? 'github.com';
  const head = [
    `${options.method ?? 'POST'} ${options.target ?? `/${repository.name}.git/git-receive-pack`} HTTP/1.1`,
    `Host: ${host}`,
    'User-Agent: git/2.39.5',
    'Accept: application/x-git-receive-pack-result',
    ...(options.contentType ?? ['Content-Type: application/x-git-receive-pack-request']),
    ...(options.framing ?? [`Content-Length: ${body.length}`]),
    ...(options.more ?? []),
    'Connection: close',
  ];
  const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
  return sendTunnelled(ground.gateway, host, bytes, { waitMs: 15_000, ...options });
}

/** Refused under this code, answered in full, and nothing of it arrived. */
export async function expectStopped(
  ground: PushGround,
  repository: Pick<TestRepository, 'bare'>,
  code: string,
  send: () => Promise<RawAnswer>,
): Promise<RawAnswer> {
  const before = await repository.bare.refs();
  const known = (await requests(ground)).length;
  ground.upstream.forget();
  const answer = await send();
  const record = await eventually(async () => (await requests(ground))[known], 'the attempt is in the journal');
  expect({ verdict: record.verdict, code: record.code }).toEqual({ verdict: 'refused', code });
  expect(answer.statuses).toHaveLength(1);
  expect(answer.code).toBe(code);
  expect(ground.upstream.pushes).toEqual([]);
  expect(await repository.bare.refs()).toEqual(before);
  expect(ground.spooled()).toEqual([]);
  return answer;
}

/** The counterpart: what an honest push by hand looks like, so that the refusals mean something. */
export async function expectTaken(ground: PushGround, send: () => Promise<RawAnswer>): Promise<RawAnswer> {
  ground.upstream.forget();
  const answer = await send();
  expect(answer.statuses).toEqual([200]);
  expect(answer.code).toBeNull();
  expect(answer.text).toContain('unpack ok');
  expect(answer.text).not.toContain('ng refs/');
  expect(ground.upstream.pushes).toHaveLength(1);
  return answer;
}

/** CONNECTs have no record worth counting here. */
async function requests(ground: PushGround): Promise<Record<string, unknown>[]> {
  return (await ground.gateway.journal()).filter(({ kind }) => kind === 'http');
}
