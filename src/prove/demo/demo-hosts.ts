// The pretend providers of the demonstration, its policy and its keys: a model API that wants its key, and GitHub with real
// repositories. The keys are made for one demonstration and open nothing.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type PretendGithub, startPretendGithub } from '../internet/pretend-github.ts';
import type { GroundPlan } from '../internet/pretend-ground.ts';
import { type PretendHost, reply } from '../internet/pretend-world.ts';

export const modelHost = 'api.anthropic.com';
export const ownRepository = 'acme/widgets';
export const foreignRepository = 'acme/payroll';
/** Not allowed by the policy of the demonstration. */
export const foreignHost = 'attacker.example';
/** Of the block for documentation: nobody has it. */
export const literalAddress = '203.0.113.9';

export interface DemoKeys {
  readonly anthropic: string;
  readonly github: string;
}

/** In the shape that providers give out. */
export function makeDemoKeys(): DemoKeys {
  return {
    anthropic: `sk-ant-api03-${randomBytes(24).toString('base64url')}`,
    github: `ghp_${randomBytes(18).toString('hex')}`,
  };
}

/** `onGithub` is told of the repositories once they are there. */
export function demoGround(keys: DemoKeys, onGithub: (github: PretendGithub) => void): GroundPlan {
  return {
    name: 'demo',
    secrets: { ...keys },
    async hosts(folder) {
      const github = await startPretendGithub(join(folder, 'github'), keys.github, [
        {
          name: ownRepository,
          number: 4711,
          branches: { main: { 'README.md': 'widgets\n' }, 'sandbox/work': { a: 'a\n' } },
        },
        { name: foreignRepository, number: 815, branches: { main: { 'README.md': 'not for agents\n' } } },
      ]);
      onGithub(github);
      const model = playModel(keys.anthropic);
      return (name) => (name === modelHost ? model : github.hosts.get(name));
    },
    policy: (files) => ({
      allow: [{ preset: 'anthropic' }, { preset: 'github' }],
      credentials: {
        anthropic: { source: { file: files.anthropic } },
        github: { source: { file: files.github } },
      },
      // The host that is not allowed too: what slips past the door would arrive there and be seen.
      pinned: [modelHost, 'github.com', 'api.github.com', 'uploads.github.com', foreignHost],
    }),
  };
}

/** One message, for whoever shows the key. */
function playModel(key: string): PretendHost {
  return {
    serve(request, response) {
      request.resume().on('end', () => {
        if (request.headers['x-api-key'] !== key)
          return reply(response, 401, {
            type: 'error',
            error: { type: 'authentication_error', message: 'invalid x-api-key' },
          });
        const content = [{ type: 'text', text: 'Hello from the other side of the door.' }];
        return reply(response, 200, { type: 'message', role: 'assistant', content });
      });
    },
  };
}
