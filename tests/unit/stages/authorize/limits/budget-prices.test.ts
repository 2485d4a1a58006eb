import { describe, expect, test } from 'vitest';
import { loadPrices, ModelPrices, readPrices } from '../../../../../src/stages/authorize/limits/budget-prices.ts';

const use = { id: null, follows: null, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, isEstimated: false };

function outputPrice(model: string | null): number {
  return new ModelPrices().priceOf(model, []).output;
}

describe('a model has a price, known or not', () => {
  test.each([
    ['claude-sonnet-4-5-20250929', 15],
    ['claude-opus-4-1-20250805', 75],
    ['claude-opus-4-5', 25],
    ['anthropic/claude-haiku-4.5', 5],
    ['us.anthropic.claude-sonnet-4-20250514-v1:0', 15],
    ['gpt-5', 10],
    ['gpt-5-2025-08-07', 10],
    ['gpt-5-codex', 10],
    ['gpt-5-mini', 2],
    ['gpt-5-pro', 120],
    ['openai/gpt-4.1', 8],
    ['GPT-4.1', 8],
    ['gemini-2.5-pro', 10],
    ['models/gemini-2.5-flash', 2.5],
    ['o1-pro', 600],
  ])('%s', (model, dollars) => {
    expect(outputPrice(model)).toBe(dollars);
  });

  test('one that nobody has listed costs as much as the most expensive of its provider', () => {
    expect(outputPrice('claude-next-9')).toBe(75);
    expect(outputPrice('gpt-9')).toBe(168);
    expect(outputPrice('gemini-9-ultra')).toBe(12);
  });

  test('one of nobody, or without a name, as much as any', () => {
    for (const model of ['pretend', '', '*', null]) expect(outputPrice(model)).toBe(168);
  });

  test('the prices of the operator come first, and a reload changes them', () => {
    const prices = new ModelPrices();
    const price = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    expect(prices.priceOf('gpt-5', [{ pattern: 'gpt-*', price }])).toEqual(price);
    expect(prices.priceOf('gpt-5', []).output).toBe(10);
    expect(prices.priceOf('meta-llama/llama-4', [{ pattern: '*', price }])).toEqual(price);
  });

  test('cost is counted in millionths of a dollar, and rounded up', () => {
    const own = [{ pattern: '*', price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } }];
    const all = { ...use, model: 'any', input: 1000, output: 100, cacheRead: 10_000, cacheWrite: 400 };
    expect(new ModelPrices().costOf(all, own)).toBe(3000 + 1500 + 3000 + 1500);
    expect(new ModelPrices().costOf({ ...use, model: 'any', cacheRead: 1 }, own)).toBe(1);
  });

  test('many names do not fill memory, and are not mixed up', () => {
    const prices = new ModelPrices();
    for (let i = 0; i < 2000; i++) prices.priceOf(`made-up-${i}`, []);
    expect(prices.priceOf('gpt-5', []).output).toBe(10);
  });
});

describe('the list that ships', () => {
  test('every pattern in it can be reached: none stands behind a wider one', () => {
    for (const provider of loadPrices().providers) {
      provider.models.forEach(({ name }, at) => {
        const sample = name.text.replaceAll('**', 'x');
        expect(provider.models.findIndex((other) => other.name.covers(sample))).toBe(at);
        expect(provider.names.some((one) => one.covers(sample))).toBe(true);
      });
    }
  });

  test.each([
    ['nothing', {}],
    ['no list', []],
    ['a price that is none', { a: { names: ['a'], models: { a: { input: '1', output: 2 } } } }],
    ['a price below nothing', { a: { names: ['a'], models: { a: { input: 1, output: -2 } } } }],
    ['a word that is not known', { a: { names: ['a'], models: { a: { input: 1, output: 2, per: 'day' } } } }],
    ['no names', { a: { models: {} } }],
  ])('a broken one is not read: %s', (_name, document) => {
    expect(() => readPrices(document)).toThrow('config/prices.yaml is broken at');
  });
});
