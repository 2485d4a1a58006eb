import { describe, expect, test } from 'vitest';
import type { Authorized, RawRequest } from '../../../src/path/flow.ts';
import { createAuthorizeStage } from '../../../src/stages/authorize/authorize-stage.ts';
import {
  acceptedFlow,
  callerFrom,
  canonicalOf,
  noGitPorts,
  refusalOf,
  sandboxWith,
} from '../../support/hand-made-flow.ts';
import { requestLimits } from '../../support/hand-made-gate.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';

const policy = handMadePolicy({ allow: [{ host: 'pinned.example.com', tunnel: true }] });
const limits = requestLimits();

function run(handshake: Partial<RawRequest>): Authorized {
  const canonical = canonicalOf('CONNECT', 'https://pinned.example.com', 'tunnel');
  const flow = { ...acceptedFlow(callerFrom(), canonical, handshake), sandbox: sandboxWith() };
  return createAuthorizeStage(() => policy, limits, noGitPorts).run(flow) as Authorized;
}

describe('what passes undecrypted must show, in the clear, the name that was asked for', () => {
  test.each([
    ['another host', 'evil.test'],
    ['a host below it', 'x.pinned.example.com'],
    ['a host that ends the same', 'notpinned.example.com'],
    ['a trailing dot', 'pinned.example.com.'],
    ['an empty name', ''],
    ['no name', null],
  ])('%s', (_what, sni) => {
    expect(refusalOf(() => run({ sni })).code).toBe('tunnel.sni');
  });

  test('a handshake that hides its real name (ECH), whatever it shows', () => {
    expect(refusalOf(() => run({ sni: 'pinned.example.com', hiddenName: true })).code).toBe('tunnel.hidden-name');
  });

  test('the name itself passes, in any case, without a credential', () => {
    for (const sni of ['pinned.example.com', 'Pinned.Example.COM']) {
      expect(run({ sni }).permission).toEqual({
        rule: 'allow[0]',
        tunnel: true,
        credential: null,
        git: null,
        github: null,
        repository: null,
      });
    }
  });
});
