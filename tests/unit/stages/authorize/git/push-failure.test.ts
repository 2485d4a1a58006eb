import { describe, expect, test } from 'vitest';
import { SpoolFull } from '../../../../../src/kit/files/spool.ts';
import { ClientGone } from '../../../../../src/path/exchange/client-gone.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { GitRemoteError } from '../../../../../src/protocols/git/git-remote-error.ts';
import { GitWireError } from '../../../../../src/protocols/git/git-wire-error.ts';
import { findingOf } from '../../../../../src/stages/authorize/git/push-failure.ts';
import { PushTooLarge } from '../../../../../src/stages/authorize/git/receive-push.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const policy = handMadePolicy({});
const secret = 'what only the operator may know';

describe('why a push could not be judged, as a finding', () => {
  test.each([
    [
      new PushTooLarge('the push has more than 9 bytes'),
      'limit.push-size',
      'limits.push_bytes',
      'the push is too large',
    ],
    [new SpoolFull(secret), 'limit.push-size', 'limits.spool_bytes', 'no room at the gateway'],
    [
      new GitWireError('malformed', 'a line is wrong'),
      'git.malformed',
      'built-in: git as git speaks it',
      'the push cannot be read',
    ],
    [
      new GitWireError('too-large', 'too many'),
      'push.undecided',
      'built-in: what cannot be decided is refused',
      'could not be decided',
    ],
    [
      new GitWireError('unsupported', 'version 3'),
      'push.undecided',
      'built-in: what cannot be decided is refused',
      'could not be decided',
    ],
    [
      new GitRemoteError(Buffer.from(secret)),
      'push.undecided',
      'built-in: what cannot be decided is refused',
      'could not be decided',
    ],
    [
      new Refusal('credential.missing', 'no credential', { rule: 'r', cause: secret }),
      'credential.missing',
      'r',
      'the server could not be asked',
    ],
  ])('%s: %s', (error, code, rule, reason) => {
    const finding = findingOf(error, policy);
    expect(finding).toMatchObject({ code, rule, reason, ref: null });
    expect(finding.hint.length).toBeGreaterThan(10);
    // What the far side or the disk said stays with the operator.
    expect(`${finding.message} ${finding.hint}`).not.toContain(secret);
    expect(finding.cause).toBe(error instanceof Refusal ? secret : error);
  });

  test('says what to do: the limit where it is known, our words for what a reader found', () => {
    const tooLarge = findingOf(new PushTooLarge('the push has more than 9 bytes'), policy);
    expect(tooLarge.message).toBe('the push has more than 9 bytes, the limit of this gateway');
    expect(tooLarge.hint).toContain('limits.push_bytes of 2147483648 bytes');
    expect(findingOf(new PushTooLarge('x'), null).hint).toMatch(/limits\.push_bytes\.$/);
    expect(findingOf(new GitWireError('malformed', 'a line is wrong'), null).message).toBe(
      'this push cannot be read: a line is wrong',
    );
    expect(findingOf(new GitWireError('too-large', 'too many'), null).message).toContain(
      'could not be decided: too many',
    );
    expect(findingOf(new GitRemoteError(Buffer.from('x')), null).message).toContain('would not answer');
  });

  test.each([new Error('the disk is on fire'), new TypeError('x is undefined'), new ClientGone(), 'thrown text'])(
    'a fault of our own is not a finding: %s',
    (fault) => {
      let thrown: unknown;
      try {
        findingOf(fault, policy);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBe(fault);
    },
  );
});
