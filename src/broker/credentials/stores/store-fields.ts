import { isIP } from 'node:net';
import { z } from 'zod';
import { parseUrl } from '../../../core/domain-names.ts';
import { outputOnly } from '../../../core/output-only.ts';
import { checkLengths, type FieldErrors } from '../../resource/field-errors.ts';
import { parseExpression } from '../../resource/filter/expression.ts';
import type { ItemOf, Kind } from '../../resource/handler.ts';

/** What a store of type `vault` keeps; its token lies in rows of its own. */
export interface VaultStoreBody {
  address: string;
  namespace: string;
  ca_cert: string;
  tls_server_name: string;
  tls_skip_verify: boolean;
  client_certificate: string;
  /** Which workers it is asked through; empty: this server asks itself. */
  worker_filter: string;
  client_certificate_key_hmac: string;
  token_hmac: string;
}

/** What a store of type `authority` keeps. */
export interface AuthorityStoreBody {
  /** Path of a mount of this server's own certificate authority, e.g. `pki`. */
  mount: string;
}

const text = (about: string) => z.string().optional().describe(about);

export const storeAttributes = {
  static: z.object({}),
  vault: z.object({
    address: text('URL of the Vault server.'),
    namespace: text('Namespace of the Vault server.'),
    ca_cert: text('PEM certificates that the server is verified by; else those of the system.'),
    tls_server_name: text('Name in the server certificate, where it is not that of the address.'),
    tls_skip_verify: z.boolean().optional().describe('Trusts any certificate. Not for production.'),
    token: text('Orphan, periodic and renewable. Never shown.'),
    client_certificate: text('PEM certificate that this server shows.'),
    client_certificate_key: text('PEM private key of the client certificate. Never shown.'),
    worker_filter: text('Which workers the Vault server is asked through.'),
    token_hmac: outputOnly(z.string()),
    token_status: outputOnly(z.string()),
    client_certificate_key_hmac: outputOnly(z.string()),
  }),
  authority: z.object({
    mount: text('Path of a mount of the certificate authority, e.g. `pki`.'),
  }),
};

export const storeShown = {
  attributes: z.object({
    address: z.string().optional(),
    namespace: z.string().optional(),
    ca_cert: z.string().optional(),
    tls_server_name: z.string().optional(),
    tls_skip_verify: z.boolean().optional(),
    client_certificate: z.string().optional(),
    worker_filter: z.string().optional(),
    client_certificate_key_hmac: z.string().optional().describe('Tells one key from another.'),
    token_hmac: z.string().optional().describe('Tells one token from another.'),
    token_status: z.string().optional(),
    mount: z.string().optional(),
  }),
};

export interface StoreKind extends Kind {
  attributes: typeof storeAttributes;
  shown: typeof storeShown;
  /** Of its type's fields; of `static` none. */
  body: Readonly<Partial<VaultStoreBody & AuthorityStoreBody>>;
}

export type StoreItem = ItemOf<StoreKind>;
type StoreAttributes = NonNullable<StoreItem['attributes']>;

const OUTPUT_ONLY = ['token_hmac', 'token_status', 'client_certificate_key_hmac'] as const;
const TEXTS = [
  'address',
  'namespace',
  'ca_cert',
  'tls_server_name',
  'client_certificate',
  'worker_filter',
] as const;

/** Every connection to the server is made with them. */
const LONGEST: Readonly<Record<string, number>> = {
  address: 2_048,
  namespace: 512,
  ca_cert: 262_144,
  tls_server_name: 253,
  token: 8_192,
  client_certificate: 65_536,
  client_certificate_key: 65_536,
  mount: 512,
};

/** What is wrong with a new store, as far as its fields tell. */
export function checkNewStore(item: StoreItem, type: string, errors: FieldErrors): void {
  const { attributes } = item;
  if (type === 'authority' && !attributes?.mount) {
    errors.add('attributes.mount', 'Field required for creating an authority credential store.');
  }
  checkLengths(attributes ?? {}, LONGEST, errors, 'attributes.');
  if (type !== 'vault') return;
  if (attributes === undefined) {
    errors.add('attributes', 'Attributes are required for creating a vault credential store');
    return;
  }
  for (const field of ['address', 'token'] as const) {
    if (attributes[field]) continue;
    errors.add(`attributes.${field}`, 'Field required for creating a vault credential store.');
  }
  checkVaultFields(attributes, errors);
}

/** What is wrong with a change of a store. */
export function checkStoreChange(
  { attributes = {} }: StoreItem,
  { subtype, mask }: { subtype: string; mask: readonly string[] },
  errors: FieldErrors,
): void {
  if (subtype === 'authority' && mask.includes('attributes.mount')) {
    errors.add('attributes.mount', 'Cannot be changed: make another store.');
  }
  if (subtype !== 'vault') return;
  for (const field of ['address', 'token'] as const) {
    if (!mask.includes(`attributes.${field}`) || attributes[field]) continue;
    errors.add(`attributes.${field}`, 'This is a required field and cannot be set to empty.');
  }
  checkVaultFields(attributes, errors);
}

function checkVaultFields(attributes: StoreAttributes, errors: FieldErrors): void {
  if (!checkLengths(attributes, LONGEST, errors, 'attributes.')) return;
  const { address = '' } = attributes;
  if (address !== '' && !isServerAddress(address)) {
    errors.add('attributes.address', 'This must be an http or https URL of a server.');
  }
  const { tls_server_name = '' } = attributes;
  if (tls_server_name !== '' && !isHostName(tls_server_name)) {
    errors.add('attributes.tls_server_name', 'This must be the name of a host, and no address.');
  }
  const { worker_filter = '' } = attributes;
  if (worker_filter !== '' && !parseExpression(worker_filter).valid) {
    errors.add('attributes.worker_filter', 'Unable to successfully parse filter expression.');
  }
  for (const field of OUTPUT_ONLY) {
    if (attributes[field] !== undefined) {
      errors.add(`attributes.${field}`, 'This is a read only field.');
    }
  }
  for (const field of ['namespace', 'token'] as const) {
    const { [field]: value = '' } = attributes;
    // They become headers of requests.
    if (!/^[\x21-\x7e]*$/.test(value)) {
      errors.add(`attributes.${field}`, 'This may only hold visible ASCII characters.');
    }
  }
}

/** As TLS takes the name of a server: one that is an address is never asked for by it. */
const isHostName = (name: string): boolean => /^[\w.-]+$/.test(name) && isIP(name) === 0;

function isServerAddress(address: string): boolean {
  const url = parseUrl(address);
  if (!url) return false;
  const { protocol, username, password, search, hash } = url;
  return (
    (protocol === 'http:' || protocol === 'https:') &&
    username === '' &&
    password === '' &&
    search === '' &&
    hash === ''
  );
}

/** Paths of `update_mask` that a store of some type can change. */
export function storePaths(type: string): string[] {
  if (type === 'authority') return ['attributes.mount'];
  if (type !== 'vault') return [];
  return [...TEXTS, 'tls_skip_verify', 'token', 'client_certificate_key'].map(
    (field) => `attributes.${field}`,
  );
}

const NEW_STORE: VaultStoreBody = {
  address: '',
  namespace: '',
  ca_cert: '',
  tls_server_name: '',
  tls_skip_verify: false,
  client_certificate: '',
  worker_filter: '',
  client_certificate_key_hmac: '',
  token_hmac: '',
};

/**
 * A Vault store's open fields after a request; what it does not speak of stays.
 *
 * @param before undefined for a new store
 */
export function planVaultStore(
  before: StoreKind['body'] | undefined,
  { attributes = {} }: StoreItem,
  mask: readonly string[],
): VaultStoreBody {
  const next = { ...NEW_STORE, ...before };
  const speaksOf = (field: string): boolean =>
    before === undefined || mask.includes(`attributes.${field}`);
  for (const field of TEXTS) if (speaksOf(field)) next[field] = attributes[field] ?? '';
  if (speaksOf('tls_skip_verify')) next.tls_skip_verify = attributes.tls_skip_verify === true;
  return next;
}
