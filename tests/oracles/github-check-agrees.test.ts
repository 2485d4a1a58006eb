import { describe, expect, test } from 'vitest';
import { judgeCase } from '../../src/gateway/decisions/judge-cases.ts';
import { type RehearsePorts, rehearse } from '../../src/gateway/decisions/rehearse.ts';
import { HeaderList } from '../../src/path/exchange/header-list.ts';
import type { Identified } from '../../src/path/flow.ts';
import { type GithubEffect, githubEffects } from '../../src/path/github-effects.ts';
import { Refusal } from '../../src/path/refusal.ts';
import type { PolicyCase } from '../../src/policy/cases/policy-cases.ts';
import type { CompiledPolicy } from '../../src/policy/compiled.ts';
import { createAuthorizeStage } from '../../src/stages/authorize/authorize-stage.ts';
import { loadGraphqlTable, loadRestTable } from '../../src/stages/authorize/github/operation-table.ts';
import { acceptedFlow, callerFrom, canonicalOf, noGitPorts, sandboxWith } from '../support/hand-made-flow.ts';
import { requestLimits } from '../support/hand-made-gate.ts';
import { githubPolicy } from '../support/hand-made-policy.ts';
import { type ScriptedExchange, withBody } from '../unit/path/exchange/scripted-exchange.ts';
import { foreign, inputOf, nodes, own, spellingsOf } from './github-spellings.ts';

interface Asked {
  readonly method: string;
  readonly url: string;
  /** Null: sent without one. */
  readonly body: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

const sandbox = sandboxWith({ repos: [own] });
const byDefault: CompiledPolicy = { ...githubPolicy, blockedApiPatterns: new Map() };
const all = new Set(Object.keys(githubEffects) as GithubEffect[]);
const byAll: CompiledPolicy = { ...byDefault, githubEffects: { bot: all, user: all } };

/** A GitHub in which 7 is the own repository, and every node is what it is asked for. */
function openGithub(): RehearsePorts & { readonly asked: string[] } {
  const asked: string[] = [];
  const note = <T>(what: string, value: T): Promise<T> => {
    asked.push(what);
    return Promise.resolve(value);
  };
  const ofNode = (id: string) => {
    const nameWithOwner = id === nodes.foreign ? foreign : own;
    return { __typename: 'Repository', id, nameWithOwner, databaseId: id === nodes.foreign ? 2 : 1 };
  };
  return {
    asked,
    approvals: noGitPorts.approvals,
    lfsTickets: noGitPorts.lfsTickets,
    preview: async ({ permission }) => permission.credential,
    openGitServer: () =>
      ({
        refs: () => note('refs', []),
        commits: () => note('commits', new Map()),
        known: () => note('known', new Set<string>()),
        objects: () => note('objects', new Map()),
      }) as never,
    questions: {
      pull: () => note('pull', { headRepository: own, headBranch: 'sandbox/x', baseBranch: 'main' }),
      repositoryById: () => note('number', own),
      graphql: (_flow, _permission, body) => {
        const { variables } = JSON.parse(body.toString()) as { variables: { ids: string[] } };
        return note('nodes', { data: { nodes: variables.ids.map(ofNode) } });
      },
    },
  };
}

function flowOf({ method, url, body, headers = {} }: Asked): Identified {
  const canonical = canonicalOf(method, url);
  const fields = { ...(body === null ? {} : { 'content-type': 'application/json' }), ...headers };
  const exchange = withBody(body === null ? [] : [Buffer.from(body)]);
  const request = { headers: HeaderList.from(Object.entries(fields)), sni: canonical.host };
  return { ...acceptedFlow(callerFrom(), canonical, request), exchange, sandbox };
}

const said = async (run: () => Promise<string | null>): Promise<string> => {
  try {
    return `allowed with ${(await run()) ?? 'nothing'}`;
  } catch (error) {
    if (error instanceof Refusal) return `${error.code} by ${error.rule}`;
    throw error;
  }
};

interface Verdicts {
  readonly door: string;
  readonly check: string;
  readonly test: string;
}

/** `undecided` only where no body was given and the door has read one, or where GitHub would have to be asked. */
async function verdictsOf(policy: CompiledPolicy, asked: Asked): Promise<Verdicts> {
  const github = openGithub();
  const limits = requestLimits({ requestsPerMinute: 1_000_000, burst: 1_000_000 });
  const stage = createAuthorizeStage(() => policy, limits, {
    ...noGitPorts,
    openGitServer: github.openGitServer,
    questions: github.questions,
  });
  const flow = flowOf(asked);
  const door = await said(async () => (await stage.run(flow)).permission.credential);
  const { method, url, body, headers = {} } = asked;
  const check = await said(async () => {
    const { credential, open } = await rehearse(policy, sandbox, { method, url, headers, body }, openGithub());
    return open === null ? credential : 'the body open';
  });
  const wasRead = (flow.exchange as ScriptedExchange).to !== null;
  const isOpen = check === 'allowed with the body open' && body === null && wasRead;
  const tried: PolicyCase['asked'] = { kind: 'request', method, url, headers, body: body ?? '' };
  const { outcome, code, rule, credential } = await judgeCase(policy, {
    name: 'x',
    line: 1,
    sandbox,
    asked: tried,
    expect: 'allowed',
    code: null,
    rule: null,
    credential: undefined,
  });
  const cases = outcome === 'refused' ? `${code} by ${rule}` : `${outcome} with ${credential ?? 'nothing'}`;
  const mayBeOpen = outcome === 'undecided' && github.asked.length > 0;
  return { door, check: isOpen ? door : check, test: mayBeOpen ? door : cases };
}

async function differing(policy: CompiledPolicy, all: readonly Asked[]): Promise<string[]> {
  const found: string[] = [];
  for (const asked of all) {
    const { door, check, test: cases } = await verdictsOf(policy, asked);
    if (door === check && door === cases) continue;
    found.push(`${asked.method} ${asked.url} ${asked.body}: door ${door}, check ${check}, policy test ${cases}`);
  }
  return found;
}

const operations = loadRestTable().operations;
const bodies = [
  null,
  '',
  '{}',
  '{"branch":"main"}',
  '{"branch":"sandbox/x","sha":"1111111111111111111111111111111111111111","ref":"refs/heads/sandbox/x"}',
  '[]',
  'x=1',
];

describe('`check` and `policy test` say what the door does', () => {
  test.each([
    ['by default', byDefault],
    ['with every effect allowed', byAll],
  ])('to every operation in every spelling, sent without a body, %s', async (_, policy) => {
    for (const repository of [own, foreign]) {
      const asked = operations.flatMap((line) =>
        spellingsOf(line, repository).map(({ method, url }) => ({ method, url, body: null })),
      );
      expect(asked.length).toBeGreaterThan(10_000);
      expect((await differing(policy, asked)).slice(0, 20)).toEqual([]);
    }
  });

  test('to every write, with bodies of many kinds', async () => {
    const asked = operations
      .filter(({ method }) => method !== 'GET')
      .flatMap((line) =>
        spellingsOf(line, own)
          .filter(({ url }) => url.startsWith('https://api.github.com'))
          .flatMap(({ method, url }) => bodies.map((body) => ({ method, url, body }))),
      );
    expect((await differing(byDefault, asked)).slice(0, 20)).toEqual([]);
    expect((await differing(byAll, asked)).slice(0, 20)).toEqual([]);
  });

  test('to every mutation, of the own repository and of another', async () => {
    const asked = [...loadGraphqlTable().mutations.keys()].flatMap((name) =>
      [nodes.own, nodes.foreign].map((id) => {
        const query = `mutation M($input: MadeUp!) { ${name}(input: $input) { clientMutationId } }`;
        const body = JSON.stringify({ query, variables: { input: inputOf(name, id) } });
        return { method: 'POST', url: 'https://api.github.com/graphql', body };
      }),
    );
    const odd = [
      null,
      '',
      '{}',
      '[]',
      '{"query":"{ viewer { login } }"}',
      '{"query":"{ viewer { login } }","x":1}',
    ].map((body) => ({ method: 'POST', url: 'https://api.github.com/graphql', body }));
    expect((await differing(byDefault, [...asked, ...odd])).slice(0, 20)).toEqual([]);
    expect((await differing(byAll, [...asked, ...odd])).slice(0, 20)).toEqual([]);
  });

  test('to a body that is too large, compressed, or beside a query', async () => {
    const url = `https://api.github.com/repos/${own}/contents/a.txt`;
    const body = '{"branch":"sandbox/x"}';
    const large = JSON.stringify({ branch: 'sandbox/x', content: 'x'.repeat(16 * 1024 * 1024) });
    const asked = [
      { method: 'PUT', url, body },
      { method: 'PUT', url: `${url}?branch=main`, body },
      { method: 'PUT', url, body, headers: { 'content-encoding': 'gzip' } },
      { method: 'PUT', url, body: large },
      {
        method: 'POST',
        url: 'https://api.github.com/graphql',
        body: JSON.stringify({ query: 'x'.repeat(1024 * 1024) }),
      },
    ];
    expect(await differing(byDefault, asked)).toEqual([]);
  });

  test('to git, whose head must be that of git', async () => {
    const url = `https://github.com/${own}.git/git-upload-pack`;
    const type = { 'content-type': 'application/x-git-upload-pack-request' };
    const asked = [
      { method: 'POST', url, body: '0000', headers: { 'content-type': 'text/plain' } },
      { method: 'POST', url, body: '0000', headers: { ...type, 'content-encoding': 'br' } },
      { method: 'POST', url, body: '0000', headers: type },
    ];
    expect(await differing(byDefault, asked)).toEqual([]);
    const verdicts = await Promise.all(asked.map(async (one) => (await verdictsOf(byDefault, one)).door));
    expect(verdicts.map((one) => one.split(' ')[0])).toEqual(['git.malformed', 'git.malformed', 'allowed']);
    // What is not said is what git says.
    expect((await verdictsOf(byDefault, { method: 'POST', url, body: null })).check).toBe('allowed with github');
    const push = { method: 'POST', url: url.replace('upload', 'receive'), body: null };
    expect((await verdictsOf(byDefault, { ...push, headers: type })).check).toMatch(/^git\.malformed/);
    expect((await verdictsOf(byDefault, push)).check).toBe('allowed with the body open');
  });

  test('and that a person is asked first, where one is', async () => {
    const asks = { bot: new Set<GithubEffect>(['issue', 'approve']), user: new Set<GithubEffect>() };
    const asking = { ...byAll, githubAsks: asks };
    const askedBy = async (path: string, body: string | null, ports: Partial<RehearsePorts> = {}) => {
      const asked = { method: 'POST', url: `https://api.github.com/repos/${own}${path}`, headers: {}, body };
      const rehearsed = await rehearse(asking, sandbox, asked, { ...openGithub(), ...ports });
      return [rehearsed.askedBy, rehearsed.open === null];
    };
    const rule = 'github.effects.bot.ask';
    expect(await askedBy('/issues', '{"title":"x"}')).toEqual([rule, true]);
    expect(await askedBy('/issues', null)).toEqual([rule, false]);
    expect(await askedBy('/pulls/7/reviews', '{"event":"APPROVE"}')).toEqual([rule, true]);
    expect(await askedBy('/pulls/7/reviews', '{"event":"COMMENT"}')).toEqual([null, true]);
    const approvals = { ...noGitPorts.approvals, coversEffect: () => true };
    expect(await askedBy('/pulls/7/reviews', '{"event":"APPROVE"}', { approvals })).toEqual([null, true]);
  });

  test('so that it means something: branches are not deleted, whoever is asked', async () => {
    const url = `https://api.github.com/repos/${own}/git/refs/heads/sandbox/x`;
    const verdict = 'push.deletion by policy.allow_branch_deletion';
    expect(await verdictsOf(byDefault, { method: 'DELETE', url, body: null })).toEqual({
      door: verdict,
      check: verdict,
      test: verdict,
    });
  });
});
