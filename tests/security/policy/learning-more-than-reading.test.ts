import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LearningGround, learner, makeLearningGround } from '../../support/learning-ground.ts';

let ground: LearningGround;

beforeAll(async () => {
  ground = await makeLearningGround(['new.example']);
  expect(await ground.startLearning('learner')).toBe(204);
});

beforeEach(() => {
  ground.upstream.seen.length = 0;
});

afterAll(() => ground.close());

describe('a sandbox that learns only reads what nobody has named', () => {
  test('a read passes, over both protocols', async () => {
    expect(await ground.get(learner, 'https://new.example/a')).toEqual(['200', '']);
    expect(await ground.get(learner, 'https://new.example/b', ['--http2'])).toEqual(['200', '']);
    expect(await ground.get(learner, 'https://new.example/c', ['-I'])).toEqual(['200', '']);
    expect(ground.upstream.seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'HEAD']);
  });

  const attempts: readonly (readonly [name: string, url: string, options: readonly string[]])[] = [
    ['POST', 'https://new.example/', ['-d', 'x']],
    ['PUT', 'https://new.example/', ['-X', 'PUT', '-d', 'x']],
    ['DELETE', 'https://new.example/', ['-X', 'DELETE']],
    ['OPTIONS', 'https://new.example/', ['-X', 'OPTIONS']],
    ['another method in a field', 'https://new.example/', ['-H', 'X-HTTP-Method-Override: DELETE']],
    ['GET with a body', 'https://new.example/', ['-X', 'GET', '-d', 'secret']],
    ['GET with a body in chunks', 'https://new.example/', ['-X', 'GET', '-H', 'Transfer-Encoding: chunked', '-d', 'x']],
    ['GET with a body over HTTP/2', 'https://new.example/', ['--http2', '-X', 'GET', '-d', 'secret']],
    [
      'GET with a body of unknown length over HTTP/2',
      'https://new.example/',
      ['--http2', '-X', 'GET', '-H', 'Content-Length:', '-H', 'Transfer-Encoding: chunked', '-T', '/etc/hostname'],
    ],
    [
      'an upgraded connection',
      'https://new.example/',
      [
        ...['--http1.1', '-H', 'Connection: Upgrade', '-H', 'Upgrade: websocket'],
        ...['-H', 'Sec-WebSocket-Version: 13', '-H', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
      ],
    ],
    ['plain http', 'http://new.example/', []],
  ];

  test.each(attempts)('%s is refused, and nothing of it reaches the host', async (_name, url, options) => {
    expect(await ground.get(learner, url, options)).toEqual(['403', 'method.not-allowed']);
    expect(ground.upstream.seen).toEqual([]);
  });

  test('`sallyport check` says the same of a body', async () => {
    const check = async (body: object) => {
      const asked = { sandbox: 'learner', method: 'GET', url: 'https://new.example/', ...body };
      return (await ground.gateway.admin('POST', '/internal/check', asked)).json<{ code: string }>().code;
    };
    expect([await check({}), await check({ body: '' }), await check({ body: 'secret' })]).toEqual([
      ...['allowed', 'allowed', 'method.not-allowed'],
    ]);
  });

  test('another port is refused, and nobody is told to add it to a rule that no file has', async () => {
    expect((await ground.get(learner, 'https://new.example:8443/'))[0]).not.toBe('200');
    expect(ground.upstream.seen).toEqual([]);
    const record = (await ground.gateway.journal()).at(-1);
    expect(record).toMatchObject({ code: 'target.port', rule: 'learning' });
    expect(record?.hint).toContain('add a rule for new.example to sallyport.yaml');
  });
});
