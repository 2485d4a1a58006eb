import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../src/path/refusal.ts';
import { Secret } from '../../../../src/path/secret.ts';
import { InjectStage } from '../../../../src/stages/inject/inject-stage.ts';
import { anthropic, authorized, everySpec, injectNow, policyOf, spec, stageWith, wire } from './authorized-flow.ts';

const stage = stageWith(everySpec, (name) => `real-${name}`);

describe('the credential goes where its placement says', () => {
  test('into a header of its own', () => {
    const out = injectNow(stage, {
      headers: [['X-Api-Key', 'placeholder']],
      permission: { credential: 'anthropic' },
    });
    expect(wire(out)).toBe('/v1/messages\nanthropic-version: 2023-06-01\nx-api-key: real-anthropic');
    expect(out.injected).toBe('anthropic');
  });

  test('as a bearer token, with forced companions in place of what the client sent', () => {
    const out = injectNow(stage, {
      canonical: { host: 'api.openai.com' },
      headers: [
        ['authorization', 'Bearer placeholder'],
        ['openai-organization', 'org-of-the-sandbox'],
      ],
      permission: { credential: 'openai' },
    });
    expect(wire(out)).toBe('/v1/messages\nOpenAI-Organization: org-real\nAuthorization: Bearer real-openai');
  });

  test('as basic auth on the git host and as bearer on the API host of one credential', () => {
    const git = injectNow(stage, { canonical: { host: 'github.com' }, permission: { credential: 'github' } });
    expect(git.outgoing.headers.get('authorization')).toBe(
      `Basic ${Buffer.from('x-access-token:real-github').toString('base64')}`,
    );
    const api = injectNow(stage, { canonical: { host: 'api.github.com' }, permission: { credential: 'github' } });
    expect(api.outgoing.headers.get('authorization')).toBe('Bearer real-github');
  });

  test('into the query, encoded, after what was there', () => {
    const odd = stageWith(everySpec, () => 'a&b=c d');
    const out = injectNow(odd, {
      canonical: { host: 'maps.example', query: 'q=1&key=placeholder' },
      permission: { credential: 'maps' },
    });
    expect(out.outgoing.target).toBe('/v1/messages?q=1&key=a%26b%3Dc%20d');
  });

  test('a companion that the client sent itself is left alone', () => {
    const out = injectNow(stage, {
      headers: [['Anthropic-Version', '2024-01-01']],
      permission: { credential: 'anthropic' },
    });
    expect(out.outgoing.headers.getAll('anthropic-version')).toEqual(['2024-01-01']);
  });
});

describe('what belongs to one hop or to a proxy stays here', () => {
  const sent: [string, string][] = [
    ['Host', 'api.anthropic.com'],
    ['Connection', 'keep-alive, X-Private, TE'],
    ['X-Private', '1'],
    ['TE', 'trailers'],
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Connection', 'keep-alive'],
    ['Proxy-Authorization', 'Basic c2J4OnNlY3JldA=='],
    ['Transfer-Encoding', 'chunked'],
    ['Upgrade', 'websocket'],
    ['Expect', '100-continue'],
    ['Via', '1.1 other'],
    ['Forwarded', 'for=10.0.0.1'],
    ['X-Forwarded-For', '10.0.0.1'],
    ['X-Forwarded-Proto', 'https'],
    ['X_Forwarded_Host', 'inner'],
    ['X-Real-IP', '10.0.0.1'],
    ['HTTP2-Settings', 'AAMAAABk'],
  ];

  test('none of it goes out, and the rest keeps order, case and repetition', () => {
    const out = injectNow(stage, {
      canonical: { host: 'registry.example' },
      headers: [['Accept', 'a'], ...sent, ['accept', 'b'], ['Content-Length', '3'], ['Trailer', 'x-sum']],
    });
    expect(wire(out)).toBe('/v1/messages\nAccept: a\naccept: b\nContent-Length: 3\nTrailer: x-sum');
  });

  test('Connection cannot name the length of the body away', () => {
    const out = injectNow(stage, {
      canonical: { host: 'registry.example' },
      headers: [
        ['Connection', 'Content-Length'],
        ['Content-Length', '3'],
      ],
    });
    expect(out.outgoing.headers.get('content-length')).toBe('3');
  });

  test('Connection cannot name the injected credential away', () => {
    const out = injectNow(stage, {
      headers: [['Connection', 'x-api-key, anthropic-version']],
      permission: { credential: 'anthropic' },
    });
    expect(out.outgoing.headers.get('x-api-key')).toBe('real-anthropic');
  });

  test('te: trailers stays on HTTP/2, where gRPC needs it, and only that value', () => {
    const h2 = (value: string) =>
      injectNow(stage, { canonical: { host: 'grpc.example' }, protocol: 'h2', headers: [['te', value]] });
    expect(h2('trailers').outgoing.headers.get('te')).toBe('trailers');
    expect(h2('gzip').outgoing.headers.has('te')).toBe(false);
  });

  test('a WebSocket handshake keeps its own fields, and asks for an answer that can be read', () => {
    const out = injectNow(stage, {
      canonical: { host: 'ws.example', kind: 'websocket' },
      headers: [
        ['Sec-WebSocket-Key', 'k'],
        ['Sec-WebSocket-Protocol', 'chat, openai-insecure-api-key.mine'],
      ],
    });
    expect(wire(out)).toBe(
      '/v1/messages\nSec-WebSocket-Key: k\nSec-WebSocket-Protocol: chat, openai-insecure-api-key.mine\nAccept-Encoding: identity',
    );
  });
});

describe('a host without a credential is the business of the sandbox', () => {
  test('its own Authorization, cookie and key go out as they are', () => {
    const headers: [string, string][] = [
      ['Authorization', 'Bearer own'],
      ['Cookie', 'a=b'],
      ['X-Api-Key', 'own'],
    ];
    const out = injectNow(stage, { canonical: { host: 'registry.example', query: 'key=own' }, headers });
    expect(wire(out)).toBe('/v1/messages?key=own\nAuthorization: Bearer own\nCookie: a=b\nX-Api-Key: own');
    expect(out.injected).toBeNull();
  });

  test('an empty query stays a question mark', () => {
    const out = injectNow(stage, { canonical: { host: 'registry.example', query: '' } });
    expect(out.outgoing.target).toBe('/v1/messages?');
  });
});

describe('no credential is at hand', () => {
  const empty = stageWith(everySpec, () => null);

  test('a host that needs none is asked without one, and without the placeholder', () => {
    const out = injectNow(empty, {
      canonical: { host: 'api.github.com' },
      headers: [['Authorization', 'token placeholder']],
      permission: { credential: 'github' },
    });
    expect(wire(out)).toBe('/v1/messages');
    expect(out.injected).toBeNull();
  });

  test('otherwise the answer names what the operator must run', () => {
    const run = () => empty.run(authorized({ permission: { credential: 'anthropic' } }));
    expect(run).toThrow('the operator of the gateway must run `sallyport secret set anthropic`');
    expect(run).toThrow(expect.objectContaining({ code: 'credential.missing', status: 502 }));
  });

  test('or the source that must get a value', () => {
    const fromEnvironment = spec('anthropic', {
      placements: anthropic.placements,
      source: { kind: 'environment', variable: 'THE_KEY' },
    });
    const run = () =>
      stageWith([fromEnvironment], () => null).run(authorized({ permission: { credential: 'anthropic' } }));
    expect(run).toThrow('credentials.anthropic.source (environment)');
  });

  test('a credential that a reload has taken away is missing, not guessed', () => {
    const run = () => stageWith([], () => 'x').run(authorized({ permission: { credential: 'anthropic' } }));
    expect(run).toThrow(Refusal);
    expect(run).toThrow('no longer in the configuration');
  });
});

describe('time and change', () => {
  test('a secret that must be fetched is waited for', async () => {
    const policy = policyOf(everySpec);
    const slow = new InjectStage(() => policy, { resolve: async (name) => new Secret(name, 'late') });
    const out = await slow.run(authorized({ permission: { credential: 'anthropic' } }));
    expect(out.outgoing.headers.get('x-api-key')).toBe('late');
  });

  test('a reloaded policy is used from the next request on', () => {
    let policy = policyOf([]);
    const reloading = new InjectStage(() => policy, { resolve: () => null });
    const parts = { headers: [['x-api-key', 'placeholder']] as const };
    expect(wire(injectNow(reloading, parts))).toContain('placeholder');
    policy = policyOf(everySpec);
    expect(wire(injectNow(reloading, parts))).not.toContain('placeholder');
  });

  test('thousands of made-up host names do not pile up as plans that are wrong', () => {
    const wild = spec('wild', {
      placements: [
        {
          hosts: [{ text: '*.w.example', covers: (name) => name.endsWith('.w.example') }],
          paths: null,
          injection: { kind: 'header', header: 'x-key', prefix: '' },
        },
      ],
    });
    const many = stageWith([wild], () => 'real');
    for (let i = 0; i < 10_000; i++) {
      const out = injectNow(many, { canonical: { host: `h${i}.w.example` }, permission: { credential: 'wild' } });
      if (out.outgoing.headers.get('x-key') !== 'real') throw new Error(`lost at host ${i}`);
    }
    const other = injectNow(many, { canonical: { host: 'w.example' }, headers: [['x-key', 'own']] });
    expect(other.outgoing.headers.getAll('x-key')).toEqual(['own']);
  });
});
