import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type AskPorts, askUpstream } from '../../../../src/gateway/questions/ask-upstream.ts';
import { ClientGone } from '../../../../src/path/exchange/client-gone.ts';
import { answer, ask, asker, question, respond, scripted, type } from './scripted-stages.ts';

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
