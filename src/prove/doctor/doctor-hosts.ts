// The pretend hosts that the runtimes ask, and the policy of the doctor's own gateway: registries with one package each, and a
// GitHub with one repository of one branch. Every answer is fixed.
import { randomBytes } from 'node:crypto';
import type { GroundPlan } from '../internet/pretend-ground.ts';
import { type PretendHost, reply } from '../internet/pretend-world.ts';
import { answerWord, doctorHost, doctorRepository } from './runtimes.ts';

const version = '1.2.3';
const name = 'sallyport-doctor';
const html = { 'content-type': 'text/html' };

export function doctorGround(): GroundPlan {
  return {
    name: 'doctor',
    secrets: { github: `ghp_${randomBytes(18).toString('hex')}` },
    hosts: () => Promise.resolve((host) => hosts.get(host)),
    policy: (files) => ({
      allow: [{ host: doctorHost }, { preset: 'github' }],
      credentials: { github: { source: { file: files.github } } },
      pinned: [doctorHost, 'github.com', 'api.github.com'],
    }),
  };
}

const registries: PretendHost = {
  serve(request, response) {
    const [path = ''] = request.url.split('?');
    const wheel = `${name.replace('-', '_')}-${version}-py3-none-any.whl`;
    const index = `<a href="${wheel}">${wheel}</a>`;
    switch (path) {
      case `/npm/${name}`:
        return reply(response, 200, {
          name,
          'dist-tags': { latest: version },
          versions: { [version]: { name, version } },
        });
      case '/cargo/config.json':
        return reply(response, 200, { dl: `https://${doctorHost}/cargo/dl`, api: `https://${doctorHost}/cargo` });
      case '/cargo/api/v1/crates':
        return reply(response, 200, {
          crates: [{ name, max_version: version, description: null }],
          meta: { total: 1 },
        });
      case `/pip/${name}/`:
      case `/uv/${name}/`:
        return reply(response, 200, index, html);
      case '/go/doctor.example/m/@v/list':
        return reply(response, 200, `v${version}\n`);
      case `/go/doctor.example/m/@v/v${version}.info`:
        return reply(response, 200, { Version: `v${version}` });
      case `/go/doctor.example/m/@v/v${version}.mod`:
        return reply(response, 200, 'module doctor.example/m\n');
      default:
        return reply(response, 200, `${answerWord}\n`);
    }
  },
};

/** As `git http-backend` says it, with one branch. */
function advertisement(): Buffer {
  const id = 'a'.repeat(40);
  const line = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text;
  const refs = line(`${id} HEAD\0symref=HEAD:refs/heads/main agent=pretend\n`) + line(`${id} refs/heads/main\n`);
  return Buffer.from(`${line('# service=git-upload-pack\n')}0000${refs}0000`);
}

const site: PretendHost = {
  serve(request, response) {
    if (!/\/info\/refs\?service=git-upload-pack$/.test(request.url)) return reply(response, 404, 'not found\n');
    const type = 'application/x-git-upload-pack-advertisement';
    return reply(response, 200, advertisement(), { 'content-type': type, 'cache-control': 'no-cache' });
  },
};

const api: PretendHost = {
  serve: (_, response) => reply(response, 200, { full_name: doctorRepository, description: answerWord }),
};

const hosts: ReadonlyMap<string, PretendHost> = new Map([
  [doctorHost, registries],
  ['github.com', site],
  ['api.github.com', api],
]);
