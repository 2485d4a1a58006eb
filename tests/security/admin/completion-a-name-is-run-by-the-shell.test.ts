// bash expands the words that it is given to complete: a sandbox or a credential named `$(…)` would run a command of its
// choice at the press of Tab, outside of every sandbox.
import { expect, test } from 'vitest';
import { runWith } from '../../unit/cli/command-line.ts';
import { startFake } from '../../unit/gateway/admin/fake-ports.ts';

test('names that are more than names are not offered', async () => {
  const gateway = await startFake();
  try {
    const names = ['good-1', '$(touch x)', '`id`', 'a;b', 'a b', "a'b", '-x', '{a,b}', '~root', 'a\nb', '*', 'x$HOME'];
    gateway.ports.list = () => names.map((id) => ({ id }));
    gateway.ports.listCredentials = () => names.map((name) => ({ name, source: 'memory', set: true }));
    for (const list of ['sandboxes', 'credentials']) {
      expect((await runWith(['__complete', list], { home: gateway.home })).out).toBe('good-1\n');
    }
  } finally {
    await gateway.stop();
  }
});
