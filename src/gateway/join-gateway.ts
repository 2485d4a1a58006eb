// One gateway per user: a run joins the one that lives, where it is the very gateway that the run would start itself, and
// else starts one as a process of its own, which ends with the last run that has joined it (docs/adr/057).
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gatewayHomes } from '../kit/files/gateway-homes.ts';
import { placesIn } from '../kit/files/home.ts';
import { ensurePrivateDirectory } from '../kit/files/secure-directory.ts';
import { LaunchError } from '../sandbox/run/sandbox-plan.ts';
import { AdminClient, AdminRefused, GatewayUnreachable, type Held } from './admin/admin-client.ts';
import { type GatewayKind, type JoinAnswer, type JoinRequest, makeJoinRequest, type Starter } from './admin/join.ts';

export interface JoinOptions extends Starter {
  /** The user's state directory. */
  readonly home: string;
  readonly cwd: string;
  /** The script that becomes a gateway when it is started with the argument `background`. */
  readonly entry: string;
  /** PATH for the gateway's own programs. */
  readonly ownPath: string;
  /** Called when a gateway is on its way, or one was found that may be joined: the rest of a start goes on beside that. */
  readonly underWay?: () => void;
}

export interface JoinedGateway extends Omit<Held, 'answer'> {
  readonly client: AdminClient;
  readonly answer: Extract<JoinAnswer, { joined: true }>;
  /** Whether it was started for this run. */
  readonly isOwn: boolean;
  /** Gateways of this user that could not be joined, and why. */
  readonly passedBy: readonly PassedBy[];
}

export interface PassedBy {
  readonly kind: GatewayKind;
  readonly pid: number;
  readonly why: string;
  readonly ending?: boolean;
}

/** What the process says to whoever has started it. */
export type BackgroundMessage =
  | { readonly home: string }
  | { readonly failed: { readonly name: string; readonly message: string; readonly hint: string } };

/** Throws what the gateway could not be started for, by the name and the words it had there. */
export async function joinGateway(options: JoinOptions): Promise<JoinedGateway> {
  const passedBy: PassedBy[] = [];
  if (gatewayHomes(options.home).some(maySomebodyListen)) {
    options.underWay?.();
    // What the rest of a start begins with are other processes, which take longer than this does.
    await nextTurn();
  }
  const found = await joinLiving(options, passedBy);
  if (found !== null) return found;
  if (options.any) throw noneToJoin(options, passedBy);
  for (let attempt = 1; ; attempt++) {
    const starting = startInBackground(options);
    options.underWay?.();
    const home = await starting;
    const refused: PassedBy[] = [];
    const started = await joinAt(home, makeJoinRequest(options), refused);
    if (started !== null)
      return { ...started, isOwn: true, passedBy: passedBy.filter(({ ending }) => ending !== true) };
    // Another run's, which has ended in between.
    if (attempt < maxAttempts && refused.every(({ ending }) => ending === true)) continue;
    const why = refused[0]?.why ?? 'it has ended already';
    throw new LaunchError(`the gateway that was started for this run does not serve it: ${why}`, 'Try again.');
  }
}

const maxAttempts = 3;

/** Null: none lives that this run may join. */
export async function joinLiving(
  options: Starter & Pick<JoinOptions, 'home'>,
  passedBy: PassedBy[] = [],
): Promise<JoinedGateway | null> {
  const { home, any } = options;
  let asked: JoinRequest | null = null;
  for (const one of (any ? [home] : gatewayHomes(home)).filter(maySomebodyListen)) {
    asked ??= makeJoinRequest(options);
    const joined = await joinAt(one, asked, passedBy);
    if (joined !== null) return joined;
  }
  return null;
}

function maySomebodyListen(home: string): boolean {
  return existsSync(placesIn(home).adminSocket);
}

/** Whether a gateway lives in this place, and whether it is the very one that would be started. */
export async function whoAnswersAt(home: string, starter: Starter): Promise<'nobody' | 'fits' | 'another'> {
  const passedBy: PassedBy[] = [];
  const joined = await joinAt(home, makeJoinRequest(starter, true), passedBy);
  if (joined !== null) return 'fits';
  return passedBy.some(({ ending }) => ending !== true) ? 'another' : 'nobody';
}

async function joinAt(home: string, asked: JoinRequest, passedBy: PassedBy[]): Promise<JoinedGateway | null> {
  const client = new AdminClient(placesIn(home).adminSocket);
  let held: Held;
  try {
    held = await client.join(asked);
  } catch (error) {
    if (error instanceof GatewayUnreachable) return null;
    // One that knows no joining.
    if (!(error instanceof AdminRefused) || error.status !== 404) throw error;
    passedBy.push({ kind: 'up', pid: 0, why: 'it is of an older version: start it again' });
    return null;
  }
  const { answer, ended, leave } = held;
  if (answer.joined) return { client, answer, ended, leave, isOwn: false, passedBy };
  passedBy.push(answer);
  await leave();
  return null;
}

function noneToJoin({ home }: JoinOptions, passedBy: readonly PassedBy[]): Error {
  const [refused] = passedBy;
  if (refused === undefined)
    return new GatewayUnreachable(`the gateway is not running (nobody listens on ${placesIn(home).adminSocket})`);
  return new LaunchError(
    `the running gateway takes no sandbox of \`run\`: ${refused.why}`,
    'Start it again, or run without --gateway.',
  );
}

/** Resolves with its state directory when it serves. */
async function startInBackground(options: JoinOptions): Promise<string> {
  ensurePrivateDirectory(options.home);
  const { logFile } = placesIn(options.home);
  // What would otherwise be nowhere: why it crashed.
  const log = openSync(logFile, 'a', 0o600);
  try {
    const config = options.config === null ? ['--built-in'] : ['--config', options.config];
    const child = spawn(process.execPath, [...process.execArgv, options.entry, 'background', ...config], {
      cwd: options.cwd,
      env: { ...options.env, PATH: options.ownPath, SALLYPORT_HOME: options.home },
      // Of a session of its own: what the terminal sends to the run is not for it.
      detached: true,
      stdio: ['ignore', log, log, 'ipc'],
    });
    return await begun(child, logFile);
  } finally {
    closeSync(log);
  }
}

function begun(child: ChildProcess, logFile: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const over = (): void => {
      if (child.connected) child.disconnect();
      child.unref();
    };
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(
        new LaunchError(
          `the gateway ended before it served (${signal ?? `code ${code}`})`,
          `See the end of ${logFile}.`,
        ),
      ),
    );
    child.once('message', (said: BackgroundMessage) => {
      if ('home' in said) resolve(said.home);
      else reject(Object.assign(new Error(said.failed.message), said.failed));
      over();
    });
  });
}
