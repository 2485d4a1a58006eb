// An attacker in a container sandbox: an image with nothing but one program, which tries one thing after another and says
// what the kernel answered to each. The same program on the host shows what works where nothing is in the way.
import { chmodSync, copyFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { createDockerLauncher } from '../../../src/sandbox/docker/docker.ts';
import type { Mount } from '../../../src/sandbox/run/sandbox-plan.ts';
import { compileStatic, startDockerd, type TestDockerd } from '../../support/dockerd.ts';

export interface DockerAttackGround {
  readonly dockerd: TestDockerd;
  /** Runs `probe NAME…` in a sandbox: what each attempt came to, `OK` or the name of the error. */
  attack(attempts: readonly string[], options?: AttackOptions): Promise<Readonly<Record<string, string>>>;
}

export interface AttackOptions {
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly program?: string;
  readonly mounts?: readonly Mount[];
}

export async function startDockerAttackGround(): Promise<DockerAttackGround> {
  const dockerd = await startDockerd();
  try {
    const probe = compileStatic(dockerd.folder, 'probe', source);
    const raised = `${probe}-raised`;
    copyFileSync(probe, raised);
    chmodSync(raised, 0o4755);
    await dockerd.importImage('bare:1', { copies: { '/probe': probe, '/raised': raised } });
  } catch (error) {
    await dockerd.stop();
    throw error;
  }
  return {
    dockerd,
    async attack(attempts, { user, program = '/probe', mounts = [] } = {}) {
      const options = { image: 'bare:1', environment: dockerd.environment, ...(user === undefined ? {} : { user }) };
      const prepared = await createDockerLauncher(options).prepare('piped');
      const command = [program, ...attempts];
      const running = await prepared.start({ id: 'one', command, workingDirectory: '/', environment: {}, mounts });
      const { stdin, stdout, stderr } = running.streams!;
      stdin.end();
      const [said, complaint, code] = await Promise.all([text(stdout), text(stderr), running.ended]);
      if (code !== 0) throw new Error(`the attacker ended with ${code}: ${complaint}`);
      const lines = said.trimEnd().split('\n');
      return Object.fromEntries(lines.map((line) => line.split('\t')));
    },
  };
}

const source = `
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char zeros[4096];

/* What a route to everywhere by the first interface would need. */
static long add_route(void) {
  struct { struct nlmsghdr head; struct rtmsg route; } ask = {
    { sizeof ask, RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK, 1, 0 },
    { AF_INET, 8, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0 } };
  struct { struct nlmsghdr head; struct nlmsgerr error; char rest[512]; } answer;
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (fd < 0 || send(fd, &ask, sizeof ask, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0) return -1;
  errno = -answer.error.error;
  return errno ? -1 : 0;
}

/* In a child: how it ended counts. */
static long foreign_architecture(void) {
#ifdef __x86_64__
  pid_t child = fork();
  int status;
  if (child == 0) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    _exit(result > 0 ? 0 : 1);
  }
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) { errno = ENOSYS; return -1; }
  return 0;
#else
  errno = ENOSYS;
  return -1;
#endif
}

static long clone_user(void) {
  long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return child;
}

/* Where its code begins, or anywhere: who may read it gets EFAULT at worst. */
static long read_memory(pid_t pid) {
  struct iovec here = { zeros, 8 }, there = { (void *)0x1000, 8 };
  return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

static void show(const char *name, const char *fields) {
  static char line[256], found[512];
  found[0] = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\\n")] = 0;
    char *colon = strchr(line, ':');
    if (colon == NULL) continue;
    *colon = 0;
    if (strstr(fields, line)) { strcat(found, colon + 2); strcat(found, " "); }
  }
  printf("%s\\t%s\\n", name, found);
}

static long opened(const char *path, int flags) { return open(path, flags | O_CLOEXEC); }

static long attempt(const char *name) {
#define TRY(word, act) if (strcmp(name, word) == 0) return (long)(act)
  TRY("inet", socket(AF_INET, SOCK_STREAM, 0));
  TRY("unix", socket(AF_UNIX, SOCK_STREAM, 0));
  TRY("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
  TRY("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
  TRY("vsock-high-bits", syscall(SYS_socket, (1L << 32) | AF_VSOCK, SOCK_STREAM, 0));
  TRY("packet", socket(AF_PACKET, SOCK_RAW, 0));
  TRY("bluetooth", socket(AF_BLUETOOTH, SOCK_RAW, 0));
  TRY("alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
  TRY("raw", socket(AF_INET, SOCK_RAW, 1));
  TRY("io_uring", syscall(SYS_io_uring_setup, 8, zeros));
  TRY("foreign-architecture", foreign_architecture());
  TRY("route", add_route());
  TRY("unshare-user", unshare(CLONE_NEWUSER));
  TRY("unshare-net", unshare(CLONE_NEWNET));
  TRY("clone-user", clone_user());
  TRY("clone3", syscall(SYS_clone3, zeros, 88));
  TRY("setns", syscall(SYS_setns, opened("/proc/self/ns/net", O_RDONLY), 0));
  TRY("mount", mount("none", "/", "tmpfs", 0, NULL));
  TRY("chroot", chroot("/"));
  TRY("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  TRY("bpf", syscall(SYS_bpf, 0, zeros, 100));
  TRY("by-handle", syscall(SYS_open_by_handle_at, -1, zeros, 0));
  TRY("setuid", setuid(12345));
  TRY("chown", chown("/probe", 12345, 12345));
  TRY("mknod", mknod("/dev/shm/disk", S_IFBLK | 0666, 0x801));
  TRY("sysctl", opened("/proc/sys/net/ipv4/ip_forward", O_WRONLY));
  TRY("trace-1", ptrace(PTRACE_SEIZE, 1, 0, 0));
  TRY("kill-1", kill(1, SIGKILL));
  TRY("stop-1", kill(1, SIGSTOP));
  TRY("readv-1", read_memory(1));
  if (strncmp(name, "read:", 5) == 0) return opened(name + 5, O_RDONLY);
  if (strncmp(name, "write:", 6) == 0) return opened(name + 6, O_WRONLY);
  fprintf(stderr, "no attempt is called %s\\n", name);
  exit(2);
}

int main(int count, char **names) {
  for (int i = 1; i < count; i++) {
    if (strcmp(names[i], "capabilities") == 0) { show(names[i], "CapInh CapPrm CapEff CapBnd CapAmb"); continue; }
    if (strcmp(names[i], "confined") == 0) { show(names[i], "NoNewPrivs Seccomp"); continue; }
    if (strcmp(names[i], "euid") == 0) { printf("euid\\t%d\\n", geteuid()); continue; }
    if (strcmp(names[i], "interfaces") == 0) {
      struct if_nameindex *all = if_nameindex();
      printf("interfaces\\t");
      for (; all && all->if_index; all++) printf("%s ", all->if_name);
      printf("\\n");
      continue;
    }
    errno = 0;
    long result = attempt(names[i]);
    printf("%s\\t%s\\n", names[i], result < 0 ? strerrorname_np(errno) : "OK");
    fflush(stdout);
  }
  return 0;
}
`;
