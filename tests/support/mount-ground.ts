// A pretend user with a home, a project and a state folder in a temporary place, to plan mounts for and, where a test wants
// to see it, to run a command in a real sandbox with that plan.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type MountOptions, type PlannedMounts, planMounts } from '../../src/sandbox/files/plan-mounts.ts';
import { createBubblewrapLauncher } from '../../src/sandbox/namespace/bubblewrap.ts';
import { layGuards } from '../../src/sandbox/traps/stand-ins.ts';

export interface MountGround {
  readonly top: string;
  readonly home: string;
  readonly project: string;
  readonly state: string;
  /** Makes a file; a path is below the ground unless it is absolute. Returns where it is. */
  file(path: string, content?: string, mode?: number): string;
  folder(path: string): string;
  link(path: string, to: string): string;
  socket(path: string): Promise<string>;
  plan(changes?: Partial<MountOptions>): PlannedMounts;
  /** What a shell script in a real sandbox prints. */
  run(script: string, changes?: Partial<MountOptions>): Promise<{ readonly output: string; readonly code: number }>;
  remove(): void;
}

export function makeMountGround(): MountGround {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-mounts-')));
  const [home, project, state] = ['home/dev', 'home/dev/project', 'home/dev/.local/state/sallyport'].map((name) =>
    join(top, name),
  ) as [string, string, string];
  const ours = ['files/etc', 'home', 'tmp'].map((name) => join(state, 'sandboxes/one', name));
  for (const folder of [project, state, ...ours]) mkdirSync(folder, { recursive: true });
  const servers: Server[] = [];
  const at = (path: string) => (path.startsWith('/') ? path : join(top, path));
  const place = (path: string): string => {
    mkdirSync(dirname(at(path)), { recursive: true });
    return at(path);
  };
  const plan = (changes: Partial<MountOptions> = {}) =>
    planMounts({
      flavour: 'host',
      home,
      user: { uid: process.getuid!(), gid: process.getgid!(), name: 'dev' },
      workingDirectory: project,
      etcFolder: ours[0]!,
      homeFolder: ours[1]!,
      tmpFolder: ours[2]!,
      stateFolder: state,
      environment: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      programs: [],
      files: [],
      asked: [],
      ...changes,
    });
  return {
    ...{ top, home, project, state, plan },
    file(path, content = 'something', mode = 0o600) {
      writeFileSync(place(path), content, { mode });
      return at(path);
    },
    folder(path) {
      mkdirSync(at(path), { recursive: true });
      return at(path);
    },
    link(path, to) {
      symlinkSync(to, place(path));
      return at(path);
    },
    async socket(path) {
      const server = createServer();
      servers.push(server);
      await new Promise<void>((done) => server.listen(place(path), done));
      return at(path);
    },
    async run(script, changes) {
      const planned = plan(changes);
      const guards = layGuards(planned.standIns, planned.mounts, planned.guarded);
      const prepared = await createBubblewrapLauncher().prepare('piped');
      const running = await prepared.start({
        id: 'mounts',
        command: ['/bin/sh', '-c', `exec 2>&1; ${script}`],
        workingDirectory: planned.workingDirectory,
        environment: { PATH: (planned.path ?? []).join(':'), HOME: planned.home },
        mounts: guards.mounts,
      });
      running.streams!.stdin.end();
      const [output, , code] = await Promise.all([
        text(running.streams!.stdout),
        text(running.streams!.stderr),
        running.ended,
      ]);
      guards.end({ keepStandIns: false });
      return { output, code };
    },
    remove() {
      for (const server of servers) server.close();
      rmSync(top, { recursive: true, force: true });
    },
  };
}
