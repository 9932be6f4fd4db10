import { isRecord } from '../../vault/client/answer.ts';

/** Types of credentials that a secret can be read as, and the properties that they take. */
export const CREDENTIAL_TYPES: Readonly<Record<string, readonly string[]>> = {
  username_password: ['username', 'password'],
  username_password_domain: ['username', 'password', 'domain'],
  password: ['password'],
  ssh_private_key: ['username', 'private_key', 'private_key_passphrase'],
};

const OPTIONAL = 'private_key_passphrase';

export type MappingVerdict =
  | { mapped: true; credential: Readonly<Record<string, string>> }
  | { mapped: false; missing: string };

/**
 * Reads a secret as a credential of some type.
 *
 * @param overrides names of properties by `<property>_attribute`; one that begins with a slash
 *   is a JSON pointer (RFC 6901) into the whole secret
 */
export function mapSecret(
  type: string,
  overrides: Readonly<Record<string, string>>,
  secret: Readonly<Record<string, unknown>>,
): MappingVerdict {
  const inner = innerOf(secret);
  const credential: Record<string, string> = {};
  for (const property of CREDENTIAL_TYPES[type] ?? []) {
    const name = overrides[`${property}_attribute`] ?? property;
    const value = name.startsWith('/') ? pointedAt(secret, name) : inner[name];
    if (typeof value === 'string' && value !== '') credential[property] = value;
  }
  if (type === 'username_password_domain') splitDomain(credential);
  const missing = (CREDENTIAL_TYPES[type] ?? []).find(
    (property) => property !== OPTIONAL && credential[property] === undefined,
  );
  if (missing === undefined) return { mapped: true, credential };
  return { mapped: false, missing: overrides[`${missing}_attribute`] ?? missing };
}

/** The second version of the key/value engine keeps the secret beneath `data`. */
function innerOf(secret: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isRecord(secret.data) && isRecord(secret.metadata) ? secret.data : secret;
}

function pointedAt(secret: unknown, pointer: string): unknown {
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, part) => (isRecord(value) && Object.hasOwn(value, part) ? value[part] : undefined),
      secret,
    );
}

/** A domain may also stand within the name: `user@domain` or `DOMAIN\user`. */
function splitDomain(credential: Record<string, string>): void {
  const { username = '', domain } = credential;
  if (domain !== undefined) return;
  const at = username.lastIndexOf('@');
  const slash = username.indexOf('\\');
  if (at > 0 && at < username.length - 1) {
    credential.username = username.slice(0, at);
    credential.domain = username.slice(at + 1);
  } else if (slash > 0 && slash < username.length - 1) {
    credential.username = username.slice(slash + 1);
    credential.domain = username.slice(0, slash);
  }
}

/** The domain that a distinguished name lies in: `CN=a,DC=example,DC=com` is in `example.com`. */
export function domainOfName(name: string): string {
  const parts = [...name.matchAll(/(?:^|[,+])\s*dc\s*=\s*([^,+]+)/gi)];
  return parts.map(([, part = '']) => part.trim()).join('.');
}

/** An LDAP engine's answer as a credential. */
export function mapLdapSecret(secret: Readonly<Record<string, unknown>>): MappingVerdict {
  const { dn, distinguished_names } = secret;
  const names = Array.isArray(distinguished_names) ? distinguished_names : [];
  const name = [dn, ...names].find((one) => typeof one === 'string' && one !== '');
  const domain = typeof name === 'string' ? domainOfName(name) : '';
  return mapSecret(
    'username_password_domain',
    {},
    { ...(domain === '' ? {} : { domain }), ...secret },
  );
}

/** More than any type of credential has properties. */
export const MAX_OVERRIDES = 16;
const MAX_OVERRIDE_LENGTH = 1024;

/** What is wrong with overrides, by field. */
export function listOverrideFaults(
  type: string,
  overrides: Readonly<Record<string, unknown>>,
): [field: string, because: string][] {
  const field = 'credential_mapping_overrides';
  const names = Object.keys(overrides);
  if (type === '') {
    return names.length > 0
      ? [[field, 'This field can only be set if "credential_type" is set']]
      : [];
  }
  if (names.length > MAX_OVERRIDES) return [[field, `At most ${MAX_OVERRIDES} can be given.`]];
  const known = (CREDENTIAL_TYPES[type] ?? []).map((property) => `${property}_attribute`);
  return names.flatMap((name): [string, string][] => {
    const value = overrides[name];
    if (!known.includes(name)) {
      return [[`${field}.${name}`, `Invalid mapping override for credential type "${type}"`]];
    }
    if (value === null) return [];
    if (typeof value !== 'string') {
      return [[`${field}.${name}`, 'Mapping value must be a string or a null to clear']];
    }
    if (value.length <= MAX_OVERRIDE_LENGTH) return [];
    return [[`${field}.${name}`, `This must have at most ${MAX_OVERRIDE_LENGTH} characters.`]];
  });
}
