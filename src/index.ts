/**
 * Sallyport as a library: the same gateway and the same sandboxes as those of the command, from TypeScript.
 *
 * ```ts
 * import { runSandboxed, startGateway } from 'sallyport';
 *
 * await using gateway = await startGateway({ config: './sallyport.yaml' });
 * const run = await runSandboxed({ gateway, command: ['npm', 'test'], repos: ['owner/repo'], stdio: 'inherit' });
 * console.log(await run.exitCode, await run.refusals());
 * ```
 *
 * What is exported here is the library; nothing else of the package can be imported.
 *
 * @packageDocumentation
 */
export { AdminError } from './gateway/admin/admin-error.ts';
export type {
  CheckResult,
  CredentialStatus,
  Grant,
  GrantedIdentity,
  HealthReport,
  LiveControl,
  PolicyLine,
  PublicRecord,
  Registered,
  Unregistered,
  WatchEvent,
} from './gateway/admin/admin-ports.ts';
export type {
  Answer,
  CheckQuestion,
  GatewayOptions,
  PolicyDocument,
  Questions,
  RecordFilter,
  Registration,
  SallyportGateway,
} from './gateway/library/library-gateway.ts';
export type { RequestRecord } from './gateway/library/library-record.ts';
export {
  type ExecOptions,
  runSandboxed,
  type SandboxCommand,
  type SandboxMount,
  type SandboxOptions,
  type SandboxRun,
  type SandboxUse,
} from './gateway/library/run-sandboxed.ts';
export { startGateway } from './gateway/library/start-library-gateway.ts';
export { HomeInUse } from './kit/files/home-in-use.ts';
export { MemoryOpen } from './kit/process/core-dumps.ts';
export type { Log, LogDetail } from './kit/text/log.ts';
export type { Approval, ApprovalScope, Asked, Question } from './path/approvals.ts';
export type { PolicySection } from './policy/explain/explain-policy.ts';
export type { PolicyError } from './policy/schema/policy-error.ts';
export { PolicyRejected } from './policy/schema/policy-rejected.ts';
export { LaunchError, type LauncherName } from './sandbox/run/sandbox-plan.ts';
