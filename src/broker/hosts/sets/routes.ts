import { idList } from '../../resource/links/fields.ts';
import type { LinkChange } from '../../resource/links/plan.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { actionRoute } from '../../resource/verbs.routes.ts';
import { changeHosts, checkHosts, hostSetDefinition } from './operations.ts';

const SUMMARIES: readonly [change: LinkChange, summary: string][] = [
  ['add', 'Add hosts to a host set'],
  ['set', 'Replace the hosts of a host set'],
  ['remove', 'Take hosts out of a host set'],
];

export const hostSetRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(hostSetDefinition),
  ...SUMMARIES.map(([change, summary]) =>
    actionRoute(hostSetDefinition, `${change}-hosts`, {
      summary,
      fields: { host_ids: idList('Hosts of the same catalog.') },
      audit: ['host_ids'],
      check: checkHosts(change),
      run: changeHosts(change),
    }),
  ),
];
