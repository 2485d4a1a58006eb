// The admin API's route that switches learning on for a sandbox: it may then read unknown public hosts, without a credential.
import { readJson } from './admin-body.ts';
import { AdminError } from './admin-error.ts';
import type { AdminRoute } from './routes.ts';

export const learnRoutes: readonly AdminRoute[] = [
  {
    path: ['internal', 'learning'],
    methods: {
      POST: async (ports, { request }) => {
        const body: unknown = await readJson(request);
        const sandbox: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'sandbox') : undefined;
        if (typeof sandbox !== 'string' || sandbox === '') {
          throw new AdminError(400, 'admin.bad-request', 'name the sandbox: {"sandbox": "ID"}');
        }
        await ports.startLearning(sandbox);
        return { status: 204 };
      },
    },
  },
];
