import { resolveAlias } from '../aliases/operations.ts';
import { idList } from '../resource/links/fields.ts';
import type { LinkChange } from '../resource/links/plan.ts';
import { checkProjectList } from '../resource/lists/query.ts';
import type { AnyBoundaryRoute } from '../resource/route.ts';
import { standardRoutes } from '../resource/routes.ts';
import { actionRoute } from '../resource/verbs.routes.ts';
import { targetDefinition } from './operations.ts';
import { changeCredentialSources, changeHostSources } from './sources.operations.ts';
import { checkCredentialSources, checkHostSources } from './sources.ts';

const WORDS: readonly [change: LinkChange, word: string][] = [
  ['add', 'Add'],
  ['set', 'Replace'],
  ['remove', 'Remove'],
];

export const targetRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(targetDefinition, { checkList: checkProjectList, resolve: resolveAlias }),
  ...WORDS.flatMap(([change, word]) => [
    actionRoute(targetDefinition, `${change}-host-sources`, {
      summary: `${word} host sets that a target is reached through`,
      fields: { host_source_ids: idList('Host sets of the same project.') },
      audit: ['host_source_ids'],
      resolve: resolveAlias,
      check: checkHostSources(change),
      run: changeHostSources(change),
    }),
    actionRoute(targetDefinition, `${change}-credential-sources`, {
      summary: `${word} credentials of a target`,
      fields: {
        brokered_credential_source_ids: idList('Credentials shown to the client.'),
        injected_application_credential_source_ids: idList('Credentials used by the worker.'),
      },
      audit: ['brokered_credential_source_ids', 'injected_application_credential_source_ids'],
      resolve: resolveAlias,
      check: checkCredentialSources(change),
      run: changeCredentialSources(change),
    }),
  ]),
];
