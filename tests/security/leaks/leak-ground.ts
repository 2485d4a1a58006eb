// A gateway in a process of its own with a secret planted in every kind of source, behind it a far side that sends back
// whatever it is sent, and token endpoints that fail loudly.
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { eventually } from '../../support/eventually.ts';
import {
  type RecordedRequest,
  type RecordingUpstream,
  type ScriptedAnswer,
  startRecordingUpstream,
} from '../../support/recording-upstream.ts';
import { type ClientRun, runClient } from '../../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../../support/spawn-gateway.ts';
import { makeTestCa } from '../../support/test-ca.ts';

export const awsHost = 's3.us-east-1.amazonaws.com';
/** An object of LFS. */
export const objectId = 'ab'.repeat(32);

/** Not secret: whoever searches must find these where they were put. */
export const canary = { argument: 'canary-argument-51d2', path: 'canary-path-9f04' };

export interface LeakGround {
  readonly planted: Map<string, string>;
  readonly command: BuiltCommand;
  readonly far: RecordingUpstream;
  /** Answers for `broken.example`, with a certificate that nobody trusts. */
  readonly wrong: RecordingUpstream;
  /** Where the gateway stands: core files and reports would be written here. */
  readonly standing: string;
  /** Hosts of the far side to which a credential belongs. */
  readonly hosts: readonly string[];
  up(): Promise<LeakyGateway>;
  /** `options`: NODE_OPTIONS. */
  run(args: readonly string[], input?: string, options?: string): Promise<ClientRun>;
  /** The far side sends what cannot be read; or goes on as before. */
  garble(isGarbled: boolean): void;
  /** Gives the source of `filed` another value. */
  rotate(): void;
  breakConfig(): void;
  repairConfig(): void;
  close(): Promise<void>;
}

export interface LeakyGateway {
  readonly host: string;
  readonly port: number;
  readonly caPath: string;
  readonly child: ChildProcess;
  output(): string;
  ended: Promise<string>;
}

/** Long, and with letters that look different in every encoding. */
function plant(planted: Map<string, string>, name: string, prefix = `${name.slice(0, 3)}/+?~=`): string {
  const value = `${prefix}${randomBytes(12).toString('hex')}`;
  planted.set(name, value);
  return value;
}

export async function openLeakGround(): Promise<LeakGround> {
  const planted = new Map<string, string>();
  const ca = makeTestCa();
  const own = ['memory', 'filed', 'asked', 'failing', 'variable', 'aged', 'kept', 'oauth', 'account'] as const;
  const hosts = [...own.map((name) => `${name}.example`), 'api.anthropic.com', 'github.com', 'api.github.com'];
  const tokenHosts = ['tokens.example', 'platform.claude.com', 'oauth2.googleapis.com'];
  const names = [...hosts, ...tokenHosts, awsHost, 'storage.example'];
  const echo: ScriptedAnswer = (request) => answerOf(request, planted);
  const far = await startRecordingUpstream(ca.issue(names), echo);
  const wrong = await startRecordingUpstream(makeTestCa().issue(['broken.example']));
  const bearer = { bearer: true };
  const document = (vault: string): Record<string, unknown> => {
    const file = (name: string, text: string): { file: string } => {
      const path = join(vault, name);
      writeFileSync(path, text, { mode: 0o600 });
      return { file: path };
    };
    const forHost = (name: string, inject: object, source?: object): object => ({
      hosts: [`${name}.example`],
      paths: ['/v1/**'],
      inject,
      ...(source === undefined ? {} : { source }),
    });
    const asked = file('asked', plant(planted, 'asked')).file;
    const failing = file('failing', plant(planted, 'failing')).file;
    return {
      allow: [
        ...[...own, 'broken'].map((name) => ({ host: `${name}.example` })),
        { preset: 'anthropic' },
        { preset: 'github' },
        { host: awsHost },
      ],
      credentials: {
        memory: forHost('memory', bearer),
        broken: forHost('broken', bearer),
        filed: forHost('filed', { basic: { username: 'u' } }, file('filed', plant(planted, 'filed'))),
        asked: forHost(
          'asked',
          { query: 'k' },
          {
            command: ['/bin/sh', '-c', 'sleep 0.5; cat "$0"', asked, canary.argument],
          },
        ),
        failing: forHost('failing', bearer, {
          command: ['/bin/sh', '-c', 'cat "$0"; echo "bad token $(cat "$0")" >&2; exit 3', failing],
        }),
        variable: forHost('variable', { header: 'x-api-key' }, { env: 'PLANTED', i_accept_environment: true }),
        aged: forHost('aged', bearer, {
          age: { file: join(vault, 'aged.age'), identity: { file: join(vault, 'identity') } },
        }),
        kept: forHost('kept', bearer, { keyring: { service: 'planted' } }),
        oauth: forHost('oauth', bearer, {
          oauth: {
            token_url: 'https://tokens.example/token',
            grant: 'refresh_token',
            client_id: 'a-client',
            client_secret: file('client', plant(planted, 'client secret')),
            refresh_token: file('refresh', plant(planted, 'refresh token', 'rt-')),
          },
        }),
        account: forHost('account', bearer, { google_service_account: { key: file('account', accountKey(planted)) } }),
        cloud: {
          hosts: [awsHost],
          inject: { sigv4: true },
          source: { aws_profile: file('aws', awsProfile(planted)) },
        },
        anthropic: { source: { login: { agent: 'claude', ...file('claude', claudeLogin(planted)) } } },
        github: { source: file('github', plant(planted, 'github', 'ghp_')) },
      },
      upstream: {
        resolve: { ...Object.fromEntries(names.map((name) => [name, far.address])), 'broken.example': wrong.address },
        ca: ca.path,
      },
    };
  };
  const command = buildCommand({ allow: [] });
  const vault = join(command.home, 'vault');
  const tools = join(command.home, 'tools');
  const standing = join(command.home, 'standing');
  for (const folder of [vault, tools, standing]) mkdirSync(folder, { mode: 0o700 });
  const identity = await generateIdentity();
  planted.set('age identity', identity);
  writeFileSync(join(vault, 'identity'), `${identity}\n`, { mode: 0o600 });
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identity));
  writeFileSync(join(vault, 'aged.age'), await encrypter.encrypt(plant(planted, 'aged')), { mode: 0o600 });
  // The keyring's own program is not on every machine.
  writeFileSync(join(tools, 'secret-tool'), `#!/bin/sh\nprintf %s '${plant(planted, 'kept')}'\n`);
  chmodSync(join(tools, 'secret-tool'), 0o755);
  plant(planted, 'memory');
  const env = {
    PATH: `${tools}:${process.env.PATH ?? ''}`,
    HOME: command.home,
    SALLYPORT_HOME: join(command.home, 'state'),
    SALLYPORT_CONFIG: join(command.home, 'sallyport.yaml'),
    NO_COLOR: '1',
  };
  // A fault that nothing catches, when the test asks for it.
  const fault = join(tools, 'fault.cjs');
  writeFileSync(fault, "process.on('SIGUSR2', () => { throw new Error('a planted fault'); });\n");
  const gatewayEnv = { ...env, PLANTED: plant(planted, 'variable'), NODE_OPTIONS: `--require ${fault}` };
  const policy = document(vault);
  command.writeConfig(policy);
  const main = join(command.home, 'package', 'dist', 'main.cjs');

  return {
    planted,
    command,
    far,
    wrong,
    standing,
    hosts,
    async up() {
      // Where core files are wanted.
      const words = ['-c', 'ulimit -c "$(ulimit -Hc)"; exec "$0" "$@"', process.execPath, main, 'up', '--json'];
      const child = spawn('/bin/sh', words, { cwd: standing, env: gatewayEnv, stdio: ['ignore', 'pipe', 'pipe'] });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk));
      const ended = new Promise<string>((resolve) =>
        child.on('close', (code, signal) => resolve(signal ?? String(code))),
      );
      const door = await eventually(() => {
        if (child.exitCode !== null) throw new Error(`the gateway ended: ${text}`);
        return /proxy http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      }, 'the gateway is up');
      const caPath = join(command.home, 'state', 'ca', 'ca.pem');
      return { host: '127.0.0.1', port: Number(door[1]), caPath, child, output: () => text, ended };
    },
    run: (args, input = '', options = '') =>
      runClient(process.execPath, [main, ...args], { env: { ...env, NODE_OPTIONS: options }, input, cwd: standing }),
    garble: (isGarbled) =>
      far.answerWith(isGarbled ? () => 'HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n' : echo),
    rotate: () => writeFileSync(join(vault, 'filed'), plant(planted, 'filed again'), { mode: 0o600 }),
    breakConfig: () => writeFileSync(env.SALLYPORT_CONFIG, 'version: 1\nallow: [nonsense\n'),
    repairConfig: () => command.writeConfig(policy),
    async close() {
      await far.close();
      await wrong.close();
      command.remove();
    },
  };
}

/** Sends back all it was sent; refuses what is at `/v1/unauthorized`; token endpoints fail the second time. */
function answerOf({ head, body }: RecordedRequest, planted: Map<string, string>): string {
  const [, target = ''] = head.split(' ', 2);
  const host = /^host: *(\S+)/im.exec(head)?.[1] ?? '';
  if (/\/token$/.test(target)) return tokenAnswer(host, head + body, planted);
  if (target.endsWith('/objects/batch')) return batchAnswer(planted);
  const status = target.includes('unauthorized') ? '401 Unauthorized' : '200 OK';
  const sent = (/^(?:authorization|x-api-key): *([^\r\n]+)/im.exec(head)?.[1] ?? target).slice(0, 300);
  return plain(status, head, [`X-Echo: ${sent}`, `WWW-Authenticate: Bearer realm="${sent.replaceAll('"', '')}"`]);
}

function tokenAnswer(host: string, sent: string, planted: Map<string, string>): string {
  if (host === 'tokens.example' || planted.has(`minted by ${host}`)) {
    return plain('500 Internal Server Error', JSON.stringify({ error: 'server_error', error_description: sent }));
  }
  const token = plant(planted, `minted by ${host}`, 'at-');
  const refresh = plant(planted, `rotated by ${host}`, 'rt-');
  return plain(
    '200 OK',
    JSON.stringify({ access_token: token, refresh_token: refresh, expires_in: 3600, token_type: 'Bearer' }),
    ['Content-Type: application/json'],
  );
}

/** The storage has a login of its own, in the address and in a field. */
function batchAnswer(planted: Map<string, string>): string {
  const href = `https://storage.example/${objectId}?signature=${plant(planted, 'storage signature', 'sig-')}`;
  const header = { Authorization: `Bearer ${plant(planted, 'storage token', 'st-')}` };
  const objects = [{ oid: objectId, size: 1, actions: { download: { href, header, expires_in: 3600 } } }];
  return plain('200 OK', JSON.stringify({ transfer: 'basic', objects }), [
    'Content-Type: application/vnd.git-lfs+json',
  ]);
}

function plain(status: string, body: string, fields: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status}`, ...fields, `Content-Length: ${Buffer.byteLength(body, 'latin1')}`, '', body];
  return lines.join('\r\n');
}

function accountKey(planted: Map<string, string>): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  planted.set('private key', pem.split('\n')[5]!);
  return JSON.stringify({
    type: 'service_account',
    client_email: 'planted@project.iam.gserviceaccount.com',
    private_key_id: 'k1',
    private_key: pem,
    token_uri: 'https://oauth2.googleapis.com/token',
  });
}

function awsProfile(planted: Map<string, string>): string {
  const secret = plant(planted, 'aws secret key', 'aws/+').slice(0, 40);
  return `[default]\naws_access_key_id = AKIAPLANTED234567ABC\naws_secret_access_key = ${secret}\n`;
}

function claudeLogin(planted: Map<string, string>): string {
  const accessToken = plant(planted, 'expired access token', 'sk-ant-oat01-');
  const refreshToken = plant(planted, 'login refresh token', 'sk-ant-ort01-');
  const scopes = ['user:inference'];
  return JSON.stringify({ claudeAiOauth: { accessToken, refreshToken, expiresAt: Date.now() - 60_000, scopes } });
}
