// What is put in when the credential is a login, when the upstream rejects it, and when the request is for a token.

import { describe, expect, test } from 'vitest';
import type { AnswerScrub } from '../../../../src/path/exchange/answer-scrub.ts';
import type { Exchange } from '../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { wrappedExchange } from '../../../../src/path/exchange/wrappers.ts';
import type { Injected } from '../../../../src/path/flow.ts';
import { Refusal } from '../../../../src/path/refusal.ts';
import { type AboutSecret, Secret } from '../../../../src/path/secret.ts';
import { type InjectParts, InjectStage } from '../../../../src/stages/inject/inject-stage.ts';
import { anthropic, authorized, type FlowParts, host, injectNow, policyOf, spec, wire } from './authorized-flow.ts';

const claude = {
  ...anthropic,
  login: {
    injection: { kind: 'header', header: 'Authorization', prefix: 'Bearer ' },
    listed: [['anthropic-beta', 'oauth-2025-04-20']],
    agents: ['claude'],
    opencodeProvider: null,
    tokenEndpoints: [{ host: 'platform.claude.com', path: '/v1/oauth/token', answers: 'claude' }],
  },
} as const;
const login: AboutSecret = { login: true, fields: [['ChatGPT-Account-Id', 'acc-real']] };
const toModel: FlowParts = { permission: { credential: 'anthropic' } };

function stageOf(secret: Secret, parts: InjectParts = {}, next: Secret | null = null): InjectStage {
  const policy = policyOf([claude]);
  return new InjectStage(() => policy, { resolve: () => secret, renewed: async () => next }, parts);
}

describe('a login', () => {
  test('goes out in its own form, with the member that its host asks for and the fields of its account', () => {
    const stage = stageOf(new Secret('anthropic', 'access', login));
    const sent = wire(injectNow(stage, { ...toModel, headers: [['x-api-key', 'placeholder']] }));
    expect(sent).toContain('Authorization: Bearer access');
    expect(sent).toContain('anthropic-beta: oauth-2025-04-20');
    expect(sent).toContain('ChatGPT-Account-Id: acc-real');
    expect(sent).not.toContain('x-api-key');
  });

  test('keeps the members that the client has listed, and lists none twice', () => {
    const stage = stageOf(new Secret('anthropic', 'access', login));
    const beta = (value: string): string[] =>
      injectNow(stage, { ...toModel, headers: [['Anthropic-Beta', value]] }).outgoing.headers.getAll('anthropic-beta');
    expect(beta('one,two')).toEqual(['one,two,oauth-2025-04-20']);
    expect(beta('oauth-2025-04-20, one')).toEqual(['oauth-2025-04-20, one']);
  });

  test('takes the place of the account that the sandbox names, however it spells the field', () => {
    const stage = stageOf(new Secret('anthropic', 'access', login));
    const headers = [
      ['chatgpt-account-id', 'acc-placeholder'],
      ['CHATGPT_ACCOUNT_ID', 'acc-other'],
    ] as const;
    const sent = wire(injectNow(stage, { ...toModel, headers }));
    expect(sent).not.toMatch(/acc-placeholder|acc-other/);
  });

  test('a key of the same credential goes out as a key', () => {
    const sent = wire(injectNow(stageOf(new Secret('anthropic', 'key')), toModel));
    expect(sent).toContain('x-api-key: key');
    expect(sent).not.toMatch(/Bearer|anthropic-beta/);
  });
});

describe('a credential that the upstream rejects', () => {
  test('is put in anew with the one that came of it', async () => {
    const stage = stageOf(new Secret('anthropic', 'old', login), {}, new Secret('anthropic', 'new', login));
    const { outgoing } = injectNow(stage, { ...toModel, headers: [['x-mine', '1']] });
    const again = await outgoing.renew!();
    expect(again!.headers.get('authorization')).toBe('Bearer new');
    expect(again!.headers.get('x-mine')).toBe('1');
    expect(again!.target).toBe(outgoing.target);
  });

  test('stays as it is when there is no other', async () => {
    const { outgoing } = injectNow(stageOf(new Secret('anthropic', 'old', login)), toModel);
    expect(await outgoing.renew!()).toBeNull();
  });
});

describe('a token endpoint', () => {
  const asked: FlowParts = {
    canonical: { host: 'platform.claude.com', path: '/v1/oauth/token', rawPath: '/v1/oauth/token' },
  };
  const answer = { status: 200, headers: new HeaderList(), body: Buffer.from('{}') };

  test('is answered here: nothing is sent, and no credential is looked at', async () => {
    const policy = policyOf([claude]);
    const untouched = {
      resolve: () => {
        throw new Error('asked for a credential');
      },
    };
    const stage = new InjectStage(() => policy, untouched, { tokens: { answer: () => answer } });
    const { outgoing, injected } = await stage.run(authorized(asked));
    expect(outgoing.answer).toBe(answer);
    expect(injected).toBeNull();
  });

  test('with no one to answer it, forwards nothing', async () => {
    await expect(stageOf(new Secret('anthropic', 'x')).run(authorized(asked))).rejects.toThrow('no one answers');
  });

  test('of another path on the same host goes on as any request', () => {
    const stage = stageOf(new Secret('anthropic', 'x'), { tokens: { answer: () => answer } });
    const other = { canonical: { ...asked.canonical, path: '/v1/oauth', rawPath: '/v1/oauth' } };
    expect(injectNow(stage, other).outgoing.answer).toBeNull();
  });
});

describe('what the sandbox sends', () => {
  const refuse = (): never => {
    throw new Refusal('policy.error', 'no');
  };

  test('is looked at before any credential is, and refused there', () => {
    const guard = { checkHead: refuse, guardBody: (_: unknown, exchange: Exchange) => exchange };
    const policy = policyOf([claude]);
    let asked = 0;
    const secrets = {
      resolve: () => {
        asked++;
        return null;
      },
    };
    const stage = new InjectStage(() => policy, secrets, { outbound: guard });
    expect(() => stage.run(authorized(toModel))).toThrow('no');
    expect(asked).toBe(0);
  });

  test('has a name that it goes to, also in a tunnel that nobody looks into', () => {
    const guard = { checkHead: refuse, guardBody: (_: unknown, exchange: Exchange) => exchange };
    const stage = stageOf(new Secret('anthropic', 'x'), { outbound: guard });
    expect(() => stage.run(authorized({ canonical: { kind: 'tunnel' }, permission: { tunnel: true } }))).toThrow('no');
  });

  test('goes on through the guarded exchange', () => {
    const guarded = {} as Exchange;
    const guard = { checkHead: () => {}, guardBody: () => guarded };
    const out = injectNow(stageOf(new Secret('anthropic', 'x'), { outbound: guard }), toModel);
    expect(wrappedExchange(out)).toBe(guarded);
  });
});

describe('an answer', () => {
  const scrub = {} as AnswerScrub;

  test('is searched whether or not its request carries a credential', () => {
    const stage = stageOf(new Secret('anthropic', 'x'), { openScrub: () => scrub });
    expect(injectNow(stage, toModel).outgoing.scrub).toBe(scrub);
    expect(injectNow(stage, {}).outgoing.scrub).toBe(scrub);
  });

  test('is asked for in codings that can be read, with a credential whole, and never by gRPC in codings of its own', () => {
    const stage = stageOf(new Secret('anthropic', 'x'), { openScrub: () => scrub });
    const headers = [
      ['Accept-Encoding', 'zstd, gzip'],
      ['accept-encoding', 'br'],
      ['grpc-accept-encoding', 'gzip'],
      ['Sec-WebSocket-Extensions', 'x-unknown, permessage-deflate'],
      ['Range', 'bytes=0-9'],
      ['If-Range', '"a"'],
    ] as const;
    const read = ({ outgoing }: Injected) => [
      outgoing.headers.getAll('accept-encoding'),
      outgoing.headers.getAll('sec-websocket-extensions'),
      outgoing.headers.has('grpc-accept-encoding'),
      outgoing.headers.has('range') || outgoing.headers.has('if-range'),
    ];
    const rest = [['permessage-deflate'], false];
    expect(read(injectNow(stage, { ...toModel, headers }))).toEqual([['gzip, br'], ...rest, false]);
    // A part of a coded body cannot be read by itself.
    expect(read(injectNow(stage, { headers }))).toEqual([['identity'], ...rest, true]);
  });

  test('that is not searched is asked for as the client does', () => {
    const headers = [['Accept-Encoding', 'zstd']] as const;
    expect(injectNow(stageOf(new Secret('anthropic', 'x')), { headers }).outgoing.headers.get('accept-encoding')).toBe(
      'zstd',
    );
  });

  test('that says what it cost is asked for in codings that can be read, searched or not', () => {
    const headers = [['Accept-Encoding', 'zstd, gzip']] as const;
    const meter = { isRetrieval: false, count: () => {}, over: () => null };
    for (const permission of [{ credential: 'anthropic' }, {}]) {
      const flow = { ...authorized({ permission, headers }), meter };
      const { outgoing } = stageOf(new Secret('anthropic', 'x')).run(flow) as Injected;
      expect(outgoing.headers.get('accept-encoding')).toBe('gzip');
    }
  });

  test('that the policy does not want searched is not, and is asked for in parts if the client wants that', () => {
    const searched = policyOf([anthropic]);
    const policy = { ...searched, secrets: { ...searched.secrets, scrub: false } };
    const secrets = { resolve: () => new Secret('anthropic', 'x') };
    const stage = new InjectStage(() => policy, secrets, { openScrub: () => scrub });
    const headers = [
      ['Accept-Encoding', 'zstd'],
      ['Range', 'bytes=0-9'],
      ['If-Range', '"a"'],
    ] as const;
    const { outgoing } = injectNow(stage, { ...toModel, headers });
    expect(outgoing.scrub).toBeNull();
    for (const [name, value] of headers) expect(outgoing.headers.get(name.toLowerCase())).toBe(value);
  });
});

describe('keys of AWS', () => {
  const aws = spec('aws', {
    placements: [{ hosts: [host('s3.example')], paths: null, injection: { kind: 'sigv4' } }],
  });
  const toStorage: FlowParts = { canonical: { host: 's3.example' }, permission: { credential: 'aws' } };

  test('are handed to what signs, and never sent', async () => {
    const policy = policyOf([aws]);
    const exchange = {} as Exchange;
    const stage = new InjectStage(
      () => policy,
      { resolve: () => new Secret('aws', 'AKIA:key') },
      {
        sign: async (_flow, target, headers) => ({
          target: `${target}?signed`,
          headers,
          wrap: () => exchange,
          isSigned: true,
        }),
      },
    );
    const out = await stage.run(authorized(toStorage));
    expect(out.outgoing.target).toBe('/v1/messages?signed');
    expect(wrappedExchange(out)).toBe(exchange);
    expect(wire(out)).not.toContain('AKIA:key');
  });

  test('with nothing that signs, forward nothing', async () => {
    const policy = policyOf([aws]);
    const stage = new InjectStage(() => policy, { resolve: () => new Secret('aws', 'AKIA:key') });
    await expect(stage.run(authorized(toStorage))).rejects.toThrow('no one signs');
  });
});
