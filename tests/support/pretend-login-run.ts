// A user whose agent is logged in, with an access token that has ended: the real agent in a real sandbox, which finds an
// ended placeholder there and asks for a new one, and the gateway, which renews the real login on its own. While the agent
// waits for its answer, the memory of its sandbox is searched for anything real.
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loginStubs, opencodeLogins } from '../../src/sandbox/stubs/login-stubs.ts';
import { type AgentRun, makeAgentGround } from './pretend-agent-run.ts';
import { type LoginShape, type PretendLogin, startPretendLogin } from './pretend-login.ts';
import { type PretendProvider, pretendAnswer } from './pretend-provider.ts';
import { type MemorySearch, sandboxProcesses, searchMemory, searchPassingFiles } from './search-memory.ts';
import { makeTestCa, type TestCa } from './test-ca.ts';

export interface LoginStory {
  readonly shape: LoginShape;
  readonly preset: string;
  readonly credential: string;
  readonly command: string;
  /** Below the home, outside and in the sandbox. */
  readonly path: string;
  /** What the agent outside has written there. */
  userFile(login: PretendLogin, endedMs: number): object;
  startProvider(ca: TestCa, login: PretendLogin, hold: (path: string) => Promise<void>): Promise<PretendProvider>;
  /** The request whose answer an agent waits for while its sandbox is searched. */
  readonly turn: RegExp;
  /** As the journal has it: an upgrade or a plain answer. */
  readonly turnStatus: 101 | 200;
  /** Where the agent asks for new tokens. */
  readonly tokenPath: string;
  /** When the login in this file of the sandbox ends. */
  endOf(stub: string): number;
  /** In the name of the agent's process. */
  readonly process: RegExp;
  /** Whether it is run once more, with the file that a fresh home is given. Default true. */
  readonly again?: boolean;
}

interface LoginPlay {
  readonly run: AgentRun;
  readonly login: PretendLogin;
  readonly provider: PretendProvider;
  readonly memory: MemorySearch | null;
  /** Files that go with the sandbox and hold anything real. */
  readonly passing: readonly string[];
  /** What the sandbox found at its start, and has now. */
  readonly stub: { readonly before: string; readonly after: string };
  /** The user's own file after the run. */
  readonly saved: { readonly text: string; readonly mode: number };
  /** The second run; null: there was none. */
  readonly fresh: AgentRun | null;
}

const endedMs = Date.UTC(2025, 0, 1);

/** The tests of one agent with a login that has to be renewed. */
export function describeLogin(title: string, story: LoginStory): void {
  const { credential } = story;
  const placeholder = `sallyport-placeholder-for-${credential}`;
  let play: LoginPlay;

  beforeAll(async () => {
    play = await playLogin(story);
  }, 320_000);

  describe(title, () => {
    test('completes a turn', () => {
      expect(play.run.stdout, play.run.stderr).toContain(pretendAnswer);
      expect(play.run.code, play.run.stderr).toBe(0);
    });

    test('gets placeholders when it asks for new tokens, and keeps them', () => {
      const asked = { host: play.login.host, path: story.tokenPath, status: 200, verdict: 'allowed' };
      expect(play.run.journal).toContainEqual(expect.objectContaining(asked));
      expect(story.endOf(play.stub.before)).toBeLessThan(Date.now());
      expect(story.endOf(play.stub.after)).toBeGreaterThan(Date.now());
      expect(play.stub.after).toContain(placeholder);
    });

    test('reaches the provider with the token that the gateway got, and never shows a placeholder', () => {
      expect(play.provider.faults).toEqual([]);
      expect(play.login.faults).toEqual([]);
      const turn = { host: play.provider.host, status: story.turnStatus, credential };
      expect(play.run.journal).toContainEqual(expect.objectContaining(turn));
    });

    test('is not suspected of anything: all that it sends belongs where it goes', () => {
      expect(play.run.journal.filter(({ incident }) => typeof incident === 'string')).toEqual([]);
      expect(play.run.environment).not.toMatch(/^(?:ANTHROPIC|OPENAI|CODEX|GEMINI)_API_KEY=/m);
    });

    const again = (): void => {
      const { fresh, run } = play;
      expect(fresh?.stdout, fresh?.stderr).toContain(pretendAnswer);
      const asked = fresh?.journal.slice(run.journal.length).map(({ path }) => path);
      expect(asked?.length).toBeGreaterThan(0);
      expect(asked).not.toContain(story.tokenPath);
    };
    if (story.again !== false) test('in a fresh home finds a login that is good, and asks for no other', again);

    test('leaves the user logged in: the new tokens are in the file of the agent outside', () => {
      expect(play.login.renewals()).toBe(1);
      const { access, refresh } = play.login.current();
      expect(play.saved.text).toContain(access);
      expect(play.saved.text).toContain(refresh);
      expect(play.saved.text).not.toContain(play.login.first.refresh);
      expect(play.saved.mode).toBe(0o600);
    });

    test('has nothing of the real login in its memory, its files or its environment', () => {
      const { memory, run, login } = play;
      // The search looks at the agent, and finds what is there.
      expect(memory?.processes.join(' ')).toMatch(story.process);
      expect(memory?.found.get(placeholder)).not.toEqual([]);
      for (const real of [login.mark, login.account]) {
        expect(memory?.found.get(real)).toEqual([]);
        expect(run.environment).not.toContain(real);
        expect([...run.files].filter(([, text]) => text.includes(real)).map(([path]) => path)).toEqual([]);
        expect(`${run.stdout}${run.stderr}`).not.toContain(real);
      }
      expect(play.passing).toEqual([]);
      expect(JSON.stringify(run.journal)).not.toContain(login.mark);
    });
  });
}

async function playLogin(story: LoginStory): Promise<LoginPlay> {
  const ca = makeTestCa();
  const login = await startPretendLogin(ca, story.shape);
  let memory: MemorySearch | null = null;
  let passing: readonly string[] = [];
  const wanted = [login.mark, login.account, `sallyport-placeholder-for-${story.credential}`];
  const provider = await story.startProvider(ca, login, async (path) => {
    if (memory !== null || !story.turn.test(path)) return;
    const pids = sandboxProcesses();
    memory = searchMemory(pids, wanted);
    // Others of them have made the sandbox, and see the host.
    const agent = pids.filter((pid) => story.process.test(nameOf(pid)));
    passing = searchPassingFiles(agent, login.mark);
  });
  const before = endedStub(story);
  const ground = makeAgentGround(ca, story.preset, [provider, login], {
    files: { [story.path]: JSON.stringify(story.userFile(login, endedMs)) },
    kept: { [story.path]: before },
  });
  try {
    const run = await ground.run(story.command);
    const file = join(ground.home, story.path);
    const after =
      [...run.files].find(([path]) => path.includes('/state/homes/') && path.endsWith(`/${story.path}`))?.[1] ?? '';
    const saved = { text: readFileSync(file, 'utf8'), mode: statSync(file).mode & 0o777 };
    for (const [path] of run.files) if (path.includes('/state/homes/')) rmSync(path);
    const fresh = story.again === false ? null : await ground.run(story.command);
    return { run, login, provider, memory, passing, stub: { before, after }, saved, fresh };
  } finally {
    await Promise.all([login.close(), provider.close()]);
    ground.remove();
  }
}

/** Empty: it has ended meanwhile. */
function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8');
  } catch {
    return '';
  }
}

/** As an earlier sandbox has left it, long ago. */
function endedStub({ credential, path }: LoginStory): string {
  const options = { credentials: new Set([credential]), logins: new Set([credential]), nowMs: endedMs };
  const stub = loginStubs(options).find((one) => one.path === path);
  return JSON.stringify(stub?.content ?? opencodeLogins(options));
}
