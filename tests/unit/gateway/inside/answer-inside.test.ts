import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inPackage } from '../../../../src/kit/files/package-root.ts';
import { type Asked, anAccessRequest, aRefusal, askInside, pretendRegistrar, type Told } from './inside-ground.ts';

const json = [['Accept', 'application/json']] as const;
const accessRequest = { url: 'https://docs.example/api', reason: 'to read the manual' };

describe('the door tells a sandbox about itself', () => {
  test('at / what there is and how to ask, in a few lines', async () => {
    const { status, text } = await askInside({ path: '/' });
    expect(status).toBe(200);
    expect(text).toContain('sbx_test');
    for (const path of ['/why', '/policy', '/requests', '/agents.md']) expect(text).toContain(path);
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(10);
    const told = await askInside({ path: '/', headers: json });
    expect(told.json()).toMatchObject({ sandbox: 'sbx_test', addresses: expect.any(Array) });
  });

  test('at /why what was refused, by which rule, and what would make it pass', async () => {
    const { text } = await askInside({ path: '/why' });
    expect(text).toBe(
      [
        'What was refused to this sandbox lately, the newest first (1):',
        '',
        '2027-01-01T00:00:00.000Z  GET https://other.example/x?key=…',
        '  refused: other.example is not on the allowlist (403 domain.not-allowed)',
        '  rule:    allow (no rule covers the host)',
        '  to pass: To allow it, add:',
        '             - host: other.example',
        '  request: abc-1',
        '',
      ].join('\n'),
    );
    const { requestId: request_id, ...rest } = aRefusal;
    for (const asked of [{ path: '/why', headers: json }, { path: '/why.json' }]) {
      expect((await askInside(asked)).json()).toEqual({ refusals: [{ ...rest, request_id }] });
    }
    expect((await askInside({ path: '/why/abc-1.json' })).json()).toEqual({ ...rest, request_id });
    expect((await askInside({ path: '/why/abc-1' })).text).toContain('request: abc-1');
  });

  test('at /why as many as are asked for, twenty at most, or none', async () => {
    const many = Array.from({ length: 25 }, (_, i) => ({ ...aRefusal, requestId: `r${i}` }));
    const api = pretendRegistrar({ refusalsOf: async () => many });
    const count = async (path: string): Promise<number> =>
      ((await askInside({ path, headers: json }, { api })).json().refusals as unknown[]).length;
    expect([await count('/why'), await count('/why?n=3'), await count('/why?n=500')]).toEqual([20, 3, 20]);
    for (const n of ['0', '-1', 'x', '1e9', '', '1.5']) {
      expect((await askInside({ path: `/why?n=${n}` }, { api })).status).toBe(400);
    }
    const none = await askInside({ path: '/why' }, { api: pretendRegistrar({ refusalsOf: async () => [] }) });
    expect(none.text).toBe('Nothing was refused to this sandbox lately.\n');
  });

  test('at /policy what it may do, as it is explained for this sandbox', async () => {
    const explain = ({ id }: { readonly id: string }) => [{ title: 'Hosts', sentences: [`${id} may read.`] }];
    const { text } = await askInside({ path: '/policy', sandbox: 'sbx_a' }, { explain });
    expect(text).toBe('Hosts\n  sbx_a may read.\n');
    const told = await askInside({ path: '/policy.json' }, { explain });
    expect(told.json()).toEqual({ policy: [{ title: 'Hosts', sentences: ['sbx_test may read.'] }] });
  });

  test('at /agents.md the text that ships with the package, of 25 lines at most', async () => {
    const { headers, text } = await askInside({ path: '/agents.md' });
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(text).toBe(readFileSync(inPackage('config', 'AGENTS.sallyport.md'), 'utf8'));
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
    for (const path of ['/why', '/policy', '/requests']) expect(text).toContain(`http://sallyport.internal${path}`);
  });
});

describe('a sandbox asks a person', () => {
  test('with JSON or a form, and is told what to do next', async () => {
    const bodies: Asked[] = [
      { path: '/requests', body: JSON.stringify(accessRequest), headers: [['Content-Type', 'application/json']] },
      { path: '/requests', body: new URLSearchParams(accessRequest).toString(), headers: json },
      // curl -d says so of everything.
      {
        path: '/requests',
        body: JSON.stringify(accessRequest),
        headers: [['Content-Type', 'application/x-www-form-urlencoded'], ...json],
      },
    ];
    for (const asked of bodies) {
      const api = pretendRegistrar();
      const told = await askInside({ ...asked, method: 'POST' }, { api });
      expect(told.status).toBe(202);
      expect(told.headers.get('location')).toBe('http://sallyport.internal/requests/q1');
      expect(told.json()).toMatchObject({ id: 'q1', state: 'waiting', next: 'A person has been asked.' });
      expect(api.accessRequests).toEqual([
        { method: 'GET', scheme: 'https', host: 'docs.example', port: 443, path: '/api', reason: accessRequest.reason },
      ]);
    }
  });

  test('and sees what it asked for, all of it or one', async () => {
    expect((await askInside({ path: '/requests', headers: json })).json()).toMatchObject({ requests: [{ id: 'q1' }] });
    expect((await askInside({ path: '/requests/q1.json' })).json()).toMatchObject({
      id: 'q1',
      asked_at: anAccessRequest.askedAt,
    });
    const { text } = await askInside({ path: '/requests/q1' });
    expect(text).toContain('q1  waiting  GET https://docs.example/api');
    expect((await askInside({ path: '/requests/q2' })).status).toBe(404);
  });

  test('what is allowed already is said to be, and nobody is asked', async () => {
    const api = pretendRegistrar({
      accessRequest: async () => ({ ...anAccessRequest, id: 'none', state: 'approved' }),
    });
    const told = await askInside({ method: 'POST', path: '/requests', body: JSON.stringify(accessRequest) }, { api });
    expect([told.status, told.headers.get('location')]).toEqual([200, undefined]);
    expect(told.text).toMatch(/^allowed {2}GET https:/);
  });

  test.each([
    ['nobody-watches', 503, 'approval.unwatched', /sallyport dashboard.*sallyport watch/],
    ['too-many', 429, 'approval.too-many', /sallyport\.internal\/requests/],
  ] as const)('%s: it is not said to be accepted', async (refused, status, code, hint) => {
    const api = pretendRegistrar({ accessRequest: async () => ({ refused }) });
    const asked = { method: 'POST', path: '/requests', body: JSON.stringify(accessRequest), headers: json };
    const told = await askInside(asked, { api });
    expect(told.status).toBe(status);
    expect(told.json()).toMatchObject({ code, hint: expect.stringMatching(hint), request_id: 'r1' });
    expect(told.headers.get('retry-after')).toBe('60');
  });

  test('a body that is too long, compressed or in parts is not taken', async () => {
    const api = pretendRegistrar();
    const post = async (over: Partial<Asked>): Promise<number> =>
      (await askInside({ method: 'POST', path: '/requests', body: JSON.stringify(accessRequest), ...over }, { api }))
        .status;
    expect(await post({ body: `{"url":"${'x'.repeat(9000)}"}` })).toBe(413);
    expect(await post({ headers: [['Content-Encoding', 'gzip']] })).toBe(415);
    expect(await post({ headers: [['Content-Type', 'multipart/form-data; boundary=x']] })).toBe(415);
    expect(api.accessRequests).toEqual([]);
  });
});

describe('every answer', () => {
  const everything: readonly Asked[] = [
    { path: '/' },
    { path: '/why' },
    { path: '/why/nothing' },
    { path: '/nothing' },
    { path: '/agents.md' },
    { path: '/requests', method: 'DELETE' },
    { path: '/requests', method: 'POST', body: 'x' },
  ];

  test('is kept by nobody, has its charset, and is taken for nothing else', async () => {
    for (const asked of everything) {
      const { headers } = await askInside(asked);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-type')).toMatch(/; charset=utf-8$/);
    }
  });

  test('elsewhere is 404 in words, by another method 405 with those that there are', async () => {
    for (const path of [
      '/nothing',
      '/why/a/b',
      '/policy/x',
      '/agents.md/x',
      '/internal/questions',
      '/WHY',
      '/toString',
    ]) {
      const told: Told = await askInside({ path });
      expect([path, told.status]).toEqual([path, 404]);
    }
    const strange = await askInside({ path: '/a%E2%80%AEb' });
    expect(strange.text).toBe('there is nothing at /a?b\nWhat there is: http://sallyport.internal/\n');
    for (const [method, path, allowed] of [
      ['PUT', '/why', 'GET, HEAD'],
      ['POST', '/why', 'GET, HEAD'],
      ['POST', '/requests/q1', 'GET, HEAD'],
      ['DELETE', '/requests', 'GET, HEAD, POST'],
      ['OPTIONS', '/', 'GET, HEAD'],
    ] as const) {
      const told = await askInside({ method, path });
      expect([told.status, told.headers.get('allow')]).toEqual([405, allowed]);
    }
  });

  test('is about the sandbox that was identified, whatever the request says', async () => {
    const api = pretendRegistrar();
    const headers = [['X-Sandbox', 'sbx_other']] as const;
    const body = JSON.stringify(accessRequest);
    await askInside({ path: '/why?sandbox=sbx_other', headers, sandbox: 'sbx_me' }, { api });
    await askInside({ path: '/requests?sandbox=sbx_other', headers, sandbox: 'sbx_me' }, { api });
    await askInside({ path: '/requests', method: 'POST', headers, body, sandbox: 'sbx_me' }, { api });
    expect(api.askedFor).toEqual(['sbx_me', 'sbx_me', 'sbx_me']);
  });

  test('holds the words of a sandbox as text on one line', async () => {
    const hostile = { ...aRefusal, url: 'https://x.example/\u001b]0;x\u0007\nrefused: no', reason: 'a\r\nb\u202e' };
    const { text } = await askInside(
      { path: '/why' },
      { api: pretendRegistrar({ refusalsOf: async () => [hostile] }) },
    );
    expect(text).toContain('GET https://x.example/?]0;x??refused: no\n  refused: a??b? (403');
    expect(text).not.toMatch(/[^\P{C}\n]/u);
  });
});
