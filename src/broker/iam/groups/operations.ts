import { z } from 'zod';
import { giveWay } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { type BrokerCaller, RECOVERY_USER } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import type { Kind, ResourceHandler } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import { idCheck, type LinkVerbRequest } from '../../resource/links/fields.ts';
import { changeLinks } from '../../resource/links/operations.ts';
import { showLinked } from '../../resource/links/shown.operations.ts';
import {
  faultOfOrg,
  faultOfUsers,
  holdGroupsOf,
  holdMembers,
  holdNumberOf,
} from '../../resource/org-bounds/store.ts';
import type { Resource } from '../../resource/resource.ts';
import { requireScope } from '../../resource/scope-tree/operations.ts';
import { endBeforehand } from '../removal.operations.ts';

const shown = {
  member_ids: z.array(z.string()).describe('Not in lists.'),
  members: z
    .array(z.object({ id: z.string(), scope_id: z.string() }))
    .describe('The same users with where they lie. Not in lists.'),
};

interface GroupKind extends Kind {
  shown: typeof shown;
}

export const groupDefinition: ResourceHandler<GroupKind> = {
  type: 'group',
  containerField: 'scope_id',
  fields: {},
  shown,
  cached: true,
  words: { stale: 'Group "%" doesn\'t exist or incorrect version provided.' },

  checkNew() {},
  async planNew(app, _caller, { container: { scope } }) {
    const full = await faultOfOrg(app.db, 'group', scope, 1);
    if (full !== undefined) refuseField('scope_id', full);
    return { effects: holdNumberOf('group', scope) };
  },
  updatable: () => [],
  checkChange() {},
  planChange: async () => ({}),

  endBeforehand,
  async describe(app, _caller, groups, how) {
    if (how === 'list') return groups.map(() => ({}));
    return Promise.all(
      groups.map(async ({ id }) => {
        const of = { from_id: id, kind: 'group-member' } as const;
        const members = await showLinked(app, of, ({ id, scope_id }) => ({ id, scope_id }));
        return omitEmpty({ member_ids: members.map((member) => member.id), members });
      }),
    );
  },
};

const FIELD = 'member_ids';

export const checkMembers = idCheck(FIELD, (id) =>
  id === RECOVERY_USER
    ? 'u_recovery cannot be a member of a group.'
    : isIdOf(id, 'user') || id === 'u_anon' || id === 'u_auth'
      ? undefined
      : 'Must only have valid user ids.',
);

/** Adds, replaces or removes the users in a group. */
export async function changeMembers(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked: ids }: LinkVerbRequest<GroupKind>,
): Promise<Resource> {
  const scope = await requireScope(app, resource.scope_id);
  return changeLinks(app, caller, groupDefinition, {
    resource,
    change,
    kind: 'group-member',
    ids,
    field: FIELD,
    faultOf: (id) => `There is no user "${id}".`,
    async requireRoom({ added, removed }) {
      const more = added.length - removed.length;
      const full = more > 0 ? await faultOfOrg(app.db, 'members', scope, more) : undefined;
      const fault = full ?? (await faultOfUsers(app.db, added, scope, () => giveWay(app)));
      if (fault !== undefined) refuseField(FIELD, fault);
    },
    bounds: ({ added, removed }) => [
      ...(added.length > removed.length ? holdMembers(scope) : []),
      ...(added.length > 0 ? holdGroupsOf(added, scope) : []),
    ],
  });
}
