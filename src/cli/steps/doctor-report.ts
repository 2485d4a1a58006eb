// How the doctor speaks: findings under their headings, each with its fix, and one line at the end that says whether all is
// well. Pure: text in, text out.
import type { DoctorFinding, FindingState } from '../../prove/doctor/finding.ts';
import type { CliContext } from '../cli-context.ts';
import { printable } from '../terminal/printable.ts';

type Paint = Pick<CliContext, 'colors'>;

/** The findings of one area under its heading; what is absent in one line. */
export function describeFindings({ colors }: Paint, findings: readonly DoctorFinding[]): string {
  const paint: Record<FindingState, (text: string) => string> = {
    ok: colors.green,
    warn: colors.yellow,
    fail: colors.red,
    absent: colors.dim,
  };
  const lines: string[] = [];
  for (const area of new Set(findings.map((finding) => finding.area))) {
    const here = findings.filter((finding) => finding.area === area);
    lines.push(...(lines.length === 0 ? [] : ['']), colors.bold(area));
    for (const { name, state, says, fix } of here.filter((finding) => finding.state !== 'absent')) {
      lines.push(`  ${paint[state](state.padEnd(4))}  ${printable(name).padEnd(16)} ${printable(says)}`);
      // A fix may be some lines of a configuration, which are to be copied.
      if (fix !== null) lines.push(...fix.split('\n').map((line, i) => fixLine(colors, printable(line), i === 0)));
    }
    const absent = here.filter((finding) => finding.state === 'absent');
    if (absent.length > 0) {
      const named = absent.map(({ name, says }) => (says.startsWith('without') ? `${name} (${says})` : name));
      lines.push(colors.dim(`  absent  ${printable(named.join(', '))}`));
    }
  }
  return lines.join('\n');
}

function fixLine(colors: CliContext['colors'], text: string, isFirst: boolean): string {
  return `        ${isFirst ? colors.cyan('fix') : '   '}              ${text}`.trimEnd();
}

export function describeSum({ colors }: Paint, findings: readonly DoctorFinding[]): string {
  const count = (state: FindingState): number => findings.filter((finding) => finding.state === state).length;
  const [ok, warn, fail] = [count('ok'), count('warn'), count('fail')];
  const warnings = warn === 0 ? '' : `, ${colors.yellow(`${warn} ${warn === 1 ? 'warning' : 'warnings'}`)}`;
  if (fail === 0) return `${colors.green('All is well')}: ${ok} ok${warnings}`;
  return `${colors.red(`${fail} ${fail === 1 ? 'thing does' : 'things do'} not work`)}: ${ok} ok${warnings}`;
}
