import { describe, expect, test } from 'vitest';
import { zeroId } from '../../../../../src/protocols/git/ref-name.ts';
import { judgeAliases, judgeTips } from '../../../../../src/stages/authorize/git/judge-tips.ts';
import { sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { objectsOf, packOf } from '../../../protocols/git/objects/pack-builder.ts';
import { command, History, MemoryServer } from './git-push-ground.ts';

describe('a branch is a commit', () => {
  test('a tag, a tree or a blob is none, in the pack or on the server', async () => {
    const history = new History();
    const base = history.commit([]);
    const old = history.commit([base]);
    const there = history.tag(old);
    const server = new MemoryServer(history, { 'refs/heads/work': old, 'refs/tags/there': there });
    const tree = history.tree({ a: '1' });
    const tag = history.tag(base);
    const commit = history.commit([old]);
    const objects = await objectsOf(packOf(history.partsOf([tree, tag, commit])));
    const commands = [
      command('refs/heads/tree', tree),
      command('refs/heads/tag', tag),
      command('refs/heads/commit', commit),
      command('refs/heads/elsewhere', old),
      command('refs/heads/older', base),
      command('refs/heads/there', there),
      command('refs/heads/gone', zeroId, old),
      command('refs/tags/v1', tag),
    ];
    const found = await judgeTips(commands, objects, await server.refs(['refs/heads/']), server);
    expect(found.map(({ ref, code, rule }) => [ref, code, rule])).toEqual([
      ['refs/heads/tree', 'push.namespace', 'built-in: a branch is a commit'],
      ['refs/heads/tag', 'push.namespace', 'built-in: a branch is a commit'],
      ['refs/heads/there', 'push.namespace', 'built-in: a branch is a commit'],
    ]);
    expect(found[0]?.message).toBe('refs/heads/tree would name something that is not a commit');
  });
});

describe('another name for a branch is that branch', () => {
  const id = '1'.repeat(40);
  const refs = [
    { name: 'refs/heads/trunk', id, peeled: null, symrefTarget: 'refs/heads/main' },
    { name: 'refs/heads/next', id, peeled: null, symrefTarget: 'refs/heads/later' },
  ];
  const judge = (ref: string) =>
    judgeAliases(handMadePolicy({}), sandboxWith({ authMode: 'user' }), [command(ref, '2'.repeat(40), id)], refs);

  test('a protected one is protected under it too', () => {
    const [found, ...others] = judge('refs/heads/trunk');
    expect(others).toEqual([]);
    expect(found).toMatchObject({ code: 'push.protected-branch', ref: 'refs/heads/trunk' });
    expect(found?.message).toBe(
      'refs/heads/trunk is another name for refs/heads/main on the server: main is a protected branch',
    );
  });

  test('one that may be pushed may be pushed under it', () => {
    expect(judge('refs/heads/next')).toEqual([]);
    expect(judge('refs/heads/plain')).toEqual([]);
  });
});
