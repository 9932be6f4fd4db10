import { parseDuration } from '../../../core/durations.ts';
import type { FieldErrors } from '../../resource/field-errors.ts';
import {
  credentialTypeOf,
  DEFAULTS,
  KEY_SIZES,
  type LibraryAttributes,
  type LibraryBody,
  type LibraryItem,
} from './library.ts';
import { judgeLength, LONGEST_TEXTS } from './limits.ts';
import { CREDENTIAL_TYPES, listOverrideFaults, MAX_OVERRIDES } from './mapping.ts';
import { parseTemplate } from './template.ts';

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

/** What is wrong with a new library. */
export function checkNewLibrary(item: LibraryItem, type: string, errors: FieldErrors): void {
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

function checkOverrides(
  { credential_mapping_overrides: overrides = {} }: LibraryItem,
  type: string,
  errors: FieldErrors,
): void {
  for (const [field, because] of listOverrideFaults(type, overrides)) errors.add(field, because);
}

/** What is wrong with a change, as far as the request alone tells. */
export function checkLibraryChange(
  { attributes = {}, credential_mapping_overrides }: LibraryItem,
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
  item: LibraryItem,
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

function checkSshCertificate(attributes: LibraryAttributes, errors: FieldErrors): void {
  const { key_type = 'ed25519', key_bits, path } = attributes;
  const sizes = KEY_SIZES.get(key_type);
  if (!sizes) {
    errors.add('attributes.key_type', "If set, value must be 'ed25519', 'ecdsa', or 'rsa'.");
  } else if (key_bits === undefined && sizes.length > 0) {
    errors.add('attributes.key_type', 'If set, "attributes.key_bits" must also be set.');
  } else if (key_bits && !sizes.includes(key_bits)) {
    const known = [...KEY_SIZES.values()].flat().includes(key_bits);
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
