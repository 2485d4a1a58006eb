// Compiles `limits`, `budgets` and `store`. A burst that is not written is one minute's worth. Never dials anything.

import { compileRoots } from './compile-upstream.ts';
import type {
  BudgetLimits,
  Budgets,
  DoorLimits,
  Limits,
  ModelPrice,
  StoreSettings,
  UseLimits,
} from './compiled-limits.ts';
import type { MachineFiles } from './load/machine-files.ts';
import type { Findings } from './schema/findings.ts';
import { budgetsSection, type DoorKeys, limitsSection, type UseKeys } from './schema/limit-schema.ts';
import { storeSection } from './schema/store-schema.ts';

export function compileLimits(value: unknown, findings: Findings): Limits | null {
  const checked = findings.check(limitsSection, value ?? {}, ['limits']);
  if (checked === undefined) return null;
  return {
    ...useLimits(checked),
    ...doorLimits(checked),
    credential: useLimits(checked.credential),
    gateway: { ...useLimits(checked.gateway), ...doorLimits(checked.gateway) },
    headBytes: checked.head_bytes,
    requestBodyBytes: checked.request_body_bytes,
    responseBodyBytes: checked.response_body_bytes,
    pushBytes: checked.push_bytes,
    spoolBytes: checked.spool_bytes,
    connectTimeoutMs: checked.connect_timeout_ms,
    clientHeadTimeoutMs: checked.client_head_timeout_ms,
    headersTimeoutMs: checked.headers_timeout_ms,
    idleTimeoutMs: checked.idle_timeout_ms,
    requestTimeoutMs: checked.request_timeout_ms,
  };
}

function useLimits(keys: UseKeys): UseLimits {
  return {
    requestsPerMinute: keys.requests_per_minute,
    burst: keys.burst ?? keys.requests_per_minute,
    concurrentRequests: keys.concurrent_requests,
    uploadBytesPerMinute: keys.upload_bytes_per_minute,
    downloadBytesPerMinute: keys.download_bytes_per_minute,
    pushesPerMinute: keys.pushes_per_minute,
  };
}

function doorLimits(keys: DoorKeys): DoorLimits {
  return {
    connections: keys.connections,
    connectionsPerSecond: keys.connections_per_second,
    dnsPerSecond: keys.dns_per_second,
  };
}

export function compileBudgets(value: unknown, findings: Findings): Budgets | null {
  const checked = findings.check(budgetsSection, value ?? {}, ['budgets']);
  if (checked === undefined) return null;
  return {
    period: checked.period,
    sandbox: budgetLimits(checked.sandbox),
    credential: budgetLimits(checked.credential),
    gateway: budgetLimits(checked.gateway),
    prices: Object.entries(checked.prices).map(([pattern, price]) => ({ pattern, price: modelPrice(price) })),
  };
}

export function hasBudget({ sandbox, credential, gateway }: Budgets): boolean {
  return [sandbox, credential, gateway].some(({ tokens, microDollars }) => tokens > 0 || microDollars > 0);
}

function budgetLimits({ tokens, dollars }: { tokens: number; dollars: number }): BudgetLimits {
  return { tokens, microDollars: Math.round(dollars * 1_000_000) };
}

interface WrittenPrice {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number | undefined;
  readonly cache_write?: number | undefined;
}

export function modelPrice({ input, output, cache_read, cache_write }: WrittenPrice): ModelPrice {
  return { input, output, cacheRead: cache_read ?? input, cacheWrite: cache_write ?? input };
}

/** Null: there is none, or it is not valid and its errors have been noted. */
export function compileStore(
  value: unknown,
  directory: string,
  machine: MachineFiles,
  findings: Findings,
): StoreSettings | null {
  if (value === undefined || value === null) return null;
  const checked = findings.check(storeSection, value, ['store']);
  if (checked === undefined) return null;
  return {
    ...checked.url,
    password: checked.password ?? null,
    roots: compileRoots(checked.ca, ['store', 'ca'], directory, machine, findings),
    prefix: checked.prefix,
    graceMs: checked.grace_seconds * 1000,
    sharedAddresses: checked.shared_addresses,
  };
}
