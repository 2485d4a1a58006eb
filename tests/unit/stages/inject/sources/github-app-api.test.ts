import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { importSPKI, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../../../../src/path/secret.ts';
import { signAppProof } from '../../../../../src/stages/inject/sources/github-app-key.ts';
import { cleanValue } from '../../../../../src/stages/inject/sources/secret-source.ts';
import { AppGround, answerOf, appKeys, asking, sandboxWith } from './github-app-ground.ts';

async function failure(ground: AppGround, repository = 'acme/widgets'): Promise<string> {
  try {
    await ground.source.current(asking(sandboxWith(), repository));
  } catch (error) {
    return inspect(error, { depth: 10 });
  }
  throw new Error('it did not fail');
}

describe('the proof of an App', () => {
  test('is signed with its key, says who and when, and is short-lived', async () => {
    const ground = new AppGround();
    await ground.source.current(asking(sandboxWith(), 'acme/widgets'));
    const proof = ground.calls[0]!.authorization.replace('Bearer ', '');
    const { payload, protectedHeader } = await jwtVerify(proof, await importSPKI(appKeys.publicKey, 'RS256'), {
      currentDate: new Date(ground.nowMs),
    });
    const nowSeconds = ground.nowMs / 1000;
    expect(protectedHeader.alg).toBe('RS256');
    expect(payload).toEqual({ iss: '12345', iat: nowSeconds - 60, exp: nowSeconds + 540 });
  });

  test.each([
    ['PKCS #1, as GitHub makes it', appKeys.privateKey],
    [
      'PKCS #8',
      generateKeyPairSync('rsa', { modulusLength: 2048 })
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .toString(),
    ],
    ['with lines written as \\n', appKeys.privateKey.replaceAll('\n', '\\n')],
    ['with the line ends of Windows', appKeys.privateKey.replaceAll('\n', '\r\n')],
  ])('a key is read: %s', async (_, pem) => {
    const key = new Secret('key', cleanValue(pem, 'the key'));
    expect(String(await signAppProof(key, '1', 0))).toBe('[secret key proof]');
  });

  test.each([
    ['is not a private key', 'just some text'],
    ['is not a private key', appKeys.publicKey],
    ['is damaged', appKeys.privateKey.replace(/\n.{60}/, '\nAAAA')],
    [
      'is encrypted or damaged',
      '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nAAAA\n-----END RSA PRIVATE KEY-----',
    ],
    [
      'fewer than 2048',
      generateKeyPairSync('rsa', { modulusLength: 1024 })
        .privateKey.export({ type: 'pkcs1', format: 'pem' })
        .toString(),
    ],
    [
      'not RSA',
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ],
  ])('a key that %s is refused without a word of it', async (words, pem) => {
    const ground = new AppGround();
    ground.keyText = pem;
    const told = await failure(ground);
    expect(told).toContain(words);
    for (const line of pem.split('\n').filter((one) => one.length > 20)) expect(told).not.toContain(line);
    expect(ground.calls).toEqual([]);
  });
});

describe('what GitHub says to an App', () => {
  test.each([
    [401, 'check the id of the App'],
    [403, 'status 403'],
    [422, 'must be installed on all of these repositories'],
    [500, 'status 500'],
  ])('a mint refused with %i is told to the operator, with the words of GitHub masked', async (status, words) => {
    const ground = new AppGround();
    ground.script = ({ line, authorization }) =>
      line.startsWith('POST')
        ? answerOf(status, { message: `no: ${authorization}\u0007 ${authorization.slice(-80)}` })
        : null;
    const told = await failure(ground);
    expect(told).toContain(words);
    expect(told).toContain('no: ');
    expect(told).not.toContain(ground.calls[1]!.authorization.slice(7, 60));
    expect(told).not.toContain(ground.calls[1]!.authorization.slice(-60));
  });

  test('a repository that was renamed is not followed to its new place', async () => {
    const ground = new AppGround();
    ground.script = () => answerOf(301, { message: 'Moved Permanently' });
    expect(await failure(ground)).toContain('has another name now');
    expect(ground.calls).toHaveLength(1);
  });

  test('an answer that is not one is a failure, and nothing of it is told', async () => {
    const ground = new AppGround();
    ground.script = ({ line }) => (line.startsWith('POST') ? answerOf(201, { token_v2: 'ghs_private' }) : null);
    const told = await failure(ground);
    expect(told).toContain('a form that is not known');
    expect(told).not.toContain('ghs_private');
  });

  test('a way out that fails is a failure of the credential, with its reason', async () => {
    const ground = new AppGround();
    ground.script = () => {
      throw new Error('api.github.com could not be reached');
    };
    expect(await failure(ground)).toContain('could not be reached');
  });
});

describe('a PEM block is the one value of several lines', () => {
  test('its line ends become spaces', () => {
    const one = '-----BEGIN PRIVATE KEY-----\nAAAA\nBBBB\n-----END PRIVATE KEY-----\n';
    expect(cleanValue(one, 'it')).toBe('-----BEGIN PRIVATE KEY----- AAAA BBBB -----END PRIVATE KEY-----');
  });

  test.each(['a\nb', '-----BEGIN X-----\nAA\u0000\n-----END X-----', 'x\n-----BEGIN X-----\nAA\n-----END X-----'])(
    'and %j is still refused',
    (text) => {
      expect(() => cleanValue(text, 'it')).toThrow('control character');
    },
  );
});
