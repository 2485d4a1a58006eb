import { describe, expect, test } from 'vitest';
import type { Identified, Permission } from '../../../../../src/path/flow.ts';
import { askingFor, gitSideOf } from '../../../../../src/stages/authorize/github/git-side.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  githubHosts: ['ghe.example.com'],
  credentials: [
    { name: 'api', hosts: ['api.github.com'] },
    { name: 'git', hosts: ['github.com'] },
    { name: 'enterprise', hosts: ['ghe.example.com'] },
  ],
});

function flowTo(url: string, repos: readonly string[] = ['acme/widgets']): Identified {
  return { ...acceptedFlow(callerFrom(), canonicalOf('PUT', url)), sandbox: sandboxWith({ repos }) };
}

describe('the git side of a repository', () => {
  test.each([
    ['https://api.github.com/repos/acme/widgets/contents/x?y', 'github.com', 'git'],
    ['https://uploads.github.com/repos/acme/widgets/x', 'github.com', 'git'],
    ['https://ghe.example.com/api/v3/repos/acme/widgets/contents/x', 'ghe.example.com', 'enterprise'],
    ['https://api.ghe.example.com/repos/acme/widgets/contents/x', 'ghe.example.com', 'enterprise'],
  ])('of %s is %s, with the credential %s', (url, host, credential) => {
    const { gitFlow, gitPermission } = gitSideOf(policy, flowTo(url), 'acme/widgets');
    expect(gitFlow.canonical).toMatchObject({ host, path: '/acme/widgets.git/git-upload-pack', query: null });
    expect(gitPermission).toMatchObject({
      credential,
      repository: 'acme/widgets',
      github: null,
      git: { repository: 'acme/widgets', operation: 'upload-pack', rawRepositoryPath: '/acme/widgets.git' },
    });
  });

  test('without a credential that the sandbox may use it is asked without', () => {
    const flow = flowTo('https://api.github.com/repos/acme/widgets/contents/x');
    const { gitPermission } = gitSideOf(
      policy,
      { ...flow, sandbox: sandboxWith({ credentials: ['api'] }) },
      'acme/widgets',
    );
    expect(gitPermission.credential).toBeNull();
  });

  test('the flow that is judged stays as it is', () => {
    const flow = flowTo('https://api.github.com/repos/acme/widgets/contents/x');
    gitSideOf(policy, flow, 'acme/widgets');
    expect(flow.canonical.host).toBe('api.github.com');
  });
});

describe('a question that names no repository is asked with the right of one of the sandbox’s own', () => {
  const permission = { repository: null } as Permission;

  test('the first that is named in full', () => {
    const flow = flowTo('https://api.github.com/repositories/7', ['acme/*', 'acme/widgets']);
    expect(askingFor(flow, permission).repository).toBe('acme/widgets');
    expect(askingFor(flow, { ...permission, repository: 'acme/other' }).repository).toBe('acme/other');
  });

  test('none when none is', () => {
    expect(askingFor(flowTo('https://api.github.com/repositories/7', ['acme/*']), permission).repository).toBeNull();
  });
});
