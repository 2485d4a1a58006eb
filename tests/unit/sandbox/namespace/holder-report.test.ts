import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { HolderReport } from '../../../../src/sandbox/namespace/namespace-holder.ts';

const never = new Promise<never>(() => {});

describe('what a holder says', () => {
  test('a line is known when it is whole, in whatever pieces it comes', async () => {
    const stream = new PassThrough();
    const report = new HolderReport(stream);
    const waiting = report.until('it is ready', never);
    for (const part of ['a warning\nit is', ' rea', 'dy\n']) stream.write(part);
    expect(await waiting).toBe(true);
    expect(report.without('it is ready')).toBe('a warning');
  });

  test('a line inside another is not it, and the end is the end when all is read', async () => {
    const stream = new PassThrough();
    const report = new HolderReport(stream);
    const waiting = report.until('it is ready', Promise.resolve());
    stream.end('not: it is ready\nsomething failed\n');
    expect(await waiting).toBe(false);
    expect(report.without('it is ready')).toBe('not: it is ready\nsomething failed');
  });

  test('what was said just before the end still counts', async () => {
    const stream = new PassThrough();
    const report = new HolderReport(stream);
    const waiting = report.until('it is ready', Promise.resolve());
    stream.end('it is ready\n');
    expect(await waiting).toBe(true);
  });

  test('it does not grow without end', async () => {
    const stream = new PassThrough();
    const report = new HolderReport(stream);
    for (let i = 0; i < 100; i += 1) stream.write('x'.repeat(1024));
    stream.end();
    await report.until('never', Promise.resolve());
    expect(report.without('never').length).toBeLessThan(64 * 1024);
  });
});
