// The admin API's way to the dashboard: an address that opens it once. Whoever may ask here may do anything on that page.
import { AdminError } from './admin-error.ts';
import type { AdminRoute } from './routes.ts';

export const dashboardRoutes: readonly AdminRoute[] = [
  {
    path: ['internal', 'dashboard'],
    methods: {
      POST: (ports) => {
        const address = ports.dashboardAddress();
        if (address === null) {
          const hint = 'Add `listen: {dashboard: 127.0.0.1:8642}` to sallyport.yaml and start the gateway again.';
          throw new AdminError(404, 'dashboard.not-served', 'this gateway serves no dashboard', hint);
        }
        return { status: 200, json: { address } };
      },
    },
  },
];
