import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type AskPorts, askUpstream, type Question } from '../../../src/ask-upstream.ts';
import { ClientGone } from '../../../src/flow/client-gone.ts';
import type { BodyWriter } from '../../../src/flow/exchange.ts';
import type { Authorized, Forwarded, Injected } from '../../../src/flow/flow.ts';
import { HeaderList } from '../../../src/flow/header-list.ts';
import { OutgoingRequest } from '../../../src/flow/outgoing-request.ts';
import { Refusal } from '../../../src/flow/refusal.ts';
import { pushTo } from '../../support/asked-git-server.ts';

const type = 'application/x-git-upload-pack-result';
const question: Question = {
  operation: 'upload-pack',
  method: 'POST',
  target: '/acme/widgets.git/git-upload-pack',
  headers: [['Git-Protocol', 'version=2']],
  body: Buffer.from('a question'),
  answerType: type,
  maxAnswerBytes: 100,
};

type Script = (flow: Injected) => Promise<void> | void;

/** Stages that do what the test says; the credential is a field that nothing else sets. */
function scripted(script: Script, timeoutMs = 5_000): AskPorts & { readonly seen: Authorized[] } {
  const seen: Authorized[] = [];
  return {
    seen,
    timeoutMs,
    inject: {
      name: 'inject',
      run: (flow) => {
        seen.push(flow);
        const { headers } = flow.request;
        return { ...flow, outgoing: new OutgoingRequest(flow.canonical.rawPath, headers), injected: 'git' };
      },
    },
    forward: {
      name: 'forward',
      run: async (flow): Promise<Forwarded> => {
        await script(flow);
        return { ...flow, status: 200, upstreamAddress: null };
      },
    },
  };
}

function respond(flow: Injected, status: number, ...fields: [string, string][]): BodyWriter {
  const headers = HeaderList.from(fields);
  return flow.exchange.respond({ status, reason: '', headers, framing: { kind: 'chunked' } });
}

const answer =
  (status: number, fields: [string, string][], ...chunks: string[]): Script =>
  (flow) => {
    const writer = respond(flow, status, ...fields);
    for (const chunk of chunks) writer.write(Buffer.from(chunk));
    writer.end(null);
  };

const asker = (signal: AbortSignal = new AbortController().signal) => ({ ...pushTo('acme/widgets'), signal });

async function ask(ports: AskPorts, over: Partial<Question> = {}): Promise<string> {
  let text = '';
  await askUpstream(ports, asker(), { ...question, ...over }, (chunk) => {
    text += chunk;
  });
  return text;
}

const closed = (): Refusal => new Refusal('upstream.closed', 'gone');

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
      answer(200, [['Content-Type', type]])(flow);
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

describe('the answer is taken at the pace of whoever takes it', () => {
  test('whole and in order', async () => {
    expect(await ask(scripted(answer(200, [['Content-Type', type]], 'one ', 'two ', 'three')))).toBe('one two three');
  });

  test('no more is let in while a piece is being taken', async () => {
    let waiting = 0;
    let drained = 0;
    const ports = scripted(async (flow) => {
      const writer = respond(flow, 200, ['Content-Type', type]);
      for (let i = 0; i < 5; i++) {
        if (writer.write(Buffer.from('x'))) continue;
        await new Promise<void>((resolve) => {
          writer.onDrain = () => {
            drained++;
            resolve();
          };
        });
        expect(waiting).toBe(0);
      }
      writer.end(null);
    });
    let taken = 0;
    await askUpstream(ports, asker(), question, async () => {
      waiting++;
      await sleep(1);
      waiting--;
      taken++;
    });
    expect({ taken, drained }).toEqual({ taken: 5, drained: 5 });
  });

  test('it is over only when the last piece has been taken', async () => {
    let taken = false;
    await askUpstream(scripted(answer(200, [['Content-Type', type]], 'x')), asker(), question, async () => {
      await sleep(5);
      taken = true;
    });
    expect(taken).toBe(true);
  });

  test('whoever takes it can break it off, and the far side is told', async () => {
    let abandoned = 0;
    const ports = scripted((flow) => {
      flow.exchange.onAbandoned = () => {
        abandoned++;
      };
      const writer = respond(flow, 200, ['Content-Type', type]);
      writer.write(Buffer.from('x'));
      writer.write(Buffer.from('y'));
    });
    const asked = askUpstream(ports, asker(), question, () => {
      throw new Error('enough');
    });
    await expect(asked).rejects.toThrow('enough');
    expect(abandoned).toBe(1);
  });

  test('no more of it than the limit', async () => {
    const asked = ask(scripted(answer(200, [['Content-Type', type]], 'x'.repeat(60), 'x'.repeat(41))));
    await expect(asked).rejects.toMatchObject({ name: 'GitWireError', code: 'too-large' });
  });

  test('an answer that was never ended is none', async () => {
    const ports = scripted((flow) => {
      respond(flow, 200, ['Content-Type', type]).write(Buffer.from('half'));
    });
    await expect(ask(ports)).rejects.toThrow(/never ended/);
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
      answer(200, [['Content-Type', type]], 'there')(flow);
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

describe('a question does not outlive whom it is asked for', () => {
  test('it ends when the client goes away', async () => {
    const ending = new AbortController();
    let abandoned = 0;
    const ports = scripted(async (flow) => {
      flow.exchange.onAbandoned = () => {
        abandoned++;
      };
      await sleep(1);
      ending.abort();
      await sleep(20);
    });
    await expect(askUpstream(ports, asker(ending.signal), question, () => {})).rejects.toThrow(ClientGone);
    expect(abandoned).toBe(1);
  });

  test('nothing goes out when the client went away while the credential was fetched', async () => {
    const ending = new AbortController();
    let forwarded = 0;
    const ports = scripted(() => {
      forwarded++;
    });
    const inject: AskPorts['inject'] = {
      name: 'inject',
      run: async (flow) => {
        ending.abort();
        await sleep(1);
        return ports.inject.run(flow);
      },
    };
    const asked = askUpstream({ ...ports, inject }, asker(ending.signal), question, () => {});
    await expect(asked).rejects.toThrow(ClientGone);
    await sleep(5);
    expect(forwarded).toBe(0);
  });

  test('an upstream that drips is not waited for without end', async () => {
    const ports = scripted(async (flow) => {
      const writer = respond(flow, 200, ['Content-Type', type]);
      for (let i = 0; i < 20; i++) {
        writer.write(Buffer.from('x'));
        await sleep(5);
      }
    }, 20);
    await expect(ask(ports)).rejects.toMatchObject({ code: 'upstream.timeout' });
  });
});
