import { describe, expect, test } from 'vitest';
import { fieldsToSend } from '../../../../../src/path/enrich.ts';
import type { Exchange } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { wrappedExchange } from '../../../../../src/path/exchange/wrappers.ts';
import type { Authorized, Identified } from '../../../../../src/path/flow.ts';
import { decide } from '../../../../../src/stages/authorize/decide.ts';
import { authorizeGithub, readJsonObject } from '../../../../../src/stages/authorize/github/authorize-github.ts';
import type { AskingGithub } from '../../../../../src/stages/authorize/github/github-ports.ts';
import {
  acceptedFlow,
  callerFrom,
  canonicalOf,
  nobodyToAsk,
  noGitPorts,
  refusalOf,
  sandboxWith,
} from '../../../../support/hand-made-flow.ts';
import { githubPolicy } from '../../../../support/hand-made-policy.ts';
import { RecordingWriter, ScriptedExchange, withBody } from '../../../path/exchange/scripted-exchange.ts';

const api = 'https://api.github.com';
const contents = `${api}/repos/acme/widgets/contents/x`;

function portsWhere(repositories: Readonly<Record<string, string>> = {}): AskingGithub & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    ...nobodyToAsk,
    openGitServer: () => ({}) as never,
    questions: {
      ...noGitPorts.questions,
      repositoryById: async (_flow, _permission, id) => {
        asked.push(id);
        return repositories[id] ?? null;
      },
    },
  };
}

function authorize(
  method: string,
  url: string,
  exchange: Exchange = new ScriptedExchange(),
  ports: AskingGithub = portsWhere(),
  fields: [string, string][] = [],
): { flow: Identified; result: Promise<Authorized> | Authorized } {
  const canonical = canonicalOf(method, url);
  const headers = HeaderList.from(fields);
  const sandbox = sandboxWith({ authMode: 'user' });
  const flow: Identified = { ...acceptedFlow(callerFrom(), canonical, { headers }), exchange, sandbox };
  const permission = decide(githubPolicy, sandbox, canonical, headers);
  return { flow, result: authorizeGithub(flow, permission, githubPolicy, ports) };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

describe('a call that its address decides is not touched', () => {
  test('its body streams through, and the journal hears what it does', () => {
    const exchange = new ScriptedExchange();
    const { flow, result } = authorize('POST', `${api}/repos/acme/widgets/issues/7/labels?x=1`, exchange);
    expect(result).not.toBeInstanceOf(Promise);
    expect(wrappedExchange(result as Authorized)).toBe(exchange);
    expect(exchange.to).toBeNull();
    expect(flow.asked).toBe('issue acme/widgets');
  });

  test('one about no repository too', () => {
    expect(authorize('GET', `${api}/user`).flow.asked).toBe('identity');
  });
});

describe('a body that decides is read whole and sent on as it was read', () => {
  test('in the form that was judged, with its own length', async () => {
    const exchange = withBody([Buffer.from('{"branch":"main",'), Buffer.from(' "branch": "work" }')]);
    const judged = await authorize('PUT', contents, exchange, portsWhere(), [
      ['Content-Length', '999'],
      ['Expect', '100-continue'],
      ['Content-Type', 'application/json'],
    ]).result;
    const sent = '{"branch":"work"}';
    expect(wrappedExchange(judged).requestFraming).toEqual({ kind: 'length', bytes: sent.length });
    expect(fieldsToSend(judged).get('content-length')).toBe(String(sent.length));
    expect(fieldsToSend(judged).has('expect')).toBe(false);
    const to = new RecordingWriter();
    wrappedExchange(judged).sendBody(to);
    await new Promise((resolve) => setImmediate(resolve));
    expect([to.text, to.ended]).toEqual([sent, null]);
  });

  test('what is too large is not read', async () => {
    const exchange = new ScriptedExchange('payload', { kind: 'length', bytes: 16 * 1024 * 1024 + 1 });
    await expect(authorize('PUT', contents, exchange).result).rejects.toMatchObject({ code: 'limit.body-size' });
    expect(exchange.to).toBeNull();
  });

  test('one without an announced length is read no further than the limit', async () => {
    const chunks = Array.from({ length: 20 }, () => Buffer.alloc(1024 * 1024, 0x20));
    await expect(authorize('PUT', contents, withBody(chunks)).result).rejects.toMatchObject({
      code: 'limit.body-size',
    });
  });

  test('parameters in the query and compressed bodies are refused before anything is read', async () => {
    for (const [query, ...fields] of [['?branch=work'], ['?'], ['', ['Content-Encoding', 'gzip']]] as [
      string,
      ...[string, string][],
    ][]) {
      const exchange = withBody([json({ branch: 'work' })]);
      const { result } = authorize('PUT', `${contents}${query}`, exchange, portsWhere(), fields);
      await expect(result).rejects.toMatchObject({ code: 'malformed.syntax' });
      expect(exchange.to).toBeNull();
    }
  });

  test('a client that goes away ends the judgement', async () => {
    const exchange = withBody([Buffer.from('{')], 'goes on');
    const { result } = authorize('PUT', contents, exchange);
    await new Promise((resolve) => setImmediate(resolve));
    exchange.onAbandoned?.();
    await expect(result).rejects.toMatchObject({ name: 'ClientGone' });
  });
});

describe('a repository named by number', () => {
  test('is looked up, and is the one the permission is about', async () => {
    const ports = portsWhere({ 7: 'acme/widgets' });
    const judged = await authorize('GET', `${api}/repositories/7/issues`, new ScriptedExchange(), ports).result;
    expect([judged.permission.repository, ports.asked]).toEqual(['acme/widgets', ['7']]);
  });

  test.each([
    ['another', { 7: 'acme/secrets' }],
    ['none', {}],
  ])('that is %s is refused, and its body not read', async (_, repositories) => {
    const exchange = withBody([json({ branch: 'work' })]);
    const { result } = authorize('PUT', `${api}/repositories/7/contents/x`, exchange, portsWhere(repositories));
    await expect(result).rejects.toMatchObject({ code: 'repo.not-allowed' });
    expect(exchange.to).toBeNull();
  });

  test('a question that fails is not a yes', async () => {
    const { result } = authorize('GET', `${api}/repositories/7/issues`, new ScriptedExchange(), {
      ...noGitPorts,
      ...nobodyToAsk,
    });
    await expect(result).rejects.toThrow('no repository is looked up here');
  });
});

describe('only one JSON object is a body that can be judged', () => {
  test('nothing at all is an empty one', () => {
    expect(readJsonObject(Buffer.alloc(0))).toEqual({});
    expect(readJsonObject(json({ a: [1] }))).toEqual({ a: [1] });
  });

  test.each(['[]', 'null', '"x"', '7', '{', '{}{}', '\ufeff{}', "{'a':1}"])('%s is none', (text) => {
    expect(refusalOf(() => readJsonObject(Buffer.from(text))).code).toBe('malformed.syntax');
  });

  test('nor are bytes that are not UTF-8', () => {
    expect(refusalOf(() => readJsonObject(Buffer.from('{"a":"\xff"}', 'latin1'))).code).toBe('malformed.syntax');
  });
});
