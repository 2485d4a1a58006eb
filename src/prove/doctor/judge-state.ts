// The state directory and the clock, judged. Pure: the facts are handed in.
import { type DoctorFinding, findingsOf } from './finding.ts';

export interface StateFacts {
  readonly home: string;
  readonly exists: boolean;
  /** Why it is not private, with what to do; null: it is. */
  readonly insecure: string | null;
  readonly freeBytes: number | null;
  /** Folders of sandboxes whose process is gone. */
  readonly leftovers: readonly string[];
  /** Null: none was made yet. */
  readonly ca:
    | { readonly path: string; readonly fromMs: number; readonly untilMs: number }
    | { readonly path: string; readonly broken: string }
    | null;
  readonly nowMs: number;
  /** How far the wall clock moved against the one that only runs forward, since this process began. */
  readonly steppedMs: number;
  /** When something was last written to the journal; null: never. */
  readonly newestRecordMs: number | null;
}

const mebi = 1024 * 1024;
/** A journal that cannot be written stops the door: these leave time to act. */
const scarceBytes = 1024 * mebi;
const tooFewBytes = 64 * mebi;
const dayMs = 86_400_000;
const renewBeforeDays = 30;
/** A step of this size is no correction by a time server, which goes slowly. */
const stepMs = 2_000;
/** File systems and clocks round. */
const toleranceMs = 60_000;
/** When this was written: a clock before it is wrong. */
const notBeforeMs = Date.UTC(2025, 0, 1);

const { ok, warn, fail } = findingsOf('State');

export function judgeState(facts: StateFacts): DoctorFinding[] {
  return [judgeHome(facts), judgeRoom(facts), judgeLeftovers(facts), ...judgeCa(facts), judgeClock(facts)];
}

function judgeHome({ home, exists, insecure }: StateFacts): DoctorFinding {
  if (!exists) return ok('directory', `${home} (made at the first start)`);
  if (insecure === null) return ok('directory', `${home}, private`);
  const [problem = '', fix = ''] = insecure.split(/\. (?=\S)/, 2);
  return fail('directory', problem, fix || 'make it private: chmod 700');
}

function judgeRoom({ freeBytes, home }: StateFacts): DoctorFinding {
  if (freeBytes === null) return warn('disk', 'the free space cannot be determined', `see df ${home}`);
  const room =
    freeBytes < 1024 * mebi ? `${Math.floor(freeBytes / mebi)} MiB` : `${Math.floor(freeBytes / mebi / 1024)} GiB`;
  const fix = 'free some space, or name a larger disk with SALLYPORT_HOME: without a journal nothing is served';
  if (freeBytes < tooFewBytes) return fail('disk', `${room} left`, fix);
  if (freeBytes < scarceBytes) return warn('disk', `${room} left`, fix);
  return ok('disk', `${room} free`);
}

function judgeLeftovers({ leftovers }: StateFacts): DoctorFinding {
  if (leftovers.length === 0) return ok('leftovers', 'none');
  const [first] = leftovers;
  const says = `${leftovers.length} left by a start that was killed, e.g. ${first}`;
  return warn('leftovers', says, 'the next `sallyport run` removes them');
}

function judgeCa({ ca, nowMs }: StateFacts): DoctorFinding[] {
  if (ca === null) return [];
  if ('broken' in ca)
    return [
      fail('ca', `${ca.path} cannot be read: ${ca.broken}`, 'move the folder away: the next start makes a new CA'),
    ];
  const days = Math.floor((ca.untilMs - nowMs) / dayMs);
  const until = `valid until ${new Date(ca.untilMs).toISOString().slice(0, 10)}`;
  const fix = `stop the gateway, remove ${ca.path.replace(/\/[^/]*$/, '')} and start it again; sandboxes must then trust the new one`;
  if (days < 0) return [fail('ca', `its certificate has ended (${until})`, fix)];
  return [days < renewBeforeDays ? warn('ca', until, fix) : ok('ca', until)];
}

function judgeClock({ nowMs, ca, steppedMs, newestRecordMs }: StateFacts): DoctorFinding {
  const now = new Date(nowMs).toISOString().slice(0, 19);
  const fix = 'set the clock: sudo timedatectl set-ntp true, or sudo date -s';
  const isBefore = (ms: number | null): ms is number => ms !== null && nowMs + toleranceMs < ms;
  if (nowMs < notBeforeMs) return fail('clock', `it says ${now}, which is in the past`, fix);
  const caFrom = ca !== null && 'fromMs' in ca ? ca.fromMs : null;
  if (isBefore(caFrom)) {
    return fail('clock', `it says ${now}Z, before the CA was made (${new Date(caFrom).toISOString()})`, fix);
  }
  if (isBefore(newestRecordMs)) {
    const last = new Date(newestRecordMs).toISOString();
    return warn('clock', `it says ${now}Z, before the last record of the journal (${last})`, fix);
  }
  if (Math.abs(steppedMs) > stepMs)
    return warn(
      'clock',
      `it was moved by ${Math.round(steppedMs / 1000)} s just now`,
      'find out what sets the clock, and how often',
    );
  return ok('clock', `${now}Z`);
}
