import { attemptLogIn } from '../../../access/auth/lockout/operations.ts';
import { hashWithinLimit } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import { faultOfLoginName, type PasswordMethodBody } from '../../../config/password-method.ts';
import { Failure } from '../../../core/failure.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { hashPassword, SALT_LENGTH, verifyPassword } from '../../../core/password-hash.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { type FieldErrors, IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import type { Kind, ResourceHandler, VerbRequest } from '../../resource/handler.ts';
import { parseId } from '../../resource/ids.ts';
import { commitChange, requireResource } from '../../resource/operations.ts';
import type { Resource } from '../../resource/resource.ts';
import { endLogIns } from '../auth-tokens/operations.ts';
import { endBeforehand } from '../removal.operations.ts';
import { type AccountBody, accountAttributes, HASH_COST, loginKey } from './account.ts';

const shown = { attributes: accountAttributes.password.pick({ login_name: true }) };

/** What accounts lie in. */
interface MethodKind extends Kind {
  body: PasswordMethodBody;
}

interface AccountKind extends Kind {
  attributes: typeof accountAttributes;
  shown: typeof shown;
  body: AccountBody;
  parent: Resource<PasswordMethodBody>;
  wanted: { login_name: string; password: string | undefined };
  /** The log-in name; absent where it stays. */
  change: string | undefined;
}

export const accountDefinition: ResourceHandler<AccountKind> = {
  type: 'account',
  containerField: 'auth_method_id',
  fields: {},
  secrets: ['password'],
  attributes: accountAttributes,
  shown,
  cached: true,
  showsType: true,
  words: { stale: 'Account "%" doesn\'t exist or incorrect version provided.' },

  checkNew({ attributes = {} }, subtype, errors) {
    const { login_name = '', password } = attributes;
    if (subtype === 'password' && login_name === '') {
      errors.add('attributes.login_name', 'This is a required field for this type.');
    }
    return { login_name, password };
  },
  async planNew(app, caller, { wanted: { login_name, password }, container: { parent } }) {
    const { id, body: rules } = parent;
    requireLoginName(login_name, rules);
    const password_hash =
      password === undefined
        ? ''
        : await hashNew(app, caller, password, rules, 'attributes.password', IN_REQUEST);
    return { body: { login_name, password_hash }, unique_key: loginKey(id, login_name) };
  },

  updatable: () => ['attributes.login_name'],
  checkChange({ attributes = {} }, { mask }, errors) {
    const { login_name = '' } = attributes;
    const isNamed = mask.includes('attributes.login_name');
    if (isNamed && login_name === '') {
      errors.add('attributes.login_name', 'This is a required field for this type.');
    }
    if (attributes.password !== undefined) {
      errors.add('attributes.password', 'This can only be changed by set-password.');
    }
    return isNamed ? login_name : undefined;
  },
  async planChange(_app, _caller, { resource, change: login_name, container: { parent } }) {
    if (login_name === undefined) return {};
    requireLoginName(login_name, parent.body);
    const body = { ...resource.body, login_name };
    return { body, unique_key: loginKey(resource.container_id, login_name) };
  },
  endBeforehand,
  planRemoval: (app, _caller, resource) => endLogIns(app, { account_ids: [resource.id] }),

  actionsOf: (resource) =>
    resource.subtype === 'password'
      ? ['no-op', 'read', 'update', 'delete', 'set-password', 'change-password']
      : ['no-op', 'read', 'update', 'delete'],
  async describe(_app, _caller, accounts) {
    return accounts.map(({ body: { login_name } }) => ({ attributes: omitEmpty({ login_name }) }));
  },
};

function requireLoginName(login_name: string, rules: PasswordMethodBody): void {
  const fault = faultOfLoginName(login_name, rules.min_login_name_length);
  if (fault !== undefined) refuseField('attributes.login_name', fault, IN_REQUEST);
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

/** What is wrong with passwords that are asked for: all of them must be there. */
function checkPasswords(
  passwords: Readonly<Record<string, string>>,
  errors: FieldErrors,
  id: string,
): void {
  if (parseId(id)?.subtype !== 'password') errors.add('id', 'Account has no password.');
  for (const [field, password] of Object.entries(passwords)) {
    if (password === '') errors.add(field, 'This is a required field.');
  }
}

type Asked<Field extends string> = { readonly [Name in Field]?: string | undefined };

export function checkNewPassword(
  { password = '' }: Asked<'password'>,
  errors: FieldErrors,
  id: string,
): string {
  checkPasswords({ password }, errors, id);
  return password;
}

interface PasswordChange {
  current_password: string;
  new_password: string;
}

export function checkPasswordChange(
  { current_password = '', new_password = '' }: Asked<keyof PasswordChange>,
  errors: FieldErrors,
  id: string,
): PasswordChange {
  const change = { current_password, new_password };
  checkPasswords(change, errors, id);
  return change;
}

async function rulesOf(app: App, { container_id }: Resource): Promise<PasswordMethodBody> {
  return (await requireResource<MethodKind>(app, { type: 'auth-method' }, container_id)).body;
}

/** Gives an account a password, whatever it was before. */
export async function setPassword(
  app: App,
  caller: BrokerCaller,
  { resource, checked: password }: VerbRequest<AccountKind, string>,
): Promise<Resource<AccountBody>> {
  const rules = await rulesOf(app, resource);
  const password_hash = await hashNew(app, caller, password, rules, 'password');
  const body = { ...resource.body, password_hash };
  return commitChange(app, caller, accountDefinition, resource, { body });
}

/** Changes a password for whoever knows the present one. */
export async function changePassword(
  app: App,
  caller: BrokerCaller,
  { resource, checked }: VerbRequest<AccountKind, PasswordChange>,
): Promise<Resource<AccountBody>> {
  const rules = await rulesOf(app, resource);
  const { current_password, new_password } = checked;
  if (current_password === new_password) {
    refuseField('new_password', 'New password equal to current password.');
  }
  const name = { method_id: resource.container_id, name: resource.body.login_name };
  const isKnown = await attemptLogIn(
    app,
    caller,
    name,
    async () => (await verifyPassword(current_password, resource.body.password_hash)) || undefined,
  );
  if (!isKnown) throw new Failure('forbidden', 'Failed to change password.');
  const password_hash = await hashNew(app, caller, new_password, rules, 'new_password');
  const body = { ...resource.body, password_hash };
  return commitChange(app, caller, accountDefinition, resource, { body });
}
