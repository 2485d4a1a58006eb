import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { SandboxDns } from '../../../../../src/stages/accept/dns/dns-client.ts';
import { questionOf, readReply } from '../../../../support/dns-ground.ts';

const question = questionOf('api.example');
let nowMs = 0;
let isOver = true;

function openClient(): { client: SandboxDns; floods: () => number } {
  nowMs = 0;
  isOver = true;
  let floods = 0;
  const over = (): Refusal | null => (isOver ? new Refusal('limit.rate', 'too many') : null);
  const flooded = (): void => {
    floods++;
  };
  const client = new SandboxDns({ lookup: () => true, over, flooded }, undefined, () => nowMs);
  return { client, floods: () => floods };
}

const answered = (client: SandboxDns, times: number): number =>
  Array.from({ length: times }, () => client.answer(question)).filter((reply) => reply !== null).length;

describe('questions over the limit', () => {
  test('are told so 256 times at once and 100 times a second; past that there is no answer', () => {
    const { client, floods } = openClient();
    expect(readReply(client.answer(question)).rcodeNumber).toBe(5);
    expect(answered(client, 2_000)).toBe(255);
    nowMs += 1000;
    expect(answered(client, 2_000)).toBe(100);
    expect(floods()).toBe(1);
  });

  test('keep nobody from an answer as soon as there is room again', () => {
    const { client } = openClient();
    answered(client, 2_000);
    isOver = false;
    expect(readReply(client.answer(question)).rcodeNumber).toBe(0);
  });
});
