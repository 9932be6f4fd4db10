import { attemptLogIn } from '../../../access/auth/lockout/operations.ts';
import { hashWithinLimit } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import { faultOfLoginName, type PasswordMethodBody } from '../../../config/password-method.ts';
import { Failure } from '../../../core/failure.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { hashPassword, SALT_LENGTH, verifyPassword } from '../../../core/password-hash.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { type FieldErrors, IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import type { ResourceHandler, ResourceInput, VerbRequest } from '../../resource/handler.ts';
import { parseId } from '../../resource/ids.ts';
import { commitChange, requireVersion } from '../../resource/operations.ts';
import type { Resource } from '../../resource/resource.ts';
import { findResource } from '../../resource/store.ts';
import { endLogIns } from '../auth-tokens/operations.ts';
import { endBeforehand } from '../removal.operations.ts';
import { type AccountBody, accountAttributes, HASH_COST, loginKey } from './account.ts';

export const accountDefinition: ResourceHandler = {
  type: 'account',
  containerField: 'auth_method_id',
  fields: {},
  secrets: ['password'],
  attributes: accountAttributes,
  cached: true,
  showsType: true,
  words: { stale: 'Account "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, parent, errors) {
    const wanted = item.type ?? '';
    if (parent !== undefined && wanted !== '' && wanted !== parent) {
      errors.add('type', "Doesn't match the parent resource's type.");
    }
    return parent ?? '';
  },
  checkNew({ attributes = {} }, subtype, errors) {
    if (subtype !== 'password') return;
    if (!attributes.login_name) {
      errors.add('attributes.login_name', 'This is a required field for this type.');
    }
  },
  async planNew(app, caller, { item, container }) {
    const method = container.parent;
    if (!method) throw new TypeError('an account lies in an auth method');
    const { attributes = {} } = item;
    const rules = method.body as PasswordMethodBody;
    const login_name = requireLoginName(String(attributes.login_name ?? ''), rules);
    const { password } = attributes;
    const body: AccountBody = {
      login_name,
      password_hash:
        typeof password === 'string'
          ? await hashNew(app, caller, password, rules, 'attributes.password', IN_REQUEST)
          : '',
    };
    return { body, unique_key: loginKey(method.id, login_name) };
  },

  updatable: () => ['attributes.login_name'],
  checkChange({ attributes = {} }, { mask }, errors) {
    if (mask.includes('attributes.login_name') && !attributes.login_name) {
      errors.add('attributes.login_name', 'This is a required field for this type.');
    }
    if (attributes.password !== undefined) {
      errors.add('attributes.password', 'This can only be changed by set-password.');
    }
  },
  async planChange(_app, _caller, { resource, item, mask, container }) {
    if (!mask.includes('attributes.login_name')) return {};
    const rules = container.parent?.body as PasswordMethodBody;
    const login_name = requireLoginName(String(item.attributes?.login_name ?? ''), rules);
    const body: AccountBody = { ...(resource.body as AccountBody), login_name };
    return { body, unique_key: loginKey(resource.container_id, login_name) };
  },
  endBeforehand,
  planRemoval: (app, _caller, resource) => endLogIns(app, { account_ids: [resource.id] }),

  actionsOf: (resource) =>
    resource.subtype === 'password'
      ? ['no-op', 'read', 'update', 'delete', 'set-password', 'change-password']
      : ['no-op', 'read', 'update', 'delete'],
  async describe(_app, _caller, accounts) {
    return accounts.map(({ body }) => ({
      attributes: omitEmpty({ login_name: (body as AccountBody).login_name }),
    }));
  },
};

function requireLoginName(login_name: string, rules: PasswordMethodBody): string {
  const fault = faultOfLoginName(login_name, rules.min_login_name_length);
  if (fault !== undefined) refuseField('attributes.login_name', fault, IN_REQUEST);
  return login_name;
}

const MAX_PASSWORD_LENGTH = 4_096;

/** @throws Failure `invalid` for a password that is too short, or too long to be one */
async function hashNew(
  app: App,
  caller: BrokerCaller,
  password: string,
  rules: PasswordMethodBody,
  field: string,
  message?: string,
): Promise<string> {
  if (password.length > MAX_PASSWORD_LENGTH) {
    refuseField(field, `Password is longer than ${MAX_PASSWORD_LENGTH} characters.`, message);
  }
  if ([...password].length < rules.min_password_length) {
    refuseField(
      field,
      `Password is shorter than ${rules.min_password_length} characters.`,
      message,
    );
  }
  const salt = app.randomBytes(SALT_LENGTH);
  return hashWithinLimit(app, caller, () => hashPassword(password, salt, HASH_COST));
}

export function checkPasswords(...fields: readonly string[]) {
  return (item: ResourceInput, errors: FieldErrors, id: string): void => {
    if (parseId(id)?.subtype !== 'password') errors.add('id', 'Account has no password.');
    for (const field of fields) {
      if (!item[field]) errors.add(field, 'This is a required field.');
    }
  };
}

async function rulesOf(app: App, account: Resource): Promise<PasswordMethodBody> {
  const method = await findResource(app.db, account.container_id);
  if (!method) throw new Failure('not_found', 'Resource not found.');
  return method.body as PasswordMethodBody;
}

/** Gives an account a password, whatever it was before. */
export async function setPassword(
  app: App,
  caller: BrokerCaller,
  { resource, item }: VerbRequest,
): Promise<Resource> {
  const expected = item.version ?? 0;
  requireVersion(accountDefinition, resource, expected);
  const rules = await rulesOf(app, resource);
  const password_hash = await hashNew(app, caller, String(item.password), rules, 'password');
  const body: AccountBody = { ...(resource.body as AccountBody), password_hash };
  return commitChange(app, caller, accountDefinition, resource, expected, { body });
}

/** Changes a password for whoever knows the present one. */
export async function changePassword(
  app: App,
  caller: BrokerCaller,
  { resource, item }: VerbRequest,
): Promise<Resource> {
  const expected = item.version ?? 0;
  requireVersion(accountDefinition, resource, expected);
  const rules = await rulesOf(app, resource);
  const body = resource.body as AccountBody;
  if (item.current_password === item.new_password) {
    refuseField('new_password', 'New password equal to current password.');
  }
  const name = { method_id: resource.container_id, name: body.login_name };
  const checked = await attemptLogIn(
    app,
    caller,
    name,
    async () =>
      (await verifyPassword(String(item.current_password), body.password_hash)) || undefined,
  );
  if (!checked) throw new Failure('forbidden', 'Failed to change password.');
  const password_hash = await hashNew(
    app,
    caller,
    String(item.new_password),
    rules,
    'new_password',
  );
  const changed: AccountBody = { ...body, password_hash };
  return commitChange(app, caller, accountDefinition, resource, expected, { body: changed });
}
