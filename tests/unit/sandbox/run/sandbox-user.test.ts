import { expect, test } from 'vitest';
import { sandboxUser } from '../../../../src/sandbox/run/sandbox-user.ts';

test('an ordinary user stays who he is, and root becomes somebody', () => {
  expect(sandboxUser(501, 20)).toEqual({ uid: 501, gid: 20 });
  expect(sandboxUser(0, 0)).toEqual({ uid: 1000, gid: 1000 });
  // In group root without being root.
  expect(sandboxUser(501, 0)).toEqual({ uid: 501, gid: 1000 });
});
