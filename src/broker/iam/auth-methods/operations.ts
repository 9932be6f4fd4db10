import { z } from 'zod';
import { PASSWORD_DEFAULTS, type PasswordMethodBody } from '../../../config/password-method.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import type { FieldErrors } from '../../resource/field-errors.ts';
import type { ItemOf, Kind, ResourceHandler } from '../../resource/handler.ts';
import { readScopeTree } from '../../resource/scope-tree/operations.ts';
import { endLogIns } from '../auth-tokens/operations.ts';
import { endBeforehand } from '../removal.operations.ts';
import { clearPrimary } from '../scopes/store.ts';
import { AUTH_METHOD_TYPES, authMethodAttributes } from './auth-method.ts';

const shown = {
  is_primary: z.boolean().describe("Whether its accounts stand for the scope's users."),
  attributes: authMethodAttributes.password,
};

interface AuthMethodKind extends Kind {
  attributes: typeof authMethodAttributes;
  shown: typeof shown;
  body: PasswordMethodBody;
  wanted: PasswordMethodBody;
  change: Partial<PasswordMethodBody>;
}

export const authMethodDefinition: ResourceHandler<AuthMethodKind> = {
  type: 'auth-method',
  containerField: 'scope_id',
  fields: {},
  attributes: authMethodAttributes,
  shown,
  cached: true,
  showsType: true,
  words: { stale: 'Auth method "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, _parent, errors) {
    const type = item.type ?? '';
    if (AUTH_METHOD_TYPES.includes(type)) return type;
    errors.add(
      'type',
      type === 'ldap' || type === 'oidc'
        ? `Auth methods of type "${type}" are not available in this version.`
        : `This is a required field and must be a known auth method type: ${AUTH_METHOD_TYPES.join(', ')}.`,
    );
    return '';
  },
  checkNew: (item, _subtype, errors) => ({
    ...PASSWORD_DEFAULTS,
    ...readLengths(item, [], errors),
  }),
  planNew: async (_app, _caller, { wanted }) => ({ body: wanted }),

  updatable: () => ['attributes.min_login_name_length', 'attributes.min_password_length'],
  checkChange: (item, { mask }, errors) => readLengths(item, mask, errors),
  planChange: async (_app, _caller, { resource, change }) => ({
    body: { ...resource.body, ...change },
  }),
  endBeforehand,
  async planRemoval(app, _caller, resource) {
    return [
      ...clearPrimary(resource, app.now()),
      ...(await endLogIns(app, { auth_method_id: resource.id })),
    ];
  },

  actionsOf: () => ['no-op', 'read', 'update', 'delete', 'authenticate'],
  childrenOf: (resource) =>
    resource.subtype === 'password' ? ['account'] : ['account', 'managed-group'],
  async describe(app, _caller, methods) {
    const tree = await readScopeTree(app);
    return methods.map((method) =>
      omitEmpty({
        is_primary: tree.byId.get(method.scope_id)?.primary_auth_method_id === method.id,
        attributes: omitEmpty({ ...method.body }),
      }),
    );
  },
};

/** The lengths that are given; one that is set to null goes back to what a new auth method has. */
function readLengths(
  { attributes = {} }: ItemOf<AuthMethodKind>,
  mask: readonly string[],
  errors: FieldErrors,
): Partial<PasswordMethodBody> {
  const lengths: Partial<PasswordMethodBody> = {};
  for (const field of ['min_login_name_length', 'min_password_length'] as const) {
    const path = `attributes.${field}`;
    const length =
      attributes[field] ?? (mask.includes(path) ? PASSWORD_DEFAULTS[field] : undefined);
    if (length === undefined) continue;
    if (length < 1 || length > 1000) errors.add(path, 'This must be from 1 to 1000.');
    lengths[field] = length;
  }
  return lengths;
}
