// The admin API's route to the explanation of a policy. Holds no state; the sentences come from the port.
import { AdminError } from './admin-error.ts';
import { readFlag } from './read-flag.ts';
import type { AdminRoute } from './routes.ts';

export const policyRoutes: readonly AdminRoute[] = [
  {
    path: ['internal', 'containers', ':which', 'policy'],
    methods: {
      GET: (ports, { parameter, query }) => {
        const sections = ports.explain(parameter, readFlag(query, 'full'));
        if (sections !== null) return { status: 200, json: { sections } };
        const hint = 'See which there are: sallyport list';
        throw new AdminError(404, 'sandbox.not-found', `no live sandbox is registered as ${parameter}`, hint);
      },
    },
  },
];
