import { expect, test } from 'vitest';
import { whyNoNamespaces } from '../../../../src/sandbox/namespace/why-no-namespaces.ts';

const settings: Readonly<Record<string, string>> = {
  'user.max_user_namespaces': '0',
  'kernel.unprivileged_userns_clone': '0',
  'kernel.apparmor_restrict_unprivileged_userns': '1',
};

test.each(Object.keys(settings))('%s in the way is named, with what to do', (name) => {
  const error = whyNoNamespaces('unshare: not permitted\n', (asked) => (asked === name ? settings[name]! : null));
  expect(error.message).toMatch(/could not be made: unshare: not permitted$/);
  expect(error.hint).toContain(name);
});

test('when no setting stands in the way it says where to look', () => {
  expect(whyNoNamespaces('', () => '1000').hint).toMatch(/must be allowed|container/);
  expect(whyNoNamespaces('', () => null).message).toMatch(/did not say why/);
});
