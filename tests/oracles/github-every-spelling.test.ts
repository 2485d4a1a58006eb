import { describe, expect, test } from 'vitest';
import type { Identified, Permission } from '../../src/path/flow.ts';
import { defaultEffects, type GithubEffect, githubEffects } from '../../src/path/github-effects.ts';
import { Refusal } from '../../src/path/refusal.ts';
import { decide } from '../../src/stages/authorize/decide.ts';
import { authorizeGithub } from '../../src/stages/authorize/github/authorize-github.ts';
import type { AskingGithub } from '../../src/stages/authorize/github/github-ports.ts';
import type { GraphqlRefWrite } from '../../src/stages/authorize/github/graphql/ref-write.ts';
import { hasJudgedBody, judgeGithubBody } from '../../src/stages/authorize/github/judge-body.ts';
import { loadGraphqlTable, loadRestTable } from '../../src/stages/authorize/github/operation-table.ts';
import {
  acceptedFlow,
  callerFrom,
  canonicalOf,
  nobodyToAsk,
  noGitPorts,
  sandboxWith,
} from '../support/hand-made-flow.ts';
import { githubPolicy } from '../support/hand-made-policy.ts';
import {
  askMutation,
  foreign,
  mutationsWith,
  namesRepository,
  nodes,
  own,
  restLines,
  type Spelling,
  spellingsOf,
} from './github-spellings.ts';

// Without the patterns on top: the effects alone must do.
const policy = { ...githubPolicy, blockedApiPatterns: new Map() };
const sandbox = sandboxWith({ repos: [own] });
const effects = Object.keys(githubEffects) as GithubEffect[];
const allowed = effects.filter((effect) => defaultEffects.includes(effect));
const forbidden = effects.filter((effect) => !defaultEffects.includes(effect));

function flowOf({ method, url }: Pick<Spelling, 'method' | 'url'>): Identified {
  return { ...acceptedFlow(callerFrom(), canonicalOf(method, url)), sandbox };
}

/** A GitHub in which number 7 is this repository. */
function portsWhere(seven: string | null): AskingGithub {
  const pull = { headRepository: own, headBranch: 'main', baseBranch: 'main' };
  const questions = { ...noGitPorts.questions, repositoryById: async () => seven, pull: async () => pull };
  return { ...nobodyToAsk, questions, openGitServer: () => ({}) as never };
}

/** The code of a refusal, or what the call would be sent with; a body that decides is not sent. */
async function outcomeOf(spelling: Spelling, seven: string): Promise<string> {
  const flow = flowOf(spelling);
  try {
    const permission = decide(policy, sandbox, flow.canonical, flow.request.headers);
    if (permission.github === null) return 'not taken for a call of the API';
    if (seven !== own || !hasJudgedBody(spelling.method, permission.github)) {
      await authorizeGithub(flow, permission, policy, portsWhere(seven));
    }
    return permission.credential ?? 'anonymous';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** All spellings with another outcome than the ones that are right, to be shown at once. */
async function wrongAmong(spellings: readonly Spelling[], seven: string, right: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const spelling of spellings) {
    const outcome = await outcomeOf(spelling, seven);
    if (!right.includes(outcome)) wrong.push(`${spelling.method} ${spelling.url}: ${outcome}`);
  }
  return wrong;
}

describe('what the default policy forbids is refused in every spelling', () => {
  // Searches and lists of others show what anybody may see: they go out, but as anybody's.
  const asAnybody = (effect: GithubEffect): string[] => (effect === 'read-account' ? ['anonymous'] : []);

  test.each(forbidden)('%s by REST, in a repository of the sandbox and elsewhere', async (effect) => {
    const lines = restLines(effect);
    const inOwn = lines.flatMap((line) => spellingsOf(line, own));
    expect(await wrongAmong(inOwn, own, ['github.effect', ...asAnybody(effect)])).toEqual([]);
    const elsewhere = lines.filter(namesRepository).flatMap((line) => spellingsOf(line, foreign));
    expect(await wrongAmong(elsewhere, foreign, ['github.effect', 'repo.not-allowed'])).toEqual([]);
  });

  test.each(forbidden)('%s by GraphQL, with ids of its repository and of another', async (effect) => {
    const outcomes = await Promise.all(
      mutationsWith(effect).flatMap((name) => [askMutation(name, nodes.own), askMutation(name, nodes.foreign)]),
    );
    expect(outcomes.filter((outcome) => outcome !== 'github.effect')).toEqual([]);
  });

  test('an approval is refused where a review is not', async () => {
    const pulls = 'https://api.github.com/repos/acme/widgets/pulls/7';
    for (const path of ['/reviews', '/reviews/7/events']) {
      const judge = (event: unknown) => judged('POST', `${pulls}${path}`, { event });
      expect(await judge('COMMENT')).toBe('passes');
      for (const event of ['APPROVE', 'approve', ['APPROVE'], null]) expect(await judge(event)).toBe('github.effect');
    }
  });

  test.each([
    ['merge', '/acme/widgets/pull/7/merge'],
    ['release', '/acme/widgets/releases'],
    ['settings', '/acme/widgets/settings'],
    ['delete-repository', '/acme/widgets/settings/delete'],
    ['push', '/acme/widgets/create/main'],
    ['hooks', '/acme/widgets/settings/hooks'],
  ])('%s through the pages of the site', async (_, path) => {
    for (const base of ['https://github.com', 'https://www.github.com', 'https://ghe.example.com']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const spelling = { method, url: `${base}${path}`, byNumber: false };
        expect(await outcomeOf(spelling, own)).toBe('repo.operation-not-judged');
      }
    }
  });

  test('the lists above hold what they are meant to', () => {
    expect(forbidden).toEqual(expect.arrayContaining(['merge', 'approve', 'release', 'delete-repository', 'secrets']));
    const operations = forbidden.map((effect) => restLines(effect).length).reduce((sum, count) => sum + count, 0);
    const mutations = forbidden.map((effect) => mutationsWith(effect).length).reduce((sum, count) => sum + count, 0);
    expect(operations).toBeGreaterThan(700);
    expect(mutations).toBeGreaterThan(150);
    expect(restLines('merge').map(({ method, template }) => `${method} ${template}`)).toContain(
      'PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge',
    );
  });
});

describe('what the default policy allows is allowed in the own repositories alone', () => {
  test.each(allowed)('%s by REST', async (effect) => {
    const lines = restLines(effect);
    const right = effect === 'read-public' ? ['anonymous'] : ['github'];
    expect(
      await wrongAmong(
        lines.flatMap((line) => spellingsOf(line, own)),
        own,
        right,
      ),
    ).toEqual([]);
    const elsewhere = lines.filter(namesRepository).flatMap((line) => spellingsOf(line, foreign));
    expect(await wrongAmong(elsewhere, foreign, ['repo.not-allowed'])).toEqual([]);
  });

  // Writes a branch of GitHub's own choice, with commits nobody has seen yet.
  const beyondJudging = ['revertPullRequest'];

  test.each(beyondJudging)('%s writes a branch and cannot be judged, so it is refused', async (name) => {
    expect(mutationsWith('push')).toContain(name);
    for (const id of Object.values(nodes)) expect(await askMutation(name, id)).toMatch(/^github\.(?:graphql|node)$/);
  });

  test.each(allowed)('%s by GraphQL', async (effect) => {
    for (const name of mutationsWith(effect).filter((one) => !beyondJudging.includes(one))) {
      const writes: GraphqlRefWrite[] = [];
      const outcome = await askMutation(name, nodes.own, writes);
      expect([name, outcome]).toEqual([name, 'allowed']);
      expect([name, writes.length > 0]).toEqual([name, effect === 'push']);
      expect([name, await askMutation(name, nodes.foreign)]).toEqual([name, 'github.node']);
    }
  });

  test.each(['github.com', 'www.github.com', 'ghe.example.com'])('push and read by git on %s', (host) => {
    for (const [method, service] of [
      ['GET', '/info/refs?service=git-receive-pack'],
      ['POST', '/git-receive-pack'],
      ['POST', '/git-upload-pack'],
      ['POST', '/info/lfs/objects/batch'],
      ['POST', '/info/lfs/locks'],
    ] as const) {
      const permit = (repository: string): Permission => {
        const { canonical, request } = flowOf({ method, url: `https://${host}/${repository}.git${service}` });
        return decide(policy, sandbox, canonical, request.headers);
      };
      expect(permit(own).git?.repository).toBe(own);
      expect(() => permit(foreign)).toThrow('is not among the repositories');
      expect(() => permit(`${own}.wiki`)).toThrow('is not among the repositories');
    }
  });
});

/** What the rules for branches say about a call with this body. */
async function judged(method: string, url: string, body: Record<string, unknown>): Promise<string> {
  const flow = flowOf({ method, url });
  const permission = decide(policy, sandbox, flow.canonical, flow.request.headers);
  if (!hasJudgedBody(method, permission.github!)) return 'not judged';
  const { signal } = new AbortController();
  try {
    await judgeGithubBody(flow, { ...permission, repository: own }, policy, body, portsWhere(own), signal);
    return 'passes';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('a call that writes a branch is judged by its body, or refused', () => {
  test.each(restLines('push').map((line) => [`${line.method} ${line.template}`, line] as const))(
    '%s',
    async (_, line) => {
      const codes = new Set<string>();
      for (const { method, url } of spellingsOf(line, own)) codes.add(await judged(method, url, {}));
      expect([...codes]).toHaveLength(1);
      expect([...codes][0]).toMatch(/^(?:push\.|repo\.operation-not-judged$)/);
    },
  );

  test('every operation of the tables has an effect that the policy can forbid', () => {
    for (const { effect } of loadRestTable().operations) expect(effects).toContain(effect);
    for (const effect of loadGraphqlTable().mutations.values()) expect(effects).toContain(effect);
  });

  // A server that obeys `_method` in a query or a form could turn one writing method into another.
  test('no path has a write that is allowed beside one that is not', () => {
    const writes = new Map<string, Set<boolean>>();
    for (const { method, template, effect } of loadRestTable().operations) {
      if (method === 'GET') continue;
      writes.set(template, (writes.get(template) ?? new Set()).add(allowed.includes(effect)));
    }
    expect(writes.size).toBeGreaterThan(300);
    expect([...writes].filter(([, both]) => both.size > 1).map(([template]) => template)).toEqual([]);
  });

  test('a write that the table does not know is refused in every method', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'MERGE', 'LINK', 'PROPFIND']) {
      const spelling = { method, url: `https://api.github.com/repos/${own}/made/up`, byNumber: false };
      expect(await outcomeOf(spelling, own)).toBe('repo.operation-not-judged');
    }
  });
});
