// What a sandbox of root needs that one of an ordinary user does not. Its files must be root's on the host, so it runs as
// the host's uid 0 without a single capability; but some files of the kernel ask only for that uid. Writing
// /proc/sys/kernel/core_pattern would run a program on the host; chmod of /dev/null would reach every process there.
import { existsSync } from 'node:fs';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { isMountPoint, readOnlyBindOptions } from '../files/mount-options.ts';
import { needTool } from '../namespace/find-tool.ts';

/** Kernel files whose only guard is their owner; the same list as container runtimes have. */
const kernelPaths = ['acpi', 'asound', 'bus', 'driver', 'fs', 'irq', 'mtrr', 'scsi', 'sys', 'sysrq-trigger'];

/** To be bound read-only over the sandbox's own /proc. Empty for everybody but root: file modes do it for them. */
export function readOnlyKernelPaths(uid = process.getuid?.()): readonly string[] {
  return uid === 0 ? kernelPaths.map((name) => `/proc/${name}`).filter((path) => existsSync(path)) : [];
}

/** Shell lines for a mount namespace of its own: devices still work, but their owner and mode cannot be changed. */
export function deviceGuards(uid = process.getuid?.()): readonly string[] {
  if (uid !== 0) return [];
  const mount = quoteForShell(needTool('mount', 'install the package mount, or util-linux'));
  // What bubblewrap binds from here keeps the flag. With what lies below it: of less it would not be let go.
  const already = isMountPoint('/dev') ? [] : [`${mount} --rbind /dev /dev`];
  return [...already, `${mount} -o ${readOnlyBindOptions('/dev')} /dev`];
}
