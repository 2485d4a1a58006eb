// Starts a gateway for a program: what `sallyport up` does, without what a command does to its process. A thin door to the same
// service: decides nothing, and gives out no value of a credential.
import { resolve } from 'node:path';
import type { HealthReport } from './admin/admin-ports.ts';
import type { Gateway } from './cli/gateway-port.ts';
import { loadService } from './cli/load-service.ts';
import { deskOfGateway } from './cli/sandbox-desk.ts';
import { sealMemory } from './kit/core-dumps.ts';
import { findHome } from './kit/home.ts';
import { LaunchError } from './launch/sandbox-plan.ts';
import { logOf, recordsOf, rememberDesk } from './library-desk.ts';
import type { GatewayOptions, PolicyDocument, SallyportGateway } from './library-gateway.ts';
import { PolicySource } from './library-policy.ts';

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
  const source = await PolicySource.find(options.config, { home, cwd: process.cwd() });
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

function openGateway(gateway: Gateway, home: string, source: PolicySource): SallyportGateway {
  const { desk, summary } = gateway;
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
  const register = whileOpen((registration: unknown) => desk.register(registration));
  const unregister = whileOpen((idOrIp: string) => desk.unregister(idOrIp));
  const renew = whileOpen((id: string) => desk.renew(id));
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
    dashboard: () => desk.dashboardAddress(),
    register,
    unregister,
    renew,
    list: async () => desk.list(),
    setCredential: whileOpen((name, value) => desk.setCredential(name, value)),
    removeCredential: whileOpen((name) => desk.removeCredential(name)),
    credentials: () => desk.listCredentials(),
    check: (question) => desk.check(question),
    explain: (sandbox) => desk.explain(sandbox),
    health: () => desk.health(),
    requests: (filter = {}) =>
      recordsOf(desk, filter.follow === true ? { ...filter, signal: untilOver(filter.signal) } : filter),
    questions: {
      list: () => desk.questions.list(),
      approvals: () => desk.questions.approvals(),
      preview: (id, scope) => desk.questions.preview(id, scope),
      answer: whileOpen((id, answer) => desk.questions.answer(id, { ...answer, by: answer.by ?? ownProgram })),
      withdraw: whileOpen((approvalId) => desk.questions.withdraw(approvalId, ownProgram)),
      watch: (signal) => desk.questions.watch(untilOver(signal)),
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
    return desk.health();
  };
  rememberDesk(opened, deskOfGateway({ health, register, unregister, renew }));
  return opened;
}
