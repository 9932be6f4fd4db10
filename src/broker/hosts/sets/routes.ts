import { idList } from '../../resource/links/fields.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { linkRoutes } from '../../resource/verbs.routes.ts';
import { changeHosts, checkHosts, hostSetDefinition } from './operations.ts';

export const hostSetRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(hostSetDefinition),
  ...linkRoutes(hostSetDefinition, 'hosts', {
    summaries: {
      add: 'Add hosts to a host set',
      set: 'Replace the hosts of a host set',
      remove: 'Take hosts out of a host set',
    },
    fields: { host_ids: idList('Hosts of the same catalog.') },
    check: checkHosts,
    run: changeHosts,
  }),
];
