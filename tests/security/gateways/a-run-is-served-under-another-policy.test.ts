// A gateway that lives already is joined by a run: but only the very one that the run would have started. Whatever differs of what
// decides or of where keys come from, the run is not let in.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeJoinRequest } from '../../../src/gateway/admin/join.ts';
import { Joining } from '../../../src/gateway/joining.ts';
import { LivePolicy } from '../../../src/policy/load/live-policy.ts';
import { thisMachine } from '../../../src/policy/load/machine-files.ts';

const policy = (host: string): string => `version: 1
allow: [{ host: ${host} }]
credentials:
  api: { hosts: [${host}], inject: { bearer: true }, source: { env: API_VALUE, i_accept_environment: true } }
  other: { hosts: [${host}], inject: { header: x-other }, source: { command: [show], pass_env: [VAULT_PLACE] } }
`;
let folder: string;
let config: string;
let live: LivePolicy;
let joining: Joining;
const env = { HOME: '/home/u', API_VALUE: 'one', VAULT_PLACE: 'here', ANTHROPIC_API_KEY: 'mine', TERM: 'xterm' };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-joining-'));
  config = join(folder, 'sallyport.yaml');
  writeFileSync(config, policy('a.example'));
  live = await LivePolicy.open(config, thisMachine({}));
  joining = joiningOf({});
});

afterEach(() => {
  live.stop();
  rmSync(folder, { recursive: true });
});

function joiningOf(more: { userKeys?: boolean; processes?: number; kind?: 'up' | 'run' }): Joining {
  const { processes = 1, ...options } = more;
  return new Joining({
    options: { kind: 'run', userKeys: true, home: folder, ...options },
    policy: () => live.current,
    startedWith: env,
    processes,
    reload: () => live.reload(),
  });
}

const ask = async (more: Partial<Parameters<typeof makeJoinRequest>[0]> = {}, to = joining): Promise<string> => {
  const { answer, lease } = await to.join(makeJoinRequest({ config, env, writable: [], any: false, ...more }));
  expect(lease === null).toBe(!answer.joined);
  return answer.joined ? 'joined' : answer.why;
};

describe('a run joins', () => {
  test('the gateway that it would have started', async () => {
    expect(await ask()).toBe('joined');
    // What nobody reads may differ.
    expect(await ask({ env: { ...env, TERM: 'dumb', XDG_SESSION_ID: '7' } })).toBe('joined');
  });

  test('one that has read the file since it was changed: it reads it first', async () => {
    const before = live.current;
    writeFileSync(config, policy('b.example'));
    expect(await ask()).toBe('joined');
    expect(live.current).not.toBe(before);
  });

  test('whatever it follows, where its user has asked for that gateway', async () => {
    expect(await ask({ config: null, env: {}, any: true })).toBe('joined');
  });
});

describe('a run is not let in', () => {
  test('with another file, or none', async () => {
    const other = join(folder, 'other.yaml');
    writeFileSync(other, policy('a.example'));
    expect(await ask({ config: other })).toBe(`it follows another configuration: ${config}`);
    expect(await ask({ config: null })).toBe(`it follows another configuration: ${config}`);
  });

  test('where the file says something that is not in force there', async () => {
    writeFileSync(config, 'version: 1\nallow: nonsense\n');
    expect(await ask()).toContain('as it is now is not in force there');
  });

  test.each(['API_VALUE', 'VAULT_PLACE', 'ANTHROPIC_API_KEY', 'HOME', 'OPENAI_API_KEY', 'npm_config_registry'])(
    'with another value of %s, without quoting either',
    async (name) => {
      const why = await ask({ env: { ...env, [name]: 'another-value' } });
      expect(why).toBe(`it was started with another value of ${name}`);
    },
  );

  test('with none where the gateway has one', async () => {
    const { API_VALUE: _, ...without } = env;
    expect(await ask({ env: without })).toBe('it was started with another value of API_VALUE');
  });

  test('where several workers serve, or another version', async () => {
    expect(await ask({}, joiningOf({ processes: 2 }))).toContain('several workers');
    const request = { ...makeJoinRequest({ config, env, writable: [], any: true }), version: '0.0.1' };
    expect((await joining.join(request)).answer).toMatchObject({ joined: false });
  });

  test('when the last one has left: it is about to end', async () => {
    const first = await joining.join(makeJoinRequest({ config, env, writable: [], any: false }));
    expect(first.lease?.end()).toBe(true);
    expect(await ask()).toBe('it is about to end');
  });
});

test('no value of a variable is in what a run says', () => {
  const said = JSON.stringify(makeJoinRequest({ config, env, writable: [], any: false }));
  for (const value of [env.ANTHROPIC_API_KEY, env.VAULT_PLACE]) expect(said).not.toContain(`"${value}"`);
  const again = makeJoinRequest({ config, env, writable: [], any: false });
  expect(again.variables.API_VALUE).not.toBe(JSON.parse(said).variables.API_VALUE);
});
