// Limits and budgets as the compiler makes them of an empty document, for tests that compile none.
import { compileBudgets, compileLimits } from '../../src/policy/compile-limits.ts';
import type { Budgets, Limits } from '../../src/policy/compiled-limits.ts';
import { Findings } from '../../src/policy/schema/findings.ts';

const findings = new Findings(null as never); // an empty section has no errors to locate

export const usualLimits: Limits = compileLimits({}, findings)!;
export const noBudgets: Budgets = compileBudgets({}, findings)!;
