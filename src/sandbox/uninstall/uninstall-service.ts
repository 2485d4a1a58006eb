// The systemd user units of `sallyport service`: where they are, what is in them, and how they are taken away again. A unit without
// our mark is somebody's own and stays.
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import type { Found } from './uninstall-item.ts';

export const unitNames = ['sallyport.socket', 'sallyport.service'] as const;
const mark = '# Made by `sallyport service install`. `sallyport service remove` takes it away.';
const timeoutMs = 60_000;

export interface ServicePlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
}

export interface ServiceFacts {
  /** What starts the command, program first. */
  readonly command: readonly string[];
  readonly stateFolder: string;
  readonly adminSocket: string;
  readonly path: string;
}

export function unitFolder({ env, userHome }: ServicePlace): string {
  return join(env.XDG_CONFIG_HOME || join(userHome, '.config'), 'systemd', 'user');
}

/** The text of each unit, by its name. */
export function writeUnits({ command, stateFolder, adminSocket, path }: ServiceFacts): Record<string, string> {
  const socket = `${mark}
[Unit]
Description=The admin socket of Sallyport

[Socket]
ListenStream=${plain(adminSocket)}
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
`;
  const service = `${mark}
[Unit]
Description=Sallyport, the gateway of sandboxes
Requires=sallyport.socket
After=sallyport.socket

[Service]
ExecStart=${command.map(word).join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=${plain(stateFolder)}
Environment=${variable(`SALLYPORT_HOME=${stateFolder}`)} ${variable(`PATH=${path}`)}
Restart=on-failure

[Install]
WantedBy=default.target
`;
  return { 'sallyport.socket': socket, 'sallyport.service': service };
}

/** Throws what systemctl says, in one line. */
export function systemctl(env: ServicePlace['env'], ...args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('systemctl', ['--user', ...args], { env, timeout: timeoutMs }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else
        reject(
          new Error(error.code === 'ENOENT' ? 'there is no systemctl' : stderr.trim().split('\n')[0] || error.message),
        );
    });
  });
}

export function isOurs(path: string): boolean {
  try {
    return readFileSync(path, 'utf8').startsWith(mark);
  } catch {
    return false;
  }
}

/** Those that are there and ours. To remove one stops it as well. */
export function findService(place: ServicePlace): Found {
  const folder = unitFolder(place);
  const removable = unitNames
    .map((name) => ({ name, path: join(folder, name) }))
    .filter(({ path }) => isOurs(path))
    .map(({ name, path }) => ({
      kind: 'service' as const,
      what: path,
      detail: 'the service that keeps a gateway warm',
      how: `systemctl --user disable --now ${name}; rm -- ${quoteForShell(path)}`,
      remove: async () => {
        // Where systemd does not run, nothing of it does.
        await systemctl(place.env, 'disable', '--now', name).catch(() => {});
        rmSync(path, { force: true });
        await systemctl(place.env, 'daemon-reload').catch(() => {});
      },
    }));
  return { removable, kept: [] };
}

/** systemd.unit(5): a percent sign begins a specifier. */
function plain(text: string): string {
  return text.replaceAll('%', '%%');
}

function variable(text: string): string {
  return `"${plain(text).replace(/["\\]/g, '\\$&')}"`;
}

/** systemd.service(5): in a command a dollar sign begins a variable. */
function word(text: string): string {
  return variable(text).replaceAll('$', '$$$$');
}
