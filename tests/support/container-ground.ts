// Containers with `--network none`, as somebody else starts them, beside a whole gateway: real Docker, real clients in the
// image, and the gateway's certificate mounted before they start, as docs/containers.md says it.
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startDockerd, type TestDockerd } from './dockerd.ts';
import type { ClientRun } from './run-client.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export interface TestContainer {
  readonly name: string;
  readonly id: string;
  readonly pid: number;
  /** `docker exec`, by a shell. */
  exec(script: string, ...options: string[]): Promise<ClientRun>;
  /** What a registration of it says: by the id that Docker gave it and its first process. */
  registration(): Record<string, unknown>;
}

export interface ContainerGround {
  readonly dockerd: TestDockerd;
  startGateway(config: Record<string, unknown>): Promise<TestGateway>;
  /** As in the documentation, but with the capabilities that Docker gives where `options` do not take them. */
  startContainer(name: string, gateway: TestGateway, ...options: string[]): Promise<TestContainer>;
  /** The same container, as it runs now. */
  look(name: string): Promise<TestContainer>;
  stop(): Promise<void>;
}

const trustVariables = ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS'];
const caInside = '/etc/sallyport/ca.pem';
const gitRemote = '/usr/lib/git-core/git-remote-https';

/** `start`: another daemon than one without networks. It is stopped with the ground. */
export async function openContainerGround(start: () => Promise<TestDockerd> = startDockerd): Promise<ContainerGround> {
  const dockerd = await start();
  const gateways: TestGateway[] = [];
  await dockerd.importImage('tools:1', {
    programs: ['sh', 'cat', 'sleep', 'curl', 'ip', 'git', 'ls', 'rm', gitRemote],
    copies: { '/bin/sh': '/bin/sh', [gitRemote]: gitRemote },
    texts: { '/etc/passwd': 'root:x:0:0::/:/bin/sh\n' },
  });
  const look = async (name: string): Promise<TestContainer> => {
    const { stdout } = await dockerd.docker('inspect', '--format', '{{.Id}} {{.State.Pid}}', name);
    const [id, pid] = stdout.trim().split(' ');
    return {
      name,
      id: id!,
      pid: Number(pid),
      exec: (script, ...options) => dockerd.docker('exec', ...options, name, 'sh', '-c', script),
      registration: () => ({ container_id: id, namespace: { pid: Number(pid) } }),
    };
  };
  return {
    dockerd,
    look,
    async startGateway(config) {
      const docker = { ...(config.docker as object | undefined), socket: join(dockerd.folder, 'docker.sock') };
      const gateway = await startTestGateway({ ...config, docker });
      gateways.push(gateway);
      return gateway;
    },
    async startContainer(name, gateway, ...options) {
      // A copy, as of `sallyport ca export`: the state of the gateway itself is nobody's to mount.
      const ca = join(dockerd.folder, 'ca', `${name}.pem`);
      mkdirSync(join(dockerd.folder, 'ca'), { recursive: true });
      copyFileSync(gateway.caPath, ca);
      chmodSync(ca, 0o644);
      const run = await dockerd.docker(
        ...['run', '--detach', '--name', name, ...options],
        ...['--network', 'none', '--dns', '127.0.0.1', '--security-opt', 'no-new-privileges'],
        ...['--volume', `${ca}:${caInside}:ro`, ...trustVariables.flatMap((name) => ['--env', `${name}=${caInside}`])],
        ...['tools:1', 'sleep', '600'],
      );
      if (run.code !== 0) throw new Error(run.stderr);
      return look(name);
    },
    async stop() {
      const names = (await dockerd.containers()).map((line) => line.split(' ')[0]!);
      if (names.length > 0) await dockerd.docker('rm', '--force', ...names);
      for (const gateway of gateways) await gateway.stop();
      await dockerd.stop();
    },
  };
}

/** The code of a refusal in an answer; null: it is none. */
export function refusalIn(run: ClientRun): string | null {
  return /"code":"([a-z.-]+)"/.exec(run.stdout)?.[1] ?? null;
}
