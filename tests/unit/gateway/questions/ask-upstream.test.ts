import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../src/path/refusal.ts';
import { answer, ask, asker, closed, respond, scripted, type } from './scripted-stages.ts';

describe('a question of the gateway goes the way of every request', () => {
  test('as a flow of its own: same sandbox and request id, the path of the question, the credential of the push', async () => {
    const ports = scripted(answer(200, [['Content-Type', type]]));
    await ask(ports);
    const { flow, permission } = asker();
    const [seen] = ports.seen;
    expect(seen).toMatchObject({
      requestId: flow.requestId,
      sandbox: flow.sandbox,
      canonical: {
        scheme: 'https',
        host: 'git.example.com',
        port: 443,
        method: 'POST',
        path: '/acme/widgets.git/git-upload-pack',
        query: null,
        kind: 'http',
      },
      permission: { credential: permission.credential, git: { operation: 'upload-pack' } },
    });
    expect(seen?.request.headers.get('content-length')).toBe('10');
    expect(seen?.request.headers.has('accept-encoding')).toBe(false);
    expect(seen?.exchange.requestFraming).toEqual({ kind: 'length', bytes: 10 });
  });

  test('its body is sent whole', async () => {
    let sent = '';
    const ports = scripted((flow) => {
      flow.exchange.sendBody({
        write: (chunk) => {
          sent += chunk;
          return true;
        },
        flush: () => {},
        end: () => {
          sent += '.';
        },
        fail: () => {},
        onDrain: null,
      });
      return answer(200, [['Content-Type', type]])(flow);
    });
    await ask(ports);
    expect(sent).toBe('a question.');
  });

  test('a path that could be read in two ways is not asked for', async () => {
    const ports = scripted(answer(200, [['Content-Type', type]]));
    await expect(ask(ports, { target: '/acme/../x/git-upload-pack' })).rejects.toMatchObject({
      code: 'malformed.path',
    });
    expect(ports.seen).toEqual([]);
  });
});

describe('only an answer of git is an answer', () => {
  test.each<[string, [string, string][]]>([
    ['of another type', [['Content-Type', 'text/html']]],
    ['with a parameter on its type', [['Content-Type', `${type}; charset=utf-8`]]],
    ['of no type', []],
    [
      'of two types',
      [
        ['Content-Type', type],
        ['Content-Type', type],
      ],
    ],
    [
      'in a coding',
      [
        ['Content-Type', type],
        ['Content-Encoding', 'gzip'],
      ],
    ],
  ])('one %s is refused', async (_, fields) => {
    await expect(ask(scripted(answer(200, fields, 'x')))).rejects.toMatchObject({ code: 'upstream.protocol' });
  });

  test.each([
    [401, 'push.undecided'],
    [403, 'push.undecided'],
    [404, 'push.undecided'],
    [301, 'push.undecided'],
    [307, 'push.undecided'],
    [204, 'upstream.protocol'],
    [429, 'upstream.protocol'],
    [503, 'upstream.protocol'],
  ])('status %i ends in %s, and what the upstream said is in the cause alone', async (status, code) => {
    const words = 'token gho_123 lacks the scope';
    const fields: [string, string][] = [
      ['Content-Type', type],
      ['Location', 'https://elsewhere.example/'],
    ];
    const refusal = await ask(scripted(answer(status, fields, words))).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    const { code: told, message, hint, cause } = refusal as Refusal;
    expect(told).toBe(code);
    expect(message).toContain(String(status));
    expect(`${message}${hint}`).not.toMatch(/gho_123|elsewhere.example/);
    expect(String(cause)).toMatch(/gho_123/);
  });

  test('of a refusal without end only the beginning is read', async () => {
    let written = 0;
    const ports = scripted((flow) => {
      let isOver = false;
      flow.exchange.onAbandoned = () => {
        isOver = true;
      };
      const writer = respond(flow, 403);
      while (!isOver && written < 1_000) {
        written++;
        writer.write(Buffer.alloc(100, 'x'));
      }
    });
    await expect(ask(ports)).rejects.toMatchObject({ code: 'push.undecided' });
    expect(written).toBe(20);
  });
});

describe('a question is asked once more only when nobody heard it', () => {
  test('after a connection that was closed before it answered', async () => {
    let tries = 0;
    const ports = scripted((flow) => {
      if (++tries === 1) throw closed();
      return answer(200, [['Content-Type', type]], 'there')(flow);
    });
    expect(await ask(ports)).toBe('there');
    expect(ports.seen[0]?.exchange).not.toBe(ports.seen[1]?.exchange);
  });

  test('and no third time', async () => {
    const ports = scripted(() => {
      throw closed();
    });
    await expect(ask(ports)).rejects.toMatchObject({ code: 'upstream.closed' });
    expect(ports.seen).toHaveLength(2);
  });

  test('not when half an answer had come', async () => {
    const ports = scripted((flow) => {
      respond(flow, 200, ['Content-Type', type]).write(Buffer.from('half'));
      throw closed();
    });
    await expect(ask(ports)).rejects.toMatchObject({ code: 'upstream.closed' });
    expect(ports.seen).toHaveLength(1);
  });

  test('not after any other failure', async () => {
    const ports = scripted(() => {
      throw new Refusal('upstream.certificate', 'not who it should be');
    });
    await expect(ask(ports)).rejects.toMatchObject({ code: 'upstream.certificate' });
    expect(ports.seen).toHaveLength(1);
  });
});
