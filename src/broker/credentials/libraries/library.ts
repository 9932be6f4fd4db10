import { z } from 'zod';
import type { LogInAlias, TokenBounds } from '../../../app/caller.ts';
import { recordedAs } from '../../../core/recorded-shape.ts';
import { wholeNumber } from '../../resource/fields.ts';
import type { ItemOf, Kind } from '../../resource/handler.ts';
import type { Resource } from '../../resource/resource.ts';
import type { StoreKind } from '../stores/store-fields.ts';
import { CREDENTIAL_TYPES } from './mapping.ts';

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
  /** The alias of their log-in: once the entity has lost it, they are permitted nothing. */
  alias?: LogInAlias | undefined;
  /** What the token's makers may do, where that is not the same. */
  bounds?: TokenBounds | undefined;
  /**
   * Once the user is gone, or the account of their log-in is no longer theirs, they are permitted nothing, either. An
   * empty account: they had logged in elsewhere. Absent in what an older server saved.
   */
  user_id?: string;
  account_id?: string;
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

export const libraryAttributes = {
  'vault-generic': z.object({
    path,
    http_method: text('GET or POST; GET.'),
    http_request_body: text('Body of a POST. A template; values are escaped as JSON has it.'),
  }),
  'vault-ssh-certificate': z.object({
    path,
    username: text('Whom the certificate is for. A template.'),
    key_type: text('ed25519, ecdsa or rsa; ed25519.'),
    key_bits: wholeNumber()
      .optional()
      .describe(
        'Size of the key: 256, 384 or 521 of ecdsa, 2048, 3072 or 4096 of rsa; 0 is the first.',
      ),
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

export const libraryFields = {
  credential_type: z.string().optional().describe('What the secret is read as.'),
  credential_mapping_overrides: mappingOverrides,
};

export const libraryShown = {
  credential_type: z.string(),
  credential_mapping_overrides: z.record(z.string(), z.string()),
  attributes: z.union(Object.values(libraryAttributes)),
};

export interface LibraryKind extends Kind {
  fields: typeof libraryFields;
  attributes: typeof libraryAttributes;
  shown: typeof libraryShown;
  body: LibraryBody;
  parent: Resource<StoreKind['body']>;
}

export type LibraryItem = ItemOf<LibraryKind>;
export type LibraryAttributes = NonNullable<LibraryItem['attributes']>;

/** Fields of a type of library. */
export function listAttributes(type: string): string[] {
  const schemas: Readonly<Record<string, z.ZodObject>> = libraryAttributes;
  return Object.keys(schemas[type]?.shape ?? {});
}

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

export function credentialTypeOf(type: string, { credential_type = '' }: LibraryItem): string {
  return FIXED_TYPES[type] ?? (credential_type === 'unspecified' ? '' : credential_type);
}

/** What a field has when nothing is said of it. */
export const DEFAULTS: Readonly<Record<string, LibraryAttributes>> = {
  'vault-generic': { http_method: 'GET' },
  'vault-ssh-certificate': { key_type: 'ed25519' },
};

/** Sizes in bits that a type of SSH key has; the first is what 0 means. */
export const KEY_SIZES: ReadonlyMap<string, readonly number[]> = new Map([
  ['ed25519', []],
  ['ecdsa', [256, 384, 521]],
  ['rsa', [2048, 3072, 4096]],
]);
