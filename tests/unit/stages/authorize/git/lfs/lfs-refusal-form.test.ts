import { expect, test } from 'vitest';
import { renderRefusal } from '../../../../../../src/path/refusal-answer.ts';
import { badTicket } from '../../../../../../src/stages/authorize/git/lfs/lfs-refusals.ts';
import { acceptedFlow, callerFrom, canonicalOf } from '../../../../../support/hand-made-flow.ts';

function rendered(url: string) {
  return renderRefusal(badTicket(), acceptedFlow(callerFrom(), canonicalOf('GET', url)));
}

test('git-lfs is told in the field that it shows, with the fields of every refusal beside it', () => {
  const { status, headers, body } = rendered('https://github.com/a/b.git/info/lfs/door/abcdefghijklmnop');
  expect([status, headers.get('content-type')]).toEqual([403, 'application/vnd.git-lfs+json']);
  expect(JSON.parse(body.toString())).toMatchObject({
    message:
      'this address of an LFS object has expired, or was given to another sandbox. Run the git-lfs command again.',
    error: 'this address of an LFS object has expired, or was given to another sandbox',
    code: 'lfs.ticket',
    request_id: 'r1',
  });
});

test('everybody else is told as before', () => {
  const { headers, body } = rendered('https://github.com/a/b');
  expect(headers.get('content-type')).toBe('application/json');
  expect(JSON.parse(body.toString())).not.toHaveProperty('message');
});
