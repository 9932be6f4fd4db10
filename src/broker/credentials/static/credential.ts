import { z } from 'zod';
import { checkLengths, type FieldErrors } from '../../resource/field-errors.ts';
import type { ItemOf, Kind } from '../../resource/handler.ts';
import type { Fields } from '../../resource/route.ts';

/** What a stored credential shows; its secret is sealed beside it. */
export interface CredentialBody {
  username: string;
  domain: string;
  /** By field, e.g. `password_hmac`: unpadded base64url of 32 bytes. */
  hmacs: Readonly<Partial<Record<`${SecretField}_hmac`, string>>>;
}

/** The sealed part: texts by field, or the object of a `json` credential. */
export interface CredentialSecret {
  readonly password?: string;
  readonly private_key?: string;
  readonly private_key_passphrase?: string;
  readonly object?: Fields;
}

type SecretField = keyof CredentialSecret;

/** Fields of a type of credential. */
interface SecretsOfType {
  /** Shown, and required. */
  open: readonly ('username' | 'domain')[];
  /** Sealed, and required but for the passphrase. */
  secret: readonly SecretField[];
  optional: readonly SecretField[];
  /** Between "creating" and "credential." in a refusal. */
  words: string;
}

export const CREDENTIAL_KINDS: Readonly<Record<string, SecretsOfType>> = {
  username_password: {
    open: ['username'],
    secret: ['password'],
    optional: [],
    words: 'a username-password',
  },
  username_password_domain: {
    open: ['username', 'domain'],
    secret: ['password'],
    optional: [],
    words: 'a username-password-domain',
  },
  password: { open: [], secret: ['password'], optional: [], words: 'a password' },
  ssh_private_key: {
    open: ['username'],
    secret: ['private_key', 'private_key_passphrase'],
    optional: ['private_key_passphrase'],
    words: 'an SSH private key',
  },
  json: { open: [], secret: ['object'], optional: [], words: 'a json' },
};

/** No record and no answer has these. */
export const CREDENTIAL_SECRETS: readonly string[] = [
  ...new Set(Object.values(CREDENTIAL_KINDS).flatMap(({ secret }) => secret)),
];

const shown = (about: string) => z.string().optional().describe(about);
const hidden = (about: string) => z.string().optional().describe(`${about} Never shown.`);

const username = shown('Who the credential is of.');
const password = hidden('The password.');

export const credentialAttributes = {
  username_password: z.object({ username, password }),
  username_password_domain: z.object({
    username,
    password,
    domain: shown('The domain that the user is of.'),
  }),
  password: z.object({ password }),
  ssh_private_key: z.object({
    username,
    private_key: hidden('PEM, of OpenSSH or the older forms.'),
    private_key_passphrase: hidden('Opens an encrypted key.'),
  }),
  json: z.object({
    object: z.record(z.string(), z.unknown()).optional().describe('Any object. Never shown.'),
  }),
};

const hmac = z.string().optional().describe('Tells one secret of a store from another.');

export const credentialShown = {
  attributes: z.object({
    username: z.string().optional(),
    domain: z.string().optional(),
    password_hmac: hmac,
    private_key_hmac: hmac,
    private_key_passphrase_hmac: hmac,
    object_hmac: hmac,
  }),
};

export interface CredentialKind extends Kind {
  attributes: typeof credentialAttributes;
  shown: typeof credentialShown;
  body: CredentialBody;
}

export type CredentialItem = ItemOf<CredentialKind>;
type CredentialAttributes = NonNullable<CredentialItem['attributes']>;

/** Names are shown in lists; secrets go out with every session. A private key has a limit of its own. */
const LONGEST: Readonly<Record<string, number>> = {
  username: 512,
  domain: 512,
  password: 8_192,
  private_key_passphrase: 1_024,
};

/** Characters of a `json` credential as text: it goes out with every session, and into no log. */
const LONGEST_OBJECT = 65_536;

function checkObject({ object = {} }: CredentialAttributes, errors: FieldErrors): void {
  if (JSON.stringify(object).length <= LONGEST_OBJECT) return;
  errors.add('attributes.object', `Must have at most ${LONGEST_OBJECT} characters as JSON.`);
}

const EMPTY = 'This is a required field and cannot be set to empty.';

/** What is missing of a new credential. */
export function checkNewCredential(
  { attributes = {} }: CredentialItem,
  type: string,
  errors: FieldErrors,
) {
  const kind = CREDENTIAL_KINDS[type];
  if (!kind) return;
  checkLengths(attributes, LONGEST, errors, 'attributes.');
  checkObject(attributes, errors);
  for (const field of [...kind.open, ...kind.secret]) {
    if (isOptional(kind, field) || !isMissing(attributes[field])) continue;
    errors.add(`attributes.${field}`, `Field required for creating ${kind.words} credential.`);
  }
}

/** What a change would leave empty that must not be. */
export function checkCredentialChange(
  { attributes = {} }: CredentialItem,
  { subtype, mask }: { subtype: string; mask: readonly string[] },
  errors: FieldErrors,
): void {
  const kind = CREDENTIAL_KINDS[subtype];
  if (!kind) return;
  checkLengths(attributes, LONGEST, errors, 'attributes.');
  checkObject(attributes, errors);
  for (const field of [...kind.open, ...kind.secret]) {
    if (!mask.includes(`attributes.${field}`) || isOptional(kind, field)) continue;
    if (isMissing(attributes[field])) errors.add(`attributes.${field}`, EMPTY);
  }
}

const isOptional = ({ optional }: SecretsOfType, field: string): boolean =>
  optional.some((one) => one === field);

function isMissing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === '';
}

/** Paths of `update_mask` that a credential of some type can change. */
export function credentialPaths(type: string): string[] {
  const kind = CREDENTIAL_KINDS[type];
  return kind ? [...kind.open, ...kind.secret].map((field) => `attributes.${field}`) : [];
}

/**
 * The open and the secret fields after a request; what it does not speak of stays.
 *
 * @param mask what the request speaks of; a new credential: everything
 */
export function planCredential(
  type: string,
  before: { open: Pick<CredentialBody, 'username' | 'domain'>; secret: CredentialSecret },
  { attributes = {} }: CredentialItem,
  mask: readonly string[] | 'all',
): { open: Pick<CredentialBody, 'username' | 'domain'>; secret: CredentialSecret } {
  const kind = CREDENTIAL_KINDS[type];
  const open = { ...before.open };
  const secret: { -readonly [Field in SecretField]?: CredentialSecret[Field] } = {
    ...before.secret,
  };
  const speaksOf = (field: string): boolean =>
    mask === 'all' || mask.includes(`attributes.${field}`);
  for (const field of kind?.open ?? []) {
    if (speaksOf(field)) open[field] = attributes[field] ?? '';
  }
  for (const field of kind?.secret ?? []) {
    if (!speaksOf(field)) continue;
    const value = attributes[field];
    if (value === undefined || value === '') delete secret[field];
    else Object.assign(secret, { [field]: value });
  }
  return { open, secret };
}

/** A stored credential as a session gets it. */
export function presentCredential(
  type: string,
  body: Pick<CredentialBody, 'username' | 'domain'>,
  secret: CredentialSecret,
): Fields {
  if (type === 'json') return secret.object ?? {};
  const shown = (CREDENTIAL_KINDS[type]?.open ?? []).map((field) => [field, body[field]] as const);
  return { ...secret, ...Object.fromEntries(shown) };
}

/** A value's text for its keyed hash: objects with their names in order. */
export function canonicalText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
