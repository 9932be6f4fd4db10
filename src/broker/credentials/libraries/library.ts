import { z } from 'zod';
import type { LogInAlias, TokenBounds } from '../../../app/caller.ts';
import { parseDuration } from '../../../core/durations.ts';
import { recordedAs } from '../../../core/recorded-shape.ts';
import type { FieldErrors } from '../../resource/field-errors.ts';
import { wholeNumber } from '../../resource/fields.ts';
import type { Item } from '../../resource/handler.ts';
import { judgeLength, LONGEST_TEXTS } from './limits.ts';
import { CREDENTIAL_TYPES, listOverrideFaults, MAX_OVERRIDES } from './mapping.ts';
import { parseTemplate } from './template.ts';

/** What a library keeps. */
export interface LibraryBody {
  /** Empty for one that says nothing of what it holds. */
  credential_type: string;
  /** Only of `vault-generic`. */
  overrides: Readonly<Record<string, string>>;
  /** As {@link libraryAttributes} has them, with defaults in their places. */
  attributes: LibraryAttributes;
  /** Only of `authority-certificate`: the mount whose policies were asked when it was saved. */
  mount_id: string;
  /** Only of `authority-certificate`: whose policies are asked whenever it makes a certificate. */
  saved_by?: SavedBy;
}

/** Somebody's policies as their token named them: what these say, and their entity's, may change. */
export interface SavedBy {
  policies: readonly string[];
  /** Empty for a token without one. */
  entity_id: string;
  restricted: boolean;
  /** How they had logged in: once the entity is not called so any more, they may nothing. */
  alias?: LogInAlias | undefined;
  /** What the token's makers may do, where that is not the same. */
  bounds?: TokenBounds | undefined;
  /**
   * Once the user is gone, or the account by which they had logged in no longer theirs, they may nothing, either. An
   * empty account: they had logged in elsewhere. Absent in what an older server saved.
   */
  user_id?: string;
  account_id?: string;
}

export interface LibraryAttributes {
  path?: string;
  http_method?: string;
  http_request_body?: string;
  username?: string;
  key_type?: string;
  key_bits?: number;
  ttl?: string;
  key_id?: string;
  critical_options?: Readonly<Record<string, string>>;
  extensions?: Readonly<Record<string, string>>;
  additional_valid_principals?: readonly string[];
  role?: string;
  common_name?: string;
  alt_names?: string;
  ip_sans?: string;
  uri_sans?: string;
  format?: string;
  private_key_format?: string;
}

const text = (about: string) => z.string().optional().describe(about);
const texts = (about: string) => z.record(z.string(), z.string()).optional().describe(about);

const path = text('Path of the Vault server, after `/v1/`. A template.');

const recordedOverrides = z.object(
  Object.fromEntries(
    Object.values(CREDENTIAL_TYPES)
      .flat()
      .map((property) => [`${property}_attribute`, z.string().nullish()]),
  ),
);

export const mappingOverrides = recordedAs(
  z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Properties of the secret by `username_attribute` and the like.'),
  recordedOverrides,
);

export const libraryAttributes: Readonly<Record<string, z.ZodObject>> = {
  'vault-generic': z.object({
    path,
    http_method: text('GET or POST; GET.'),
    http_request_body: text('Body of a POST. A template; values are escaped as JSON has it.'),
  }),
  'vault-ssh-certificate': z.object({
    path,
    username: text('Whom the certificate is for. A template.'),
    key_type: text('ed25519, ecdsa or rsa; ed25519.'),
    key_bits: wholeNumber().optional().describe('Size of the key.'),
    ttl: text('Asked of the Vault server, e.g. `30m`.'),
    key_id: text('Of the certificate. A template.'),
    critical_options: texts('Of the certificate. Values are templates.'),
    extensions: texts('Of the certificate. Values are templates.'),
    additional_valid_principals: z
      .array(z.string())
      .optional()
      .describe('Beside the user name. Templates.'),
  }),
  'vault-ldap': z.object({ path }),
  'authority-certificate': z.object({
    role: text('Role of the certificate authority that the certificate is issued by.'),
    common_name: text('Of the certificate. A template.'),
    alt_names: text('DNS names and e-mail addresses, with commas between them. A template.'),
    ip_sans: text('IP addresses, with commas between them.'),
    uri_sans: text('URIs, with commas between them. A template.'),
    ttl: text('Lifetime, e.g. `10m`; never longer than the session, which is also the default.'),
    format: text('pem, der or pem_bundle; pem.'),
    private_key_format: text('der or pkcs8; der.'),
  }),
};

/** Types of libraries, by the type of the store that holds them; the first is what none means. */
export const LIBRARY_TYPES: Readonly<Record<string, readonly string[]>> = {
  vault: ['vault-generic', 'vault-ssh-certificate', 'vault-ldap'],
  authority: ['authority-certificate'],
};

/** Credential types that follow from the type of library. */
const FIXED_TYPES: Readonly<Record<string, string>> = {
  'vault-ssh-certificate': 'ssh_certificate',
  'vault-ldap': 'username_password_domain',
  'authority-certificate': 'certificate',
};

function credentialTypeOf(type: string, item: Item): string {
  const given = item.credential_type;
  return FIXED_TYPES[type] ?? (typeof given === 'string' && given !== 'unspecified' ? given : '');
}

const REQUIRED: Readonly<Record<string, readonly (keyof LibraryAttributes)[]>> = {
  'vault-generic': ['path'],
  'vault-ssh-certificate': ['path', 'username'],
  'vault-ldap': ['path'],
  'authority-certificate': ['role', 'common_name'],
};

const TEMPLATES: readonly (keyof LibraryAttributes)[] = [
  'path',
  'http_request_body',
  'username',
  'key_id',
  'critical_options',
  'extensions',
  'additional_valid_principals',
  'common_name',
  'alt_names',
  'uri_sans',
];

/** What a field has when nothing is said of it. */
const DEFAULTS: Readonly<Record<string, LibraryAttributes>> = {
  'vault-generic': { http_method: 'GET' },
  'vault-ssh-certificate': { key_type: 'ed25519' },
};

/** What is wrong with a new library. */
export function checkNewLibrary(item: Item, type: string, errors: FieldErrors): void {
  if (type === '') return;
  if (type === 'vault-generic') {
    const wanted = credentialTypeOf(type, item);
    if (wanted !== '' && !Object.hasOwn(CREDENTIAL_TYPES, wanted)) {
      errors.add('credential_type', `Unknown credential type "${wanted}"`);
    } else checkOverrides(item, wanted, errors);
  } else {
    if (item.credential_type) {
      errors.add('credential_type', 'This field is read only and cannot be set.');
    }
    if (item.credential_mapping_overrides !== undefined) {
      errors.add('credential_mapping_overrides', 'This type of library takes no overrides.');
    }
  }
  const { attributes } = item;
  if (attributes === undefined) errors.add('attributes', 'This is a required field.');
  for (const field of REQUIRED[type] ?? []) {
    if (!attributes?.[field]) errors.add(`attributes.${field}`, 'This is a required field.');
  }
  checkAttributes(type, { ...DEFAULTS[type], ...attributes }, errors);
}

function checkOverrides(item: Item, type: string, errors: FieldErrors): void {
  const overrides = (item.credential_mapping_overrides ?? {}) as Readonly<Record<string, unknown>>;
  for (const [field, because] of listOverrideFaults(type, overrides)) errors.add(field, because);
}

/** What is wrong with a change, as far as the request alone tells. */
export function checkLibraryChange(
  { attributes = {}, credential_mapping_overrides }: Item,
  { subtype, mask }: { subtype: string; mask: readonly string[] },
  errors: FieldErrors,
): void {
  for (const field of REQUIRED[subtype] ?? []) {
    if (!mask.includes(`attributes.${field}`) || attributes[field]) continue;
    errors.add(`attributes.${field}`, 'This is a required field and cannot be set to empty.');
  }
  if (Object.keys(credential_mapping_overrides ?? {}).length > MAX_OVERRIDES) {
    errors.add('credential_mapping_overrides', `At most ${MAX_OVERRIDES} can be given.`);
  }
}

/** What is wrong with a library as it would be after a change. */
export function checkChanged(
  item: Item,
  { subtype, before, after }: { subtype: string; before: LibraryBody; after: LibraryBody },
  errors: FieldErrors,
): void {
  const { credential_type } = item;
  if (credential_type && credential_type !== before.credential_type) {
    errors.add('credential_type', 'Cannot modify credential type.');
  }
  if (subtype === 'vault-generic') checkOverrides(item, before.credential_type, errors);
  checkAttributes(subtype, after.attributes, errors);
}

function checkAttributes(type: string, attributes: LibraryAttributes, errors: FieldErrors): void {
  let fits = true;
  for (const [field, value] of Object.entries(attributes)) {
    const because = judgeLength(field, value);
    if (because === undefined) continue;
    errors.add(`attributes.${field}`, because);
    fits = false;
  }
  // What is too long is not looked at further.
  if (!fits) return;
  checkTemplates(attributes, errors);
  if (type === 'vault-generic') checkRequest(attributes, errors);
  if (type === 'vault-ssh-certificate') checkSshCertificate(attributes, errors);
  if (type === 'authority-certificate') checkCertificate(attributes, errors);
  if (
    type === 'vault-ldap' &&
    attributes.path &&
    !/\/(creds|static-cred)\//.test(attributes.path)
  ) {
    errors.add('attributes.path', 'This must lead to creds or static-cred of an LDAP engine.');
  }
}

function checkTemplates(attributes: LibraryAttributes, errors: FieldErrors): void {
  for (const field of TEMPLATES) {
    for (const template of textsOf(attributes[field])) {
      const parsed = parseTemplate(template, LONGEST_TEXTS[field]);
      if (!parsed.valid) errors.add(`attributes.${field}`, `Invalid template: ${parsed.because}.`);
    }
  }
}

function textsOf(value: LibraryAttributes[keyof LibraryAttributes]): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value === undefined || typeof value === 'number') return [];
  return Array.isArray(value) ? value : Object.values(value);
}

function checkRequest({ http_method, http_request_body }: LibraryAttributes, errors: FieldErrors) {
  const method = http_method?.toUpperCase() ?? 'GET';
  if (method !== 'GET' && method !== 'POST') {
    errors.add('attributes.http_method', "If set, value must be 'GET' or 'POST'.");
  }
  if (http_request_body && method !== 'POST') {
    errors.add(
      'attributes.http_request_body',
      'Field can only be set if "attributes.http_method" is set to the value \'POST\'.',
    );
  }
}

const KEY_SIZES: Readonly<Record<string, readonly number[]>> = {
  ed25519: [],
  ecdsa: [256, 384, 521],
  rsa: [2048, 3072, 4096],
};

function checkSshCertificate(attributes: LibraryAttributes, errors: FieldErrors): void {
  const { key_type = 'ed25519', key_bits = 0, path } = attributes;
  const sizes = KEY_SIZES[key_type];
  if (!sizes) {
    errors.add('attributes.key_type', "If set, value must be 'ed25519', 'ecdsa', or 'rsa'.");
  } else if (key_bits === 0 && sizes.length > 0) {
    errors.add('attributes.key_type', 'If set, "attributes.key_bits" must also be set.');
  } else if (key_bits !== 0 && !sizes.includes(key_bits)) {
    const known = Object.values(KEY_SIZES).flat().includes(key_bits);
    const because = `Invalid bit size ${key_bits}${known ? ` for key type ${key_type}` : ''}`;
    errors.add('attributes.key_bits', because);
  }
  if (path && !/\/(sign|issue)\/[^/\\\s]/.test(path)) {
    errors.add('attributes.path', 'This must lead to sign or issue of an SSH engine.');
  }
}

function checkCertificate(attributes: LibraryAttributes, errors: FieldErrors): void {
  const { format = 'pem', private_key_format = 'der', role = '', ttl = '' } = attributes;
  if (!['pem', 'der', 'pem_bundle'].includes(format)) {
    errors.add('attributes.format', 'This must be pem, der or pem_bundle.');
  }
  if (!['der', 'pkcs8'].includes(private_key_format)) {
    errors.add('attributes.private_key_format', 'This must be der or pkcs8.');
  }
  if (!/^[\w.-]*$/.test(role)) errors.add('attributes.role', 'This must be the name of a role.');
  if ((parseDuration(ttl) ?? -1) < 0) {
    errors.add('attributes.ttl', 'This must be a duration, e.g. 600 or 10m.');
  }
}

/** Paths of `update_mask` that a library of some type can change. */
export function libraryPaths(type: string): string[] {
  const attributes = Object.keys(libraryAttributes[type]?.shape ?? {});
  const overrides = 'credential_mapping_overrides';
  const names = Object.values(CREDENTIAL_TYPES).flat();
  return [
    ...attributes.map((name) => `attributes.${name}`),
    ...(type === 'vault-generic'
      ? [overrides, ...names.map((name) => `${overrides}.${name}_attribute`)]
      : []),
  ];
}

/**
 * A library after a request; what it does not speak of stays.
 *
 * @param before undefined for a new one
 */
export function planLibrary(
  type: string,
  before: LibraryBody | undefined,
  item: Item,
  mask: readonly string[],
): LibraryBody {
  const attributes: Record<string, unknown> = { ...before?.attributes };
  const speaksOf = (path: string): boolean => before === undefined || mask.includes(path);
  for (const name of Object.keys(libraryAttributes[type]?.shape ?? {})) {
    if (!speaksOf(`attributes.${name}`)) continue;
    const value = item.attributes?.[name];
    if (value === undefined || value === '') delete attributes[name];
    else attributes[name] = value;
  }
  if (typeof attributes.http_method === 'string') {
    attributes.http_method = attributes.http_method.toUpperCase();
  }
  return {
    credential_type: before?.credential_type ?? credentialTypeOf(type, item),
    overrides: planOverrides(before?.overrides ?? {}, item, speaksOf),
    attributes: { ...DEFAULTS[type], ...attributes },
    mount_id: before?.mount_id ?? '',
    ...(before?.saved_by ? { saved_by: before.saved_by } : {}),
  };
}

function planOverrides(
  before: Readonly<Record<string, string>>,
  item: Item,
  speaksOf: (path: string) => boolean,
): Readonly<Record<string, string>> {
  const field = 'credential_mapping_overrides';
  const given = (item[field] ?? {}) as Readonly<Record<string, unknown>>;
  const next: Record<string, string> = speaksOf(field) ? {} : { ...before };
  for (const [name, value] of Object.entries(given)) {
    if (!speaksOf(field) && !speaksOf(`${field}.${name}`)) continue;
    if (typeof value === 'string' && value !== '') next[name] = value;
    else delete next[name];
  }
  return next;
}
