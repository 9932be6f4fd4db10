import { z } from 'zod';
import { MAX_NAME_LENGTH } from '../../../core/fields.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { type FieldErrors, IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import { parseExpression } from '../../resource/filter/expression.ts';
import type { ResourceHandler, ResourceInput } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import type { ListRequest } from '../../resource/lists/query.ts';

/** What a managed group keeps: the rule by which an auth method puts accounts into it. */
interface ManagedGroupBody {
  /** Of `oidc`: over the claims of a log-in. */
  filter?: string;
  /** Of `ldap`: groups of the directory. */
  group_names?: readonly string[];
}

const NO_GROUPS = 'This field must be the id of an auth method of type "oidc" or "ldap".';

export const managedGroupDefinition: ResourceHandler = {
  type: 'managed-group',
  containerField: 'auth_method_id',
  fields: { member_ids: z.unknown().optional().describe('Output only.') },
  attributes: {
    oidc: z.object({
      filter: z.string().optional().describe('Over `/token` and `/userinfo` of a log-in.'),
    }),
    ldap: z.object({
      group_names: z.array(z.string()).optional().describe('Groups of the directory.'),
    }),
  },
  // Whose accounts are in which groups is part of what they are allowed.
  cached: true,
  showsType: true,
  words: { stale: 'Managed group "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, parent, errors) {
    if (parent === 'password') errors.add('auth_method_id', NO_GROUPS);
    else if (parent !== undefined && item.type && item.type !== parent) {
      errors.add('type', "Doesn't match the parent resource's type.");
    }
    return parent ?? '';
  },
  checkNew: (item, subtype, errors) =>
    checkRule(item, subtype, ['attributes.filter', 'attributes.group_names'], errors),
  planNew: async (_app, _caller, { item }) => ({ body: bodyOf(item) }),
  updatable: (subtype) => [subtype === 'oidc' ? 'attributes.filter' : 'attributes.group_names'],
  checkChange: (item, { subtype, mask }, errors) => checkRule(item, subtype, mask, errors),
  async planChange(_app, _caller, { item, mask }) {
    return mask.some((path) => path.startsWith('attributes.')) ? { body: bodyOf(item) } : {};
  },
  describe: async (_app, _caller, groups) =>
    groups.map(({ body }) => ({ attributes: omitEmpty({ ...body }) })),
};

const MAX_NAMES = 256;
const isTooLong = (name: unknown): boolean => String(name).length > MAX_NAME_LENGTH;

function checkRule(
  { attributes = {} }: ResourceInput,
  subtype: string,
  mask: readonly string[],
  errors: FieldErrors,
): void {
  const { filter, group_names } = attributes;
  if (subtype === 'oidc' && mask.includes('attributes.filter')) {
    if (!filter) errors.add('attributes.filter', 'This field is required.');
    else if (!parseExpression(String(filter)).valid) {
      errors.add('attributes.filter', 'Error evaluating submitted filter expression.');
    }
  }
  if (subtype === 'ldap' && mask.includes('attributes.group_names')) {
    if (!Array.isArray(group_names) || group_names.length === 0 || group_names.includes('')) {
      errors.add('attributes.group_names', 'This field is required.');
    } else if (group_names.length > MAX_NAMES || group_names.some(isTooLong)) {
      errors.add(
        'attributes.group_names',
        `There can be at most ${MAX_NAMES} names of ${MAX_NAME_LENGTH} characters each.`,
      );
    }
  }
}

function bodyOf({ attributes = {} }: ResourceInput): ManagedGroupBody {
  return { ...attributes };
}

/** @throws Failure `invalid` */
export function checkManagedGroupList({ place }: ListRequest): void {
  if (isIdOf(place, 'auth-method', 'oidc', 'ldap')) return;
  refuseField('auth_method_id', NO_GROUPS, IN_REQUEST);
}
