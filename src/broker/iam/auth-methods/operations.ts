import { PASSWORD_DEFAULTS, type PasswordMethodBody } from '../../../config/password-method.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { type FieldErrors, refuseField } from '../../resource/field-errors.ts';
import type { ResourceHandler, ResourceInput } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import type { ListRequest } from '../../resource/lists/query.ts';
import { readScopeTree } from '../../resource/scope-tree/operations.ts';
import { endLogIns } from '../auth-tokens/operations.ts';
import { endBeforehand } from '../removal.operations.ts';
import { clearPrimary } from '../scopes/store.ts';
import { AUTH_METHOD_TYPES, authMethodAttributes } from './auth-method.ts';

export const authMethodDefinition: ResourceHandler = {
  type: 'auth-method',
  containerField: 'scope_id',
  fields: {},
  attributes: authMethodAttributes,
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
  checkNew(item, _subtype, errors) {
    const scope_id = String(item.scope_id ?? '');
    if (scope_id !== 'global' && !isIdOf(scope_id, 'scope', 'org')) {
      errors.add('scope_id', "Must be 'global' or a valid org scope id.");
    }
    checkLengths(item, errors);
  },
  planNew: async (_app, _caller, { item }) => ({ body: bodyFrom(PASSWORD_DEFAULTS, item) }),

  updatable: () => ['attributes.min_login_name_length', 'attributes.min_password_length'],
  checkChange: (item, _request, errors) => checkLengths(item, errors),
  async planChange(_app, _caller, { resource, item, mask }) {
    const body = resource.body as PasswordMethodBody;
    // A length set to null goes back to what a new auth method has.
    const cleared: PasswordMethodBody = { ...body };
    for (const field of ['min_login_name_length', 'min_password_length'] as const) {
      if (mask.includes(`attributes.${field}`)) cleared[field] = PASSWORD_DEFAULTS[field];
    }
    return { body: bodyFrom(cleared, item) };
  },
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

function checkLengths({ attributes = {} }: ResourceInput, errors: FieldErrors): void {
  for (const field of ['min_login_name_length', 'min_password_length']) {
    const length = attributes[field];
    if (typeof length === 'number' && (length < 1 || length > 1000)) {
      errors.add(`attributes.${field}`, 'This must be from 1 to 1000.');
    }
  }
}

function bodyFrom(
  base: PasswordMethodBody,
  { attributes = {} }: ResourceInput,
): PasswordMethodBody {
  const lengthOf = (field: keyof PasswordMethodBody): number => {
    const given = attributes[field];
    return typeof given === 'number' ? given : base[field];
  };
  return {
    min_login_name_length: lengthOf('min_login_name_length'),
    min_password_length: lengthOf('min_password_length'),
  };
}

/** @throws Failure `invalid` */
export function checkAuthMethodList({ place }: ListRequest): void {
  if (place === 'global' || isIdOf(place, 'scope', 'org')) return;
  refuseField(
    'scope_id',
    "Must be 'global' or a valid org scope id when listing.",
    'Improperly formatted identifier.',
  );
}
