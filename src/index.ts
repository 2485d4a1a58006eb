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
export { AdminError } from './admin/admin-error.ts';
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
} from './admin/admin-ports.ts';
export type { Approval, ApprovalScope, Asked, Question } from './flow/approvals.ts';
export { MemoryOpen } from './kit/core-dumps.ts';
export { HomeInUse } from './kit/home-in-use.ts';
export type { Log, LogDetail } from './kit/log.ts';
export { LaunchError, type LauncherName } from './launch/sandbox-plan.ts';
export type {
  Answer,
  CheckQuestion,
  GatewayOptions,
  PolicyDocument,
  Questions,
  RecordFilter,
  Registration,
  SallyportGateway,
} from './library-gateway.ts';
export type { RequestRecord } from './library-record.ts';
export type { PolicySection } from './policy/explain-policy.ts';
export type { PolicyError } from './policy/policy-error.ts';
export { PolicyRejected } from './policy/policy-rejected.ts';
export { runSandboxed, type SandboxMount, type SandboxOptions, type SandboxRun } from './run-sandboxed.ts';
export { startGateway } from './start-library-gateway.ts';
