import { z } from 'zod';
import { giveWay } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { endBeforehand } from '../../iam/removal.operations.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { type FieldErrors, refuseField } from '../../resource/field-errors.ts';
import type { ItemOf, Kind, ResourceHandler } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import { idCheck, type LinkVerbRequest } from '../../resource/links/fields.ts';
import { changeLinks } from '../../resource/links/operations.ts';
import type { LinkChange } from '../../resource/links/plan.ts';
import { showLinkedIds } from '../../resource/links/shown.operations.ts';
import { haveAllLinksTo, holdLinksTo } from '../../resource/links/store.ts';
import { BOUNDS, MOST_SETS_OF_HOST } from '../../resource/org-bounds/bounds.ts';
import type { Resource } from '../../resource/resource.ts';
import {
  endSessionsBeforehand,
  planDependentCancellation,
} from '../../sessions/termination.operations.ts';

const ofPlugins = (about: string) => z.unknown().optional().describe(`${about} Plugins only.`);

const fields = {
  host_ids: z.unknown().optional().describe('Set by `:set-hosts`.'),
  preferred_endpoints: ofPlugins('Which addresses are taken first.'),
  sync_interval_seconds: ofPlugins('How often hosts are looked up.'),
};

const shown = { host_ids: z.array(z.string()).describe('Not in lists.') };

interface HostSetKind extends Kind {
  fields: typeof fields;
  shown: typeof shown;
}

export const hostSetDefinition: ResourceHandler<HostSetKind> = {
  type: 'host-set',
  containerField: 'host_catalog_id',
  fields,
  shown,
  showsType: true,
  words: { stale: 'Host set "%" doesn\'t exist or incorrect version provided.' },

  checkNew: (item, _subtype, errors) => refuseForeign(item, errors),
  planNew: async () => ({}),
  updatable: () => [],
  checkChange: (item, _request, errors) => refuseForeign(item, errors),
  planChange: async () => ({}),
  endBeforehand,
  planRemoval: async (app, _caller, { id }) =>
    planDependentCancellation(app, { of_host_sets: [id] }),
  async describe(app, _caller, sets, how) {
    if (how === 'list') return sets.map(() => ({}));
    return Promise.all(
      sets.map(async ({ id }) =>
        omitEmpty({ host_ids: await showLinkedIds(app, { from_id: id, kind: 'host-set-host' }) }),
      ),
    );
  },
};

function refuseForeign(item: ItemOf<HostSetKind>, errors: FieldErrors): void {
  if (item.host_ids !== undefined) errors.add('host_ids', 'This is a read only field.');
  for (const field of ['preferred_endpoints', 'sync_interval_seconds'] as const) {
    if (item[field] !== undefined) {
      errors.add(field, 'This field is not supported for this host set type.');
    }
  }
}

const FIELD = 'host_ids';
const SETS_OF_HOST = {
  kind: 'host-set-host',
  most: MOST_SETS_OF_HOST,
  conflict: BOUNDS.sets_of_host,
} as const;
/** As a host is that may be put into another. */
const ONE_MORE_SET = { ...SETS_OF_HOST, most: MOST_SETS_OF_HOST - 1 };

const checkStaticHosts = idCheck(FIELD, (id) =>
  isIdOf(id, 'host', 'static') ? undefined : 'Incorrectly formatted host identifier.',
);

export function checkHosts(
  item: { readonly [FIELD]?: readonly string[] | undefined },
  errors: FieldErrors,
  request: { change: LinkChange; id: string },
): readonly string[] {
  if (isIdOf(request.id, 'host-set', 'plugin')) {
    errors.add('id', 'The hosts of such a host set are not chosen by hand.');
  }
  return checkStaticHosts(item, errors, request);
}

/** Adds, replaces or removes the hosts of a set; all lie in its catalog. */
export const changeHosts = (
  app: App,
  caller: BrokerCaller,
  { resource, change, checked: ids }: LinkVerbRequest<HostSetKind>,
): Promise<Resource> =>
  changeLinks(app, caller, hostSetDefinition, {
    resource,
    change,
    kind: 'host-set-host',
    ids,
    field: FIELD,
    inside: { container_id: resource.container_id },
    async requireRoom({ added }) {
      if (await haveAllLinksTo(app.db, added, SETS_OF_HOST, () => giveWay(app))) {
        refuseField(FIELD, BOUNDS.sets_of_host);
      }
    },
    bounds: ({ added }) => holdLinksTo(added, SETS_OF_HOST),
    async loseBy({ added, removed }) {
      const { id } = resource;
      return {
        preconditions: holdLinksTo(added, ONE_MORE_SET),
        effects: planDependentCancellation(app, { host_set_id_of: id, host_ids: removed }),
        end: (work) =>
          endSessionsBeforehand(app, work, { host_set_id_of: id, host_ids_of: removed }),
      };
    },
    isLinkable: ({ container_id }) => container_id === resource.container_id,
    faultOf: (id) => `There is no host "${id}" in the host set's catalog.`,
  });
