import { describe, expect, test } from 'vitest';
import { takePath } from '../../../src/cli/cli-context.ts';

function left(path: string, cwd: string): string | undefined {
  const env = { PATH: path };
  expect(takePath(env, cwd)).toBe(path);
  return env.PATH;
}

describe('the PATH of programs that we start', () => {
  test('is without what lies where we stand', () => {
    expect(left('/usr/bin:/usr/lib:.:/bin/none', '/usr/lib')).toBe('/usr/bin:/bin/none');
  });

  test('is whole for a gateway that a service manager or a container has started in /', () => {
    expect(left('/usr/local/bin:/usr/bin:.', '/')).toBe('/usr/local/bin:/usr/bin');
  });
});
