import { z } from 'zod';
import type { Immutable } from '../../../core/immutable.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import type { Place } from '../../resource/by-ids.store.ts';
import { type FieldErrors, refuseField } from '../../resource/field-errors.ts';
import { canonicalGrant, grantJson, parseGrant } from '../../resource/grants/grant.ts';
import { type RoleBody, roleFields } from '../../resource/grants/role.ts';
import type { ItemOf, Kind, ResourceHandler } from '../../resource/handler.ts';
import { showLinked } from '../../resource/links/shown.operations.ts';
import { sizeOfGrants } from '../../resource/org-bounds/grant-room.ts';
import { faultOfOrg, holdNumberOf } from '../../resource/org-bounds/store.ts';
import { endBeforehand } from '../removal.operations.ts';
import { moreOnceChanged, planRoom } from './room.operations.ts';

const READ_ONLY = [
  'principals',
  'principal_ids',
  'grant_strings',
  'grants',
  'grant_scope_ids',
] as const;

const principal = z.object({ id: z.string(), type: z.string(), scope_id: z.string() });
const grant = z.object({
  raw: z.string().describe('As it was written.'),
  canonical: z.string().optional(),
  json: z
    .object({
      id: z.string().optional(),
      ids: z.array(z.string()).optional(),
      type: z.string().optional(),
      actions: z.array(z.string()).optional(),
      output_fields: z.array(z.string()).optional(),
    })
    .optional(),
});

const shown = {
  grant_scope_ids: z.array(z.string()).describe('Where the grants reach.'),
  principal_ids: z.array(z.string()).describe('Whom the grants are for. Not in lists.'),
  principals: z.array(principal).describe('The same with what they are. Not in lists.'),
  grant_strings: z.array(z.string()).describe('Not in lists.'),
  grants: z.array(grant).describe('The same as they are read. Not in lists.'),
};

export interface RoleKind extends Kind {
  fields: typeof roleFields;
  shown: typeof shown;
  body: RoleBody;
}

export const roleDefinition: ResourceHandler<RoleKind> = {
  type: 'role',
  containerField: 'scope_id',
  fields: roleFields,
  shown,
  cached: true,
  words: { stale: 'Role "%" doesn\'t exist or incorrect version provided.' },

  checkNew: (item, _subtype, errors) => refuseReadOnly(item, errors),
  async planNew(app, _caller, { container: { scope } }) {
    const full = await faultOfOrg(app.db, 'role', scope, 1);
    if (full !== undefined) refuseField('scope_id', full);
    const body: RoleBody = { grant_strings: [], grant_scope_ids: ['this'] };
    const room = await planRoom(app, scope, sizeOfGrants(body), 'scope_id');
    return { body, effects: [...holdNumberOf('role', scope), ...room] };
  },
  updatable: () => [],
  checkChange: (item, _request, errors) => refuseReadOnly(item, errors),
  async planChange(app, _caller, { resource, container: { scope }, mask }) {
    return { effects: await planRoom(app, scope, moreOnceChanged(resource), mask[0] ?? 'name') };
  },

  endBeforehand,
  async describe(app, _caller, roles, how) {
    return Promise.all(
      roles.map(async ({ id, body: { grant_scope_ids, grant_strings } }) => {
        if (how === 'list') return omitEmpty({ grant_scope_ids });
        const of = { from_id: id, kind: 'role-principal' } as const;
        const principals = await showLinked(app, of, showPrincipal);
        return omitEmpty({
          grant_scope_ids,
          principal_ids: principals.map((principal) => principal.id),
          principals,
          grant_strings,
          grants: grant_strings.map(describeGrant),
        });
      }),
    );
  },
};

function refuseReadOnly(item: ItemOf<RoleKind>, errors: FieldErrors): void {
  for (const field of READ_ONLY) {
    if (item[field] !== undefined) errors.add(field, 'This is a read only field.');
  }
}

/** @see B-43 */
function describeGrant(raw: string): Immutable<z.output<typeof grant>> {
  const reading = parseGrant(raw);
  if (!reading.valid) return { raw };
  return { raw, canonical: canonicalGrant(reading.grant), json: grantJson(reading.grant) };
}

const showPrincipal = ({ id, type, scope_id }: Place) => ({
  id,
  type: type === 'managed-group' ? 'managed group' : type,
  scope_id,
});
