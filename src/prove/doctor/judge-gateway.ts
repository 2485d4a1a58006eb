// The gateway that runs here, judged by its own account: which controls are live in that process, never what the source says.
// Where none runs: what one would be started with. Pure: the facts are handed in.
import type { HealthReport } from '../../gateway/admin/admin-ports.ts';
import { type DoctorFinding, findingsOf } from './finding.ts';

export type GatewayFacts =
  | {
      readonly state: 'running';
      readonly socket: string;
      readonly report: HealthReport;
      /** Of credentials, in words. */
      readonly troubles: readonly string[];
      /** A configuration where the doctor was called that none of them follows. */
      readonly here?: { readonly words: string; readonly config: ConfigFacts } | null;
    }
  /** It answered, but not with a report. */
  | { readonly state: 'unwell'; readonly socket: string; readonly said: string }
  | { readonly state: 'none'; readonly socket: string; readonly config: ConfigFacts };

/** The configuration that would be used. */
export type ConfigFacts =
  | {
      readonly ok: true;
      readonly origin: string;
      readonly rules: number;
      readonly warnings: readonly string[];
      readonly troubles: readonly string[];
    }
  | { readonly ok: false; readonly errors: readonly string[] };

const hereFix = '`sallyport run` here starts a gateway that follows it; for `up`: start it here, or with --config';
const { ok, warn, fail } = findingsOf('Gateway');

export function judgeGateway(facts: GatewayFacts): DoctorFinding[] {
  switch (facts.state) {
    case 'running':
      return [
        ...judgeReport(facts.report, facts.socket),
        ...facts.troubles.map(credential),
        ...(facts.here == null
          ? []
          : [warn('config here', facts.here.words, hereFix), ...judgeConfig(facts.here.config)]),
      ];
    case 'unwell':
      return [
        fail('running', `a gateway listens on ${facts.socket}, but: ${facts.said}`, 'look at its log, and restart it'),
      ];
    case 'none':
      return [
        ok('running', `none here (${facts.socket}); \`sallyport run\` brings its own`),
        ...judgeConfig(facts.config),
      ];
  }
}

function judgeReport(report: HealthReport, socket: string): DoctorFinding[] {
  const { version, sandboxes, config, controls, warnings } = report;
  const count = `${sandboxes} ${sandboxes === 1 ? 'sandbox' : 'sandboxes'}`;
  return [
    report.ready
      ? ok('running', `version ${version}, ${count}, ${socket}`)
      : fail('running', `it serves nothing (${socket})`, 'look at the controls below that are off, and at its log'),
    ok('config', config),
    ...controls.map(({ name, live, detail }) => {
      if (live) return ok(name, detail);
      // What is written down decides whether anything is served at all; the rest may be meant.
      const off = `OFF: ${detail}`;
      if (name === 'journal') return fail(name, off, 'free disk space or repair its folder, then restart it');
      if (name === 'allowlist') return fail(name, off, 'the configuration was refused: run sallyport config check');
      return warn(name, off, 'if you did not intend this, check the configuration: sallyport config check');
    }),
    ...warnings.map((text) => warn('warning', text.replaceAll('\n', ' '), 'docs/operations.md tells more')),
  ];
}

function credential(text: string): DoctorFinding {
  return fail('credential', text, 'requests that need it are refused until then; `sallyport secret list` shows each');
}

function judgeConfig(config: ConfigFacts): DoctorFinding[] {
  if (!config.ok) return config.errors.map((text) => fail('config', text, 'find the errors: sallyport config check'));
  return [
    ok('config', `${config.origin}, ${config.rules} ${config.rules === 1 ? 'rule' : 'rules'} of what is allowed`),
    ...config.warnings.map((text) => warn('config', text.replaceAll('\n', ' '), 'run sallyport config check')),
    ...config.troubles.map(credential),
  ];
}
