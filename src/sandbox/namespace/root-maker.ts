// What makes the root of a sandbox where there is no bubblewrap: mounts what it is told on an empty root, moves into it, leaves
// that of the host behind, and becomes the shell that goes on. A text, because it must run under any form of the product as
// `node -e`, in the place of the namespace holder. Node cannot make a user namespace (it has threads), but may act in one.

/** One thing to be made in the new root. */
export type RootStep =
  | {
      readonly make: 'bind';
      readonly source: string;
      readonly target: string;
      readonly readOnly: boolean;
      /** Devices in it work. */
      readonly devices: boolean;
      /** `source` is in the new root itself. */
      readonly own?: true;
    }
  | { readonly make: 'tmpfs'; readonly target: string; readonly readOnly: boolean }
  | { readonly make: 'link'; readonly target: string; readonly to: string }
  | { readonly make: 'folder'; readonly target: string }
  | { readonly make: 'proc' | 'terminals'; readonly target: string };

/** What the maker is told, on `secondInput`. */
export interface RootOrder {
  /** The file of the foreign-function library. */
  readonly koffi: string;
  readonly hostname: string;
  readonly steps: readonly RootStep[];
  /** The system call filter, in base64: it holds from here on, for whatever follows. */
  readonly filter: string;
  /** Program and arguments that the maker becomes, looked for in the new root. */
  readonly becomes: readonly string[];
  /** Descriptors that stay open. */
  readonly keep: readonly number[];
}

/** `inputDescriptor`: where the order is read. */
export const rootMakerSource = (inputDescriptor: number): string => `'use strict';
const fs = require('node:fs');
const path = require('node:path');
const order = JSON.parse(fs.readFileSync(${inputDescriptor}, 'utf8'));
const koffi = require(order.koffi);
const libc = koffi.load(null);

// linux/mount.h, linux/fcntl.h, linux/prctl.h
const [RDONLY, NOSUID, NODEV, NOEXEC, BIND, REC] = [1, 2, 4, 8, 4096, 16384];
const [AT_FDCWD, AT_RECURSIVE, MNT_DETACH] = [-100, 0x8000, 2];
const [PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER] = [38, 22, 2];
const pivotNumber = { x64: 155, arm64: 41 }[process.arch];
// The same on every machine, since Linux 5.12.
const setAttributesNumber = 442;

const mount = libc.func('int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)');
const unmount = libc.func('int umount2(const char *target, int flags)');
const pivot = libc.func('long syscall(long number, const char *root, const char *old)');
const setAttributes = libc.func('long syscall(long number, int folder, const char *path, unsigned int flags, const uint8_t *attributes, size_t size)');
const Program = koffi.struct({ length: 'uint16_t', filter: 'const uint8_t *' });
const Pointer = koffi.pointer(Program);

function check(result, what) {
  if (Number(result) < 0) throw new Error(what + ': ' + nameOf(koffi.errno()));
}

function nameOf(number) {
  return Object.entries(koffi.os.errno).find(([, value]) => value === number)?.[0] ?? 'errno ' + number;
}

/** With everything that is mounted below. Options are added, never taken away: those of the host stay. */
function limit(target, options) {
  const attributes = Buffer.alloc(32);
  attributes.writeUInt32LE(options);
  const done = setAttributes(setAttributesNumber, AT_FDCWD, target, AT_RECURSIVE, attributes, attributes.length);
  if (Number(done) < 0 && koffi.errno() === koffi.os.errno.ENOSYS)
    throw new Error('this needs Linux 5.12 or newer, or bubblewrap');
  check(done, target.slice(newRoot.length) + ' cannot be limited');
}

const [base, oldRoot, newRoot] = ['/tmp', '/old', '/new'];

function lay(step) {
  const target = newRoot + step.target;
  switch (step.make) {
    case 'bind': {
      const source = step.own ? newRoot + step.source : oldRoot + step.real;
      if (fs.statSync(source).isDirectory()) fs.mkdirSync(target, { recursive: true });
      else {
        fs.mkdirSync(path.dirname(target), { recursive: true });
        if (!fs.existsSync(target)) fs.closeSync(fs.openSync(target, 'a', 0o644));
      }
      check(mount(source, target, null, BIND | REC, null), step.source + ' cannot be mounted at ' + step.target);
      return limit(target, NOSUID | (step.devices ? 0 : NODEV) | (step.readOnly ? RDONLY : 0));
    }
    case 'tmpfs':
      fs.mkdirSync(target, { recursive: true });
      return check(
        mount('tmpfs', target, 'tmpfs', NOSUID | NODEV | (step.readOnly ? RDONLY : 0), 'mode=0755'),
        'a tmpfs cannot be mounted at ' + step.target,
      );
    case 'link':
      fs.mkdirSync(path.dirname(target), { recursive: true });
      return fs.symlinkSync(step.to, target);
    case 'folder':
      return fs.mkdirSync(target, { recursive: true });
    case 'proc':
      fs.mkdirSync(target, { recursive: true });
      return check(mount('proc', target, 'proc', NOSUID | NODEV | NOEXEC, null), '/proc cannot be mounted');
    case 'terminals':
      fs.mkdirSync(target, { recursive: true });
      return check(
        mount('devpts', target, 'devpts', NOSUID | NOEXEC, 'newinstance,ptmxmode=0666,mode=620'),
        '/dev/pts cannot be mounted',
      );
  }
}

function makeRoot() {
  const umask = process.umask(0o022);
  // Names of the host are followed where they are those of the host.
  for (const step of order.steps) if (step.make === 'bind' && !step.own) step.real = fs.realpathSync.native(step.source);
  check(mount('tmpfs', base, 'tmpfs', NOSUID | NODEV, 'mode=0755'), 'a tmpfs cannot be mounted at ' + base);
  fs.mkdirSync(base + oldRoot);
  fs.mkdirSync(base + newRoot);
  check(pivot(pivotNumber, base, base + oldRoot), 'the root cannot be changed');
  process.chdir('/');
  check(mount('tmpfs', newRoot, 'tmpfs', NOSUID | NODEV, 'mode=0755'), 'a tmpfs cannot be mounted');
  for (const step of order.steps) lay(step);
  process.chdir(newRoot);
  // The old one comes to lie on top of the new one, and is taken off.
  check(pivot(pivotNumber, '.', '.'), 'the root cannot be changed');
  check(unmount('.', MNT_DETACH), 'the root of the host cannot be left');
  process.chdir('/');
  process.umask(umask);
}

function loadFilter() {
  const filter = Buffer.from(order.filter, 'base64');
  const number = 'int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)';
  check(libc.func(number)(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 'no_new_privs');
  const load = libc.func('prctl', 'int', ['int', 'unsigned long', Pointer, 'unsigned long', 'unsigned long']);
  check(load(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, { length: filter.length / 8, filter }, 0, 0), 'the filter cannot be loaded');
}

/** Of all threads only this one goes on, and with it its filter. */
function become(words) {
  const control = libc.func('int fcntl(int fd, int command, ...)');
  for (const fd of order.keep) control(fd, 2, 'int', 0);
  // Node ignores these two, and what is ignored stays so.
  const handle = libc.func('void *signal(int signal, void *handler)');
  for (const signal of ['SIGPIPE', 'SIGXFSZ']) handle(require('node:os').constants.signals[signal], null);
  const run = libc.func('int execve(const char *program, const char **words, const char **environment)');
  check(run(words[0], [...words, null], [null]), words[0] + ' cannot be started');
}

try {
  check(libc.func('int sethostname(const char *name, size_t length)')(order.hostname, order.hostname.length), 'no host name');
  makeRoot();
  loadFilter();
  become(order.becomes);
} catch (error) {
  fs.writeSync(2, error.message + '\\n');
  process.exit(125);
}
`;
