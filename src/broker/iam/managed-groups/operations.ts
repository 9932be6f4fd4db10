import { z } from 'zod';
import { MAX_NAME_LENGTH } from '../../../core/fields.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { outputOnly } from '../../../core/output-only.ts';
import { type FieldErrors, IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import { parseExpression } from '../../resource/filter/expression.ts';
import type { ItemOf, Kind, ResourceHandler } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import { subtypeOfParent } from '../../resource/item-request.ts';
import type { ListRequest } from '../../resource/lists/query.ts';

/** What a managed group keeps: the rule by which an auth method puts accounts into it. */
interface ManagedGroupBody {
  /** Of `oidc`: over the claims of a log-in. */
  filter?: string | undefined;
  /** Of `ldap`: groups of the directory. */
  group_names?: readonly string[] | undefined;
}

const NO_GROUPS = 'This field must be the id of an auth method of type "oidc" or "ldap".';

const fields = { member_ids: outputOnly() };

const filter = z.string().optional().describe('Over `/token` and `/userinfo` of a log-in.');
const group_names = z.array(z.string()).optional().describe('Groups of the directory.');
const attributes = { oidc: z.object({ filter }), ldap: z.object({ group_names }) };

const shown = { attributes: z.object({ filter, group_names }) };

interface ManagedGroupKind extends Kind {
  fields: typeof fields;
  attributes: typeof attributes;
  shown: typeof shown;
  body: ManagedGroupBody;
  wanted: ManagedGroupBody;
  /** Absent where the rule stays. */
  change: ManagedGroupBody | undefined;
}

export const managedGroupDefinition: ResourceHandler<ManagedGroupKind> = {
  type: 'managed-group',
  containerField: 'auth_method_id',
  fields,
  attributes,
  shown,
  // Whose accounts are in which groups is part of what they are allowed.
  cached: true,
  showsType: true,
  words: { stale: 'Managed group "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, parent, errors) {
    if (parent !== 'password') return subtypeOfParent(item, parent, errors);
    errors.add('auth_method_id', NO_GROUPS);
    return parent;
  },
  checkNew: (item, subtype, errors) => readRule(item, subtype, errors),
  planNew: async (_app, _caller, { wanted }) => ({ body: wanted }),
  updatable: (subtype) => [fieldOf(subtype)],
  checkChange: (item, { subtype, mask }, errors) =>
    mask.includes(fieldOf(subtype)) ? readRule(item, subtype, errors) : undefined,
  planChange: async (_app, _caller, { change }) => (change ? { body: change } : {}),
  describe: async (_app, _caller, groups) =>
    groups.map(({ body }) => ({ attributes: omitEmpty({ ...body }) })),
};

const fieldOf = (subtype: string) =>
  subtype === 'oidc' ? 'attributes.filter' : 'attributes.group_names';

const MAX_NAMES = 256;
const isTooLong = (name: string): boolean => name.length > MAX_NAME_LENGTH;

function readRule(
  { attributes = {} }: ItemOf<ManagedGroupKind>,
  subtype: string,
  errors: FieldErrors,
): ManagedGroupBody {
  const { filter, group_names = [] } = attributes;
  if (subtype === 'oidc') {
    if (!filter) errors.add('attributes.filter', 'This field is required.');
    else if (!parseExpression(filter).valid) {
      errors.add('attributes.filter', 'Error evaluating submitted filter expression.');
    }
  }
  if (subtype === 'ldap') {
    if (group_names.length === 0 || group_names.includes('')) {
      errors.add('attributes.group_names', 'This field is required.');
    } else if (group_names.length > MAX_NAMES || group_names.some(isTooLong)) {
      errors.add(
        'attributes.group_names',
        `There can be at most ${MAX_NAMES} names of ${MAX_NAME_LENGTH} characters each.`,
      );
    }
  }
  return attributes;
}

/** @throws Failure `invalid` */
export function checkManagedGroupList({ place }: ListRequest): void {
  if (isIdOf(place, 'auth-method', 'oidc', 'ldap')) return;
  refuseField('auth_method_id', NO_GROUPS, IN_REQUEST);
}
