// Starts one sandbox from beginning to end: namespace, door, files, command. The order is the point: the door is open and its
// helper gone before the command runs, so that its first connection works, and whatever fails leaves nothing behind.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PortToPublish } from '../../kit/text/published-port.ts';
import type { ConfigInDoubt } from '../../policy/load/config-in-doubt.ts';
import { configFileName, standInConfig } from '../../policy/load/config-places.ts';
import { liesIn } from '../files/path-relations.ts';
import { type MountFlavour, type PlannedMounts, planMounts } from '../files/plan-mounts.ts';
import { type SealedMount, sealMounts } from '../files/seal-mounts.ts';
import type { RequestedMount } from '../files/user-mounts.ts';
import { orWhatChanged } from '../files/verify-mounts.ts';
import { ControlServer } from '../hands/control-server.ts';
import { noteRunning, runningFolder } from '../hands/running-records.ts';
import type { HeldLimits } from '../limits/hold-limits.ts';
import { keepTime } from '../limits/keep-time.ts';
import { isInPath } from '../namespace/find-tool.ts';
import { type GitIdentity, quietAgents } from '../stubs/agent-stubs.ts';
import { layGitFiles, layStubs, type OwnStubs, readGitIdentity } from '../stubs/lay-files.ts';
import { type OwnPlaceholder, ownFiles, ownVariables } from '../stubs/own-placeholders.ts';
import { placeholderVariables } from '../stubs/placeholders.ts';
import { makeRunFolder, type RunFolder } from '../stubs/run-folder.ts';
import { planEnvironment } from '../stubs/sandbox-variables.ts';
import { configurationsToKeep, ownConfigFolder } from '../traps/config-guards.ts';
import type { GitConfigAccess } from '../traps/git-guards.ts';
import { type HostTraps, snapshotHostTraps } from '../traps/host-traps.ts';
import { isWrittenByOthers, noteRunningWriter } from '../traps/running-writers.ts';
import { type LaidGuards, layGuards } from '../traps/stand-ins.ts';
import { reviewHostTraps } from '../traps/trap-review.ts';
import { doubtOf, liesInWritten, noteWrittenFolders, refuseLinksOfSandboxes } from '../traps/written-folders.ts';
import { type BegunTrust, beginTrust, homeDatabase } from '../trust/prepare-trust.ts';
import type { AskedCache, LaidCaches } from './package-caches.ts';
import {
  LaunchError,
  type Launcher,
  type LauncherName,
  type RunningSandbox,
  type SandboxLimits,
  type SandboxPlan,
  type SandboxStdio,
} from './sandbox-plan.ts';

export interface SandboxRequest {
  readonly launcher: Launcher;
  readonly command: readonly string[];
  readonly stdio: SandboxStdio;
  /** As `POST /internal/containers` takes it, without proof and namespace. */
  readonly registration: Readonly<Record<string, unknown>>;
  readonly workingDirectory: string;
  /** The user's environment as it was before any credential was taken out of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** $SALLYPORT_HOME, which no sandbox sees. */
  readonly stateFolder: string;
  /** Where the folder of this sandbox is made. */
  readonly runFolders: string;
  /** Null: a fresh home. */
  readonly persistentHome: string | null;
  /** What the user is to be told beside what is found here. */
  readonly notices?: readonly string[];
  /** What a person calls it. */
  readonly name?: string | undefined;
  /** How much of the machine it may use. Left out: all. */
  readonly limits?: SandboxLimits | undefined;
  /** Called when its time is over, before it is ended. */
  readonly onTimeOver?: (words: string) => void;
  /** Its terminal is kept by another process, and it runs on without anybody there. */
  readonly background?: boolean;
  readonly mounts: readonly RequestedMount[];
  /** `NAME` or `NAME=VALUE`. */
  readonly variables: readonly string[];
  readonly hideEnvFiles: boolean;
  /** A copy of the user's settings of agents, without credentials, in the home. Left out: none. */
  readonly settings?: SettingsChoice | undefined;
  /** What package managers find of what was fetched before. Left out: nothing. */
  readonly caches?: readonly AskedCache[];
  /** Where those of projects are kept. */
  readonly projectCaches?: string;
  /** Whether the sandbox may change settings of git in the repositories that it can write. Left out: no. */
  readonly gitConfig?: GitConfigAccess | undefined;
  /** Called when everything is in order, right before the command has the terminal. */
  readonly onReady?: (ready: Pick<StartedSandbox, 'grant' | 'notices' | 'limits'>) => void | Promise<void>;
  /** Programs beside the command's own that must be found inside. */
  readonly programs?: readonly string[];
}

export type SettingsChoice = 'none' | 'copy';

/** What the gateway hands out with a registration. */
export interface NamespaceGrant {
  readonly id: string;
  readonly caCertificate: string;
  readonly proxyUrl: string;
  readonly gitHosts: readonly string[];
  /** Ports of the host that it finds on its own loopback, as `PORT[:INSIDE]`. */
  readonly hostPorts: readonly string[];
  /** Its ports that this machine has. Left out: none. */
  readonly published?: readonly (PortToPublish & { readonly sandbox: string })[];
  /** Hosts that it may reach by plain TCP, as `host:port`. */
  readonly plainHosts: readonly string[];
  /** Credentials that are set and that the sandbox may use. */
  readonly credentials: readonly string[];
  /** Those of them that are the login of an agent in place of a key. */
  readonly logins: readonly string[];
  /** Placeholders that the policy wants in places of its own. */
  readonly placeholders?: readonly OwnPlaceholder[];
}

/** The gateway, in this process or behind the admin socket. */
export interface SandboxRegistrar {
  /** Files of the gateway that a sandbox may not change, and those that it may not see. */
  guarded(): Promise<{ readonly keep: readonly string[]; readonly hide: readonly string[] }>;
  register(registration: object): Promise<NamespaceGrant>;
  renew(id: string): Promise<void>;
  unregister(id: string): Promise<void>;
}

export interface StartedSandbox extends RunningSandbox {
  readonly grant: NamespaceGrant;
  /** For the user: what was masked, left out or is not isolated. */
  readonly notices: readonly string[];
  /** Each limit and what holds it, in words. */
  readonly limits: readonly string[];
  /** After its end, for the user: a configuration that may be its work, and what it left that would run on the host. */
  review(): Promise<readonly string[]>;
}

/** Where a sandbox sees what was laid down for it. */
const insideFolder = '/sallyport';
/** A registration lives a day without traffic; as long as the command runs it is wanted. */
const renewEveryMs = 60 * 60 * 1000;

const flavours: Readonly<Record<LauncherName, MountFlavour>> = {
  bubblewrap: 'host',
  namespaces: 'host',
  docker: 'image',
  podman: 'image',
  unshare: 'whole',
};

/** Whose files lie where nothing is mounted. */
const baseOf: Readonly<Record<MountFlavour, 'host' | 'fresh'>> = { host: 'fresh', image: 'fresh', whole: 'host' };

/** The registrar may still be on its way, or be called for here: the namespace is made meanwhile, by other processes. */
export async function startSandbox(
  request: SandboxRequest,
  coming: Promise<SandboxRegistrar> | (() => Promise<SandboxRegistrar>),
): Promise<StartedSandbox> {
  const undo: (() => Promise<unknown>)[] = [];
  const id = String(request.registration.id ?? `sbx_${randomBytes(8).toString('hex')}`);
  const limits = await limitsOf(request);
  // Before anything is made: whoever has the name keeps it.
  const noted = noteRunning(request.stateFolder, {
    ...{ id, name: request.name ?? null, launcher: request.launcher.name, command: request.command },
    ...{ workingDirectory: request.workingDirectory, background: request.background === true },
  });
  undo.push(async () => noted.end(null));
  undo.push(async () => limits?.end());
  const preparing = request.launcher.prepare(request.stdio);
  const before = Promise.all(writableFolders(request).map((folder) => snapshotHostTraps(folder)));
  before.catch(() => {});
  try {
    const [prepared, registrar] = await both(preparing, typeof coming === 'function' ? coming() : coming);
    undo.unshift(() => prepared.discard());
    // Both at once, and nothing before them: the process that opens the door is what takes longest from here on.
    const asking = registrar.guarded();
    asking.catch(() => {});
    const namespace = { pid: prepared.pid };
    const registering = registrar.register({ ...request.registration, id, proof: ['socket'], namespace });
    undo.unshift(async () => registrar.unregister((await registering).id));
    registering.catch(() => {});
    const folder = makeRunFolder(request.runFolders, id);
    undo.splice(1, 0, () => folder.remove());
    // What follows keeps this thread busy: first the registration is on its way, and that process.
    const [guarded] = await Promise.all([asking, sleep(1)]);
    const identity = readGitIdentity(request.userHome);
    const folders = writableFolders(request);
    const seesAll = flavours[request.launcher.name] === 'whole';
    // Before anything is made in these folders: whoever ends now must know that it is needed.
    const writer = noteRunningWriter(request.stateFolder, { sandbox: id, folders, seesAll });
    undo.unshift(async () => writer.end());
    // A folder below one that sandboxes write to may be exchanged by one of them while this one starts, and the place for the
    // policy would be made elsewhere. What stands there is in doubt anyway.
    const steady = folders.filter((at) => at === request.workingDirectory || !liesInWritten(request.stateFolder, at));
    const keep = configurationsToKeep({ ...request, inForce: guarded.keep, folders: steady });
    const caches = await cachesFor(request, folder);
    const draft = draftSandbox(request, folder, { ...guarded, keep, caches: caches.folders });
    // What git follows is kept too: `init` believes the remotes that no sandbox could write. Stand-ins say nothing.
    const { guarded: ofGit, standIns } = draft.planned;
    const settings = ofGit.filter((path) => !standIns.some((standIn) => standIn.path === path));
    // What is still not there after that is not guarded.
    const kept = [...keep, ...settings].filter((path) => existsSync(path));
    writer.keepFrom(kept);
    const endGuards = (): readonly string[] =>
      draft.guards.end({ keepStandIns: isWrittenByOthers(request.stateFolder, folders) });
    // After its own note is gone, or it would count as another that runs.
    undo.splice(1, 0, async () => endGuards());
    const grant = await registering;
    const copied = request.settings === 'copy' ? await copyOwnSettings(request, guarded.hide) : null;
    const { plan, notices: found } = finishPlan(request, draft, {
      grant,
      gitIdentity: await identity,
      settings: copied,
    });
    const notices = [...request.launcher.notice, ...(request.notices ?? []), ...caches.notices, ...found];
    const traps = await before;
    noteWrittenFolders(
      request.stateFolder,
      [...folders, ...(seesAll ? [ownConfigFolder(request.userHome)] : [])],
      kept,
    );
    await limits?.hold(prepared.pid);
    await request.onReady?.({ grant, notices, limits: limits?.words ?? [] });
    const running = await prepared.start({ ...plan, limits: request.limits }).catch((error: unknown) => {
      throw orWhatChanged(error, plan.seals ?? []);
    });
    const renewal = setInterval(() => void registrar.renew(id).catch(() => {}), renewEveryMs).unref();
    let replaced: readonly string[] = [];
    let unguarded: readonly string[] = [];
    let met: readonly string[] = [];
    const clear = async (): Promise<void> => {
      clearInterval(renewal);
      met = limits?.met() ?? [];
      await limits?.end();
      await control.then((opened) => opened.close()).catch(() => {});
      // Of git, `unguarded` says it.
      replaced = writer.end().filter((path) => keep.includes(path));
      unguarded = endGuards();
      await Promise.all([registrar.unregister(id).catch(() => {}), folder.remove()]);
    };
    const ended = thenAlways(keepTime(request, running), clear);
    const all = { ...running, ended };
    const control = ControlServer.open(join(runningFolder(request.stateFolder), noted.record.socket), all);
    void ended.then(noted.end, () => noted.end(null));
    await control.catch(async (error: unknown) => {
      running.kill();
      await ended.catch(() => {});
      throw error;
    });
    noted.change({ state: 'running', limits: limits?.words ?? [] });
    return {
      ...all,
      grant,
      notices,
      limits: limits?.words ?? [],
      review: async () => {
        const doubts = doubtsOf(request.stateFolder, replaced);
        const told = new Set(doubts.map(({ file }) => file));
        const left = traps.map((each) => reviewFolder(each, request.workingDirectory, told));
        return [
          ...met,
          ...doubts.map(({ doubt }) => doubt.message),
          ...unguarded.map(inWords),
          ...(await Promise.all(left)).flat(),
        ];
      },
    };
  } catch (error) {
    for (const step of undo) await step().catch(() => {});
    throw error;
  }
}

async function thenAlways(ended: Promise<number>, act: () => Promise<void>): Promise<number> {
  try {
    return await ended;
  } finally {
    await act();
  }
}

/** Null: none were asked for. Loaded only then. */
async function limitsOf({ limits, launcher }: SandboxRequest): Promise<HeldLimits | null> {
  if (limits === undefined || Object.values(limits).every((limit) => limit === undefined)) return null;
  const { limitsOfDocker, prepareLimits } = await import('../limits/hold-limits.ts');
  return launcher.name === 'docker' ? limitsOfDocker(limits) : prepareLimits(limits);
}

/** Waits for both even when one fails, so that what the other made can be undone. */
async function both(
  preparing: ReturnType<Launcher['prepare']>,
  coming: Promise<SandboxRegistrar>,
): Promise<[Awaited<typeof preparing>, SandboxRegistrar]> {
  const [prepared, registrar] = await Promise.allSettled([preparing, coming]);
  if (prepared.status === 'fulfilled' && registrar.status === 'fulfilled') return [prepared.value, registrar.value];
  if (prepared.status === 'fulfilled') await prepared.value.discard();
  throw registrar.status === 'rejected' ? registrar.reason : (prepared as PromiseRejectedResult).reason;
}

async function cachesFor(
  { caches = [], projectCaches, userHome, workingDirectory }: SandboxRequest,
  { files }: RunFolder,
): Promise<LaidCaches> {
  if (caches.length === 0 || projectCaches === undefined) return { folders: [], notices: [] };
  const { layCaches } = await import('./package-caches.ts');
  return layCaches(caches, { userHome, kept: projectCaches, ownFolder: join(files, 'caches'), workingDirectory });
}

interface Draft {
  readonly folder: RunFolder;
  /** Where the sandbox sees `folder.files`. */
  readonly inside: string;
  readonly homeFolder: string;
  readonly trust: BegunTrust;
  readonly planned: PlannedMounts;
  readonly guards: LaidGuards;
  /** What was judged: all but what is made for this sandbox, in a folder that no other can write to. */
  readonly judged: readonly SealedMount[];
}

/** What needs nothing of the registration. */
function draftSandbox(
  request: SandboxRequest,
  folder: RunFolder,
  { caches, ...guarded }: Awaited<ReturnType<SandboxRegistrar['guarded']>> & { readonly caches: LaidCaches['folders'] },
): Draft {
  const flavour = flavours[request.launcher.name];
  const inside = flavour === 'whole' ? folder.files : insideFolder;
  const trust = beginTrust({
    folder: join(folder.files, 'trust'),
    flavour: flavour === 'image' ? 'image' : 'host',
    inside: join(inside, 'trust'),
    cache: join(request.stateFolder, 'cache', 'links'),
  });
  const etcFolder = join(folder.files, 'etc');
  const [homeFolder] = [request.persistentHome ?? folder.home, etcFolder].map((path) => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return realpathSync(path);
  }) as [string, string];
  const homeFolders = [{ source: trust.database, target: homeDatabase }, ...caches];
  const planned = planMounts({
    flavour,
    home: request.userHome,
    user: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, name: userName() },
    workingDirectory: request.workingDirectory,
    homeFolder,
    tmpFolder: folder.tmp,
    etcFolder,
    stateFolder: request.stateFolder,
    environment: request.environment,
    programs: [request.command[0]!, ...(request.programs ?? [])],
    files: [...(flavour === 'whole' ? [] : [{ source: folder.files, target: inside }]), ...trust.mounts],
    homeFolders,
    asked: request.mounts,
    ...guarded,
    hideEnvFiles: request.hideEnvFiles,
    gitConfig: request.gitConfig ?? 'read-only',
  });
  const { workingDirectory: source, stateFolder } = request;
  const named = [{ source, target: planned.workingDirectory }, ...request.mounts];
  refuseLinksOfSandboxes(stateFolder, named, planned.mounts);
  refuseUnknownCommand(request.command[0]!, planned.path);
  // Not every launcher makes what it mounts at. No link leads there: that was refused above.
  for (const { target } of homeFolders) mkdirSync(join(homeFolder, target), { recursive: true, mode: 0o700 });
  // Nothing is refused from here on, and what is made in a repository is sealed like the rest.
  const guards = layGuards(planned.standIns, planned.mounts, planned.guarded);
  const isOurs = ({ mount }: SealedMount) => 'source' in mount && liesIn(mount.source, folder.files);
  const judged = sealMounts(guards.mounts, baseOf[flavour]).filter((seal) => !isOurs(seal));
  return { folder, inside, homeFolder, trust, planned, guards, judged };
}

interface Given {
  readonly grant: NamespaceGrant;
  readonly gitIdentity: GitIdentity;
  readonly settings: OwnSettings | null;
}

interface OwnSettings {
  readonly lay: NonNullable<OwnStubs['settings']>;
  readonly notices: readonly string[];
}

/** Loaded when they are asked for. */
async function copyOwnSettings(
  { userHome, environment }: SandboxRequest,
  credentialFiles: readonly string[],
): Promise<OwnSettings> {
  const [{ copySettings }, { mergeStubs }] = await Promise.all([
    import('../settings/copy-settings.ts'),
    import('../settings/merge-stub.ts'),
  ]);
  const { files, notices } = copySettings({ userHome, environment, credentialFiles });
  return { lay: (stubs) => mergeStubs(files, stubs), notices };
}

function finishPlan(
  request: SandboxRequest,
  { folder, inside, homeFolder, trust, planned, guards, judged }: Draft,
  { grant, gitIdentity, settings }: Given,
): { plan: SandboxPlan; notices: readonly string[] } {
  trust.finish(grant.caCertificate);
  const { home, workingDirectory } = planned;
  const git = layGitFiles({
    folder: join(folder.files, 'git'),
    inside: join(inside, 'git'),
    hosts: grant.gitHosts,
    workingDirectory: request.workingDirectory,
    environment: request.environment,
    gitConfig: request.gitConfig ?? 'read-only',
    ignored: planned.standIns.some(({ text }) => text === standInConfig) ? [`/${configFileName}`] : [],
  });
  const [ordersFolder, orders] = [join(folder.files, 'orders'), join(inside, 'orders')];
  mkdirSync(ordersFolder, { mode: 0o700 });
  const credentials = new Set(grant.credentials);
  const logins = new Set(grant.logins);
  const own = grant.placeholders ?? [];
  const placeholders = { ...placeholderVariables(credentials, logins), ...ownVariables(own) };
  const stubs = { workingDirectory, placeholders, credentials, logins, gitIdentity };
  layStubs(homeFolder, stubs, { placed: ownFiles(own), ...(settings !== null && { settings: settings.lay }) });
  const environment = planEnvironment({
    from: request.environment,
    extra: request.variables,
    placeholders: { ...placeholders, ...quietAgents },
    trust: trust.variables,
    git: { ...git, SALLYPORT_SANDBOX: grant.id, SALLYPORT_PROXY: grant.proxyUrl },
    path: planned.path,
    home,
    user: planned.userName,
  });
  return {
    plan: {
      id: grant.id,
      orders: { folder: ordersFolder, inside: orders },
      command: request.command,
      workingDirectory,
      environment: environment.variables,
      mounts: guards.mounts,
      seals: sealMounts(guards.mounts, baseOf[flavours[request.launcher.name]], judged),
    },
    notices: [...planned.notices, ...environment.notices, ...(settings?.notices ?? [])],
  };
}

/** A user that no list of users knows (a container's, an account of a service) has a name all the same. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'user';
  }
}

function writableFolders({ workingDirectory, mounts }: SandboxRequest): string[] {
  return [workingDirectory, ...mounts.filter(({ mode }) => mode === 'read-write').map(({ source }) => source)];
}

/** `told`: files of which something was said already. */
async function reviewFolder(before: HostTraps, workingDirectory: string, told: ReadonlySet<string>): Promise<string[]> {
  const prefix = before.folder === workingDirectory ? '' : before.folder;
  return reviewHostTraps(before, await snapshotHostTraps(before.folder, { before }), { prefix, told });
}

function doubtsOf(state: string, replaced: readonly string[]): { file: string; doubt: ConfigInDoubt }[] {
  return replaced.flatMap((file) => {
    const doubt = doubtOf(state, file);
    return doubt === null ? [] : [{ file, doubt }];
  });
}

function inWords(path: string): string {
  return `${path} was replaced on this host while the sandbox ran: from then on the sandbox could write to it. Check its contents.`;
}

function refuseUnknownCommand(program: string, path: readonly string[] | null): void {
  if (path === null || program.includes('/') || isInPath(program, path)) return;
  throw new LaunchError(
    `${program}: no such program in the sandbox`,
    'It is looked for in your PATH. Install it, or let its folder in with --ro FOLDER.',
  );
}
