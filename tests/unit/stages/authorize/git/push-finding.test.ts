import { describe, expect, test } from 'vitest';
import { PktReader } from '../../../../../src/protocols/git/pkt-line.ts';
import {
  describeCommands,
  type PushFinding,
  refusePush,
} from '../../../../../src/stages/authorize/git/push-finding.ts';
import { command, zeroId } from './git-push-ground.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const commands = [command('refs/heads/main', B, A), command('refs/heads/fine', B), command('refs/tags/v1', B, A)];

const finding = (over: Partial<PushFinding>): PushFinding => ({
  code: 'push.protected-branch',
  ref: 'refs/heads/main',
  rule: 'policy.protected_branches[0]',
  message: 'main is a protected branch',
  reason: 'protected branch',
  hint: 'Push elsewhere.',
  ...over,
});
const tagMoved = finding({
  code: 'push.tag-moved',
  ref: 'refs/tags/v1',
  rule: 'tags',
  message: 'v1 is there',
  reason: 'moved',
  hint: 'New name.',
});

function refuse(findings: readonly PushFinding[], capabilities = ['report-status', 'side-band-64k']) {
  return refusePush({
    requestId: 'r-1',
    host: 'github.com',
    commands,
    capabilities: new Set(capabilities),
    findings,
  });
}

/** What git prints after `remote:`, and the report it reads. */
function shown(refusal: ReturnType<typeof refuse>): { remote: string; report: string[] } {
  const bands = new PktReader('v0').feed(Buffer.from(refusal.inProtocol!.body));
  const on = (band: number): Buffer =>
    Buffer.concat(
      bands.map((pkt) => (pkt.kind === 'data' && pkt.payload[0] === band ? pkt.payload.subarray(1) : Buffer.alloc(0))),
    );
  const report = new PktReader('v0')
    .feed(on(1))
    .map((pkt) => (pkt.kind === 'data' ? pkt.payload.toString().trim() : pkt.kind));
  return { remote: on(2).toString(), report };
}

describe('a refused push is refused whole, in the words of git', () => {
  test('every finding with its rule, what to do, and the request to ask the operator about', () => {
    const refusal = refuse([finding({}), tagMoved]);
    const { remote, report } = shown(refusal);
    expect(remote).toBe(
      `${[
        'Sallyport refused this push. Nothing of it was sent to github.com.',
        '',
        '- main is a protected branch (rule: policy.protected_branches[0])',
        '- v1 is there (rule: tags)',
        '',
        'What to do: Push elsewhere.',
        'What to do: New name.',
        '(request r-1)',
      ].join('\n')}\n`,
    );
    expect(report).toEqual([
      'unpack ok',
      'ng refs/heads/main protected branch',
      'ng refs/heads/fine not done: another ref of this push was refused',
      'ng refs/tags/v1 moved',
      'flush',
    ]);
    expect(refusal.inProtocol?.contentType).toBe('application/x-git-receive-pack-result');
  });

  test('for the journal it is the first finding, and how many more there were', () => {
    const cause = new Error('for the operator');
    const refusal = refuse([finding({ cause }), tagMoved]);
    expect(refusal).toMatchObject({
      code: 'push.protected-branch',
      rule: 'policy.protected_branches[0]',
      message: 'main is a protected branch (and 1 more)',
      hint: 'Push elsewhere.',
      cause,
    });
    expect(refuse([finding({})]).message).toBe('main is a protected branch');
    expect(shown(refusal).remote).not.toContain('for the operator');
  });

  test('what is wrong with the push as a whole is told of every ref, the first reason of each', () => {
    const whole = finding({ code: 'push.protected-path', ref: null, reason: 'a protected path' });
    expect(shown(refuse([whole])).report.slice(1, 4)).toEqual([
      'ng refs/heads/main a protected path',
      'ng refs/heads/fine a protected path',
      'ng refs/tags/v1 a protected path',
    ]);
    expect(shown(refuse([finding({}), whole])).report.slice(1, 3)).toEqual([
      'ng refs/heads/main protected branch',
      'ng refs/heads/fine a protected path',
    ]);
  });

  test('of very many findings the first say enough, and the same advice is given once', () => {
    const many = Array.from({ length: 30 }, (_, n) => finding({ message: `finding ${n}` }));
    const { remote } = shown(refuse(many));
    expect(remote).toContain('- finding 19 ');
    expect(remote).not.toContain('- finding 20 ');
    expect(remote).toContain('- and 10 more\n');
    expect(remote.match(/What to do/g)).toHaveLength(1);
  });

  test('a client that asked for no report gets a status', () => {
    const refusal = refuse([finding({})], ['side-band-64k']);
    expect([refusal.inProtocol, refusal.status]).toEqual([null, 403]);
  });
});

describe('for the journal a push is its refs, from where to where', () => {
  test('created, moved and deleted', () => {
    const three = [command('refs/heads/a', A), command('refs/heads/b', B, A), command('refs/heads/c', zeroId, A)];
    expect(describeCommands(three)).toBe(
      'refs/heads/a 000000000000..aaaaaaaaaaaa, refs/heads/b aaaaaaaaaaaa..bbbbbbbbbbbb, refs/heads/c aaaaaaaaaaaa..deleted',
    );
    expect(describeCommands([])).toBe('');
  });

  test('of very many the first, and how many more', () => {
    const text = describeCommands(Array.from({ length: 10 }, (_, n) => command(`refs/heads/${n}`, A)));
    expect(text).toContain('refs/heads/7 ');
    expect(text).not.toContain('refs/heads/8 ');
    expect(text).toMatch(/, and 2 more$/);
  });
});
