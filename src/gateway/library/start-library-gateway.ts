// Starts a gateway for a program: what `sallyport up` does, without what a command does to its process. A thin door to the same
// service: decides nothing, and gives out no value of a credential.
import { resolve } from 'node:path';
import { findHome } from '../../kit/files/home.ts';
import { sealMemory } from '../../kit/process/core-dumps.ts';
import { LaunchError } from '../../sandbox/run/sandbox-plan.ts';
import type { HealthReport } from '../admin/admin-ports.ts';
import type { Gateway } from '../contract.ts';
import { loadService } from '../load-service.ts';
import { registrarOfGateway } from '../sandboxes/sandbox-registrar.ts';
import type { GatewayOptions, PolicyDocument, SallyportGateway } from './library-gateway.ts';
import { LibraryPolicy } from './library-policy.ts';
import { logOf, recordsOf, rememberRegistrar } from './library-registrar.ts';

/** Who has answered, as the journal says it. */
const ownProgram = 'the program that runs the gateway';

/**
 * Starts a gateway in this process. Several may run side by side, each with a `home` of its own.
 *
 * @throws PolicyRejected when the policy is not valid, with every error at once.
 * @throws HomeInUse when another gateway, here or elsewhere, has this state directory.
 * @throws LaunchError when the configuration that was found may be a sandbox's work.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<SallyportGateway> {
  if (options.sealMemory === true) sealMemory();
  const home = resolve(options.home ?? findHome());
  const source = await LibraryPolicy.find(options.config, { home, cwd: process.cwd() });
  const start = await loadService();
  const gateway = await start({
    ...source.asStartOptions(),
    home,
    log: logOf(options.log),
    guest: true,
    userKeys: options.userKeys === true,
    ...(options.doors !== undefined && { doors: options.doors }),
  });
  return openGateway(gateway, home, source);
}

function openGateway(gateway: Gateway, home: string, source: LibraryPolicy): SallyportGateway {
  const { admin, summary } = gateway;
  const over = new AbortController();
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    // Who follows hears of what is served until then.
    stopping ??= gateway.stop().finally(() => over.abort());
    return stopping;
  };
  /** From then on the state directory may be another gateway's: what would write there rejects. */
  const refuseStopped = (): void => {
    if (stopping === null) return;
    throw new LaunchError('this gateway has been stopped', 'Start another with startGateway.');
  };
  const whileOpen =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result> | Result) =>
    async (...given: Given): Promise<Result> => {
      refuseStopped();
      return call(...given);
    };
  const untilOver = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  const register = whileOpen((registration: unknown) => admin.register(registration));
  const unregister = whileOpen((idOrIp: string) => admin.unregister(idOrIp));
  const renew = whileOpen((id: string) => admin.renew(id));
  const reload = whileOpen(async (config?: PolicyDocument) => {
    if (config === undefined) return gateway.reload();
    const before = source.replace(config);
    try {
      await gateway.reload();
    } catch (error) {
      before();
      throw error;
    }
  });
  let reloaded: Promise<unknown> = Promise.resolve();
  const opened: SallyportGateway = {
    doors: summary.doors,
    adminSocket: summary.adminSocket,
    home,
    caPath: summary.caPath,
    warnings: summary.warnings,
    dashboard: () => admin.dashboardAddress(),
    register,
    unregister,
    renew,
    list: async () => admin.list(),
    setCredential: whileOpen((name, value) => admin.setCredential(name, value)),
    removeCredential: whileOpen((name) => admin.removeCredential(name)),
    credentials: () => admin.listCredentials(),
    check: (question) => admin.check(question),
    explain: (sandbox) => admin.explain(sandbox),
    health: () => admin.health(),
    requests: (filter = {}) =>
      recordsOf(admin, filter.follow === true ? { ...filter, signal: untilOver(filter.signal) } : filter),
    questions: {
      list: () => admin.questions.list(),
      approvals: () => admin.questions.approvals(),
      preview: (id, scope) => admin.questions.preview(id, scope),
      answer: whileOpen((id, answer) => admin.questions.answer(id, { ...answer, by: answer.by ?? ownProgram })),
      withdraw: whileOpen((approvalId) => admin.questions.withdraw(approvalId, ownProgram)),
      watch: (signal) => admin.questions.watch(untilOver(signal)),
    },
    reload(config) {
      // One after the other: who shares a load with another would hear what became of that one's policy.
      const turn = reloaded.then(() => reload(config));
      reloaded = turn.catch(() => {});
      return turn;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
  const health = (): HealthReport => {
    refuseStopped();
    return admin.health();
  };
  rememberRegistrar(opened, registrarOfGateway({ health, register, unregister, renew }));
  return opened;
}
