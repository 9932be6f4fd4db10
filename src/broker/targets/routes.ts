import { resolveAlias } from '../aliases/operations.ts';
import { idList } from '../resource/links/fields.ts';
import { checkProjectList } from '../resource/lists/query.ts';
import type { AnyBoundaryRoute } from '../resource/route.ts';
import { standardRoutes } from '../resource/routes.ts';
import { linkRoutes, summariesOf } from '../resource/verbs.routes.ts';
import { targetDefinition } from './operations.ts';
import { changeCredentialSources, changeHostSources } from './sources.operations.ts';
import { checkCredentialSources, checkHostSources } from './sources.ts';

export const targetRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(targetDefinition, { checkList: checkProjectList, resolve: resolveAlias }),
  ...linkRoutes(targetDefinition, 'host-sources', {
    summaries: summariesOf('host sets that a target is reached through'),
    fields: { host_source_ids: idList('Host sets of the same project.') },
    resolve: resolveAlias,
    check: checkHostSources,
    run: changeHostSources,
  }),
  ...linkRoutes(targetDefinition, 'credential-sources', {
    summaries: summariesOf('credentials of a target'),
    fields: {
      brokered_credential_source_ids: idList('Credentials shown to the client.'),
      injected_application_credential_source_ids: idList('Credentials used by the worker.'),
    },
    resolve: resolveAlias,
    check: checkCredentialSources,
    run: changeCredentialSources,
  }),
];
