// The command section of a push, written so that the gateway and the server might read other commands in it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodePkt, flushPkt } from '../../../src/protocols/git/pkt-line.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

const capabilities = 'report-status side-band-64k agent=git/2.39.5';
let ground: PushGround;
let repository: TestRepository;
let next: string;
let pack: Buffer;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
  const { bare, main } = repository;
  next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
  pack = await honestPack(bare, [next], [main]);
});

afterAll(() => ground.stop());

/** Sent as they are: text becomes a line of its own, bytes stay bytes. */
async function expectRefusedLines(...lines: (string | Buffer)[]): Promise<void> {
  const bytes = lines.map((line) => (typeof line === 'string' ? encodePkt(line) : line));
  const body = Buffer.concat([...bytes, flushPkt, pack]);
  await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body));
}

const raw = (text: string): Buffer => Buffer.from(text, 'latin1');
const fine = (): string => `${zeroId} ${next} refs/heads/fine\0 ${capabilities}`;
const another = (ref = 'refs/heads/other', more = ''): string => `${zeroId} ${next} ${ref}${more}`;
const toMain = (): string => `${repository.main} ${next} refs/heads/main`;

describe('lines that are not lines', () => {
  test.each(['0001', '0002', '0003'])('the special length %s in the place of a flush', async (length) => {
    const body = Buffer.concat([encodePkt(fine()), raw(length), pack]);
    await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body));
  });

  test.each(['0x1a', ' 1a2', '-01a', '+01a', '00g0', '001\n'])('the length %j', async (length) =>
    expectRefusedLines(fine(), raw(`${length}${toMain()}`)),
  );

  test('a length past the end of the body', () => expectRefusedLines(raw('ffff'), fine()));

  test('a line longer than a line may be', () =>
    expectRefusedLines(fine(), raw(`fff5${another('refs/heads/', 'x'.repeat(65_000)).padEnd(0xfff5 - 4, 'x')}`)));

  test('an empty line', () => expectRefusedLines(fine(), raw('0004')));
});

describe('commands that are not commands', () => {
  test('two for one ref', () => expectRefusedLines(fine(), another('refs/heads/fine')));

  test('capabilities with the second command', () =>
    expectRefusedLines(fine(), another('refs/heads/other', `\0${capabilities}`)));

  test('a second list of capabilities that asks for another object format', () =>
    expectRefusedLines(fine(), another('refs/heads/other', '\0object-format=sha256')));

  test('a command behind a line feed in another', () =>
    expectRefusedLines(`${another()}\n${toMain()}\0${capabilities}`));

  test('a command behind the capabilities', () => expectRefusedLines(`${fine()}\n${toMain()}`));

  test('a NUL in the name of a ref', () => expectRefusedLines(fine(), another('refs/heads/ma\0in')));

  test('ids in upper case that are none', () =>
    expectRefusedLines(`${zeroId} ${'G'.repeat(40)} refs/heads/fine\0${capabilities}`));

  test('an id that is too short', () =>
    expectRefusedLines(`${zeroId} ${next.slice(1)} refs/heads/fine\0${capabilities}`));

  test('a tab in the place of a space', () =>
    expectRefusedLines(`${zeroId}\t${next} refs/heads/fine\0${capabilities}`));

  test('two spaces before the name', () => expectRefusedLines(`${zeroId} ${next}  refs/heads/fine\0${capabilities}`));

  test('from nothing to nothing', () => expectRefusedLines(`${zeroId} ${zeroId} refs/heads/fine\0${capabilities}`));

  test.each([
    'refs/heads/../heads/main',
    'refs/heads//main',
    'refs/heads/main.lock',
    'refs/heads/main~1',
    'refs/heads/ma in',
    'refs/heads/-x/../main',
    'refs/heads/main/',
    'refs/heads/@{-1}',
    'HEAD',
    'main',
    'heads/main',
  ])('the name %j', (ref) => expectRefusedLines(`${zeroId} ${next} ${ref}\0${capabilities}`));

  test('a shallow line behind a command', () => expectRefusedLines(fine(), `shallow ${repository.main}`));

  test('a push certificate behind a command', () => expectRefusedLines(fine(), 'push-cert\0 report-status'));

  test('a push certificate that holds another command than the push', () =>
    expectRefusedLines(
      `push-cert\0${capabilities}`,
      'certificate version 0.1\n',
      'pusher A U Thor <author@example.com> 1700000000 +0000\n',
      'pushee https://github.com/acme/r1.git\n',
      'nonce 1-2\n',
      '\n',
      `${zeroId} ${next} refs/heads/fine\n`,
      '-----BEGIN SSH SIGNATURE-----\n',
      '-----END SSH SIGNATURE-----\n',
      'push-cert-end\n',
      toMain(),
    ));

  test('a flush and then more commands', async () => {
    const body = Buffer.concat([encodePkt(fine()), flushPkt, encodePkt(toMain()), flushPkt, pack]);
    await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body));
  });
});

describe('the empty push that git sends before a large one', () => {
  test('passes alone', async () => {
    const answer = await sendPush(ground, repository, Buffer.from('0000'));
    expect(answer.statuses).toEqual([200]);
    expect(answer.code).toBeNull();
  });

  test('carries nothing behind it', async () => {
    const body = Buffer.concat([flushPkt, encodePkt(toMain()), flushPkt, pack]);
    await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body));
  });
});

describe('the same by an honest hand', () => {
  test('passes, so that the refusals above mean something', async () => {
    await expectTaken(ground, () =>
      sendPush(
        ground,
        repository,
        pushOf(
          [
            [zeroId, next, 'refs/heads/fine'],
            [zeroId, next, 'refs/heads/other'],
          ],
          pack,
        ),
      ),
    );
    expect(await repository.bare.tip('other')).toBe(next);
  });

  test('without asking for a report it is answered by a status', async () => {
    const body = pushOf([[repository.main, next, 'refs/heads/main']], pack, 'agent=git/2.39.5');
    const answer = await expectStopped(ground, repository, 'push.protected-branch', () =>
      sendPush(ground, repository, body),
    );
    expect(answer.statuses).toEqual([403]);
    expect(answer.text).toContain('main is a protected branch');
  });
});
