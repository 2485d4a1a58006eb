import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

/** Serves parts of a page that quotes the key, to whoever asks for parts. */
beforeAll(async () => {
  const page = `you sent ${plantedKey}, thanks`;
  ground = await openAttackGround({
    answer: ({ head }) => {
      const asked = /^range: bytes=(\d+)-(\d+)/im.exec(head);
      if (asked === null) return `HTTP/1.1 200 OK\r\nContent-Length: ${page.length}\r\n\r\n${page}`;
      const [from, to] = [Number(asked[1]), Math.min(Number(asked[2]), page.length - 1)];
      const range = `bytes ${from}-${to}/${page.length}`;
      const part = page.slice(from, to + 1);
      return `HTTP/1.1 206 Partial Content\r\nContent-Range: ${range}\r\nContent-Length: ${part.length}\r\n\r\n${part}`;
    },
  });
});

afterAll(() => ground.stop());

describe('a credential does not come back in parts that are asked for one by one', () => {
  test('who asks for a part with a credential gets the whole', async () => {
    let collected = '';
    for (const range of ['bytes=0-14', 'bytes=15-60']) {
      const request = `GET /fine HTTP/1.1\r\nHost: api.example\r\nRange: ${range}\r\nIf-Range: "x"\r\nConnection: close\r\n\r\n`;
      const { text, statuses } = await sendTunnelled(ground.gateway, 'api.example', request);
      expect(statuses).toEqual([200]);
      collected += text;
    }
    expect(collected).toContain(`you sent ${'*'.repeat(plantedKey.length)}, thanks`);
    expect(collected).not.toContain(plantedKey.slice(0, 4));
    expect(ground.upstream.bytes).not.toMatch(/^(if-)?range/im);
  });

  test('where no credential goes, parts are parts', async () => {
    const request = 'GET / HTTP/1.1\r\nHost: open.example\r\nRange: bytes=0-3\r\nConnection: close\r\n\r\n';
    const { text, statuses } = await sendTunnelled(ground.gateway, 'open.example', request);
    expect(statuses).toEqual([206]);
    expect(text).toMatch(/\r\n\r\nyou $/);
  });
});
