import { hash } from 'node:crypto';
import { invalid } from '../core/failure.ts';
import { type CertificateFields, lowerAscii } from '../ssh/certificate.ts';
import type { SshPublicKey } from '../ssh/public-key.ts';
import { splitPrincipals } from './principals.ts';
import type { SshRole } from './role.ts';

/** What a request asks for. */
export interface CertificateRequest {
  valid_principals: string;
  cert_type: 'user' | 'host';
  /** Seconds; 0: as the role has it. */
  ttl: number;
  /** Empty: as the role has it. */
  key_id: string;
  critical_options: Readonly<Record<string, string>>;
  extensions: Readonly<Record<string, string>>;
}

/** What does not depend on the request. */
export interface PlanContext {
  role_name: string;
  display_name: string;
  /** Unix seconds. */
  now: number;
  serial: bigint;
  /** Of the mount, in seconds. */
  default_ttl: number;
  max_ttl: number;
}

const MOST_PRINCIPALS = 256;
const MOST_TEXT = 16_384;
/** A server takes no certificate whose text ends early, and its log has a line for each. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant.
const CONTROL = /[\x00-\x1f\x7f-\x9f]/;

/**
 * What a certificate says by a role.
 *
 * @throws Failure `invalid` for what the role does not allow
 */
export function planCertificate(
  role: SshRole,
  key: Pick<SshPublicKey, 'blob'>,
  request: CertificateRequest,
  context: PlanContext,
): CertificateFields {
  const { cert_type: use } = request;
  const isAllowed = use === 'user' ? role.allow_user_certificates : role.allow_host_certificates;
  if (!isAllowed) throw invalid(`cert_type "${use}" is not allowed by role`);
  const ttl = planTtl(role, request.ttl, context);
  return {
    serial: context.serial,
    use,
    key_id: planKeyId(role, key, request.key_id, context),
    principals: planPrincipals(role, request),
    valid_after: BigInt(Math.max(0, context.now - role.not_before_duration)),
    valid_before: BigInt(context.now + ttl),
    // Of hosts none is known.
    critical_options: use === 'user' ? planCriticalOptions(role, request.critical_options) : {},
    extensions: use === 'user' ? planExtensions(role, request.extensions) : {},
  };
}

function planTtl(role: SshRole, wanted: number, { default_ttl, max_ttl }: PlanContext): number {
  const most = role.max_ttl === 0 ? max_ttl : Math.min(role.max_ttl, max_ttl);
  if (wanted > most) throw invalid(`ttl is larger than maximum allowed ${most}`);
  return wanted > 0 ? wanted : Math.min(role.ttl || default_ttl, most);
}

function planPrincipals(
  role: SshRole,
  { cert_type, valid_principals }: CertificateRequest,
): string[] {
  const isUser = cert_type === 'user';
  const asked = splitPrincipals(valid_principals);
  const names = asked.length > 0 || !isUser ? asked : splitPrincipals(role.default_user);
  // A certificate that names nobody would be everybody's.
  if (names.length === 0) throw invalid('empty valid principals not allowed by role');
  if (names.length > MOST_PRINCIPALS) {
    throw invalid(`valid_principals: at most ${MOST_PRINCIPALS} names`);
  }
  const control = names.find((name) => CONTROL.test(name));
  if (control !== undefined) throw invalid('valid_principals: a name has a control character');
  const isFine = isUser ? isAllowedUser : isAllowedHost;
  const strange = names.find((name) => !isFine(role, name));
  if (strange !== undefined) throw invalid(`${strange} is not a valid value for valid_principals`);
  return names;
}

function isAllowedUser({ allowed_users, default_user }: SshRole, name: string): boolean {
  return (
    allowed_users.includes('*') ||
    allowed_users.includes(name) ||
    splitPrincipals(default_user).includes(name)
  );
}

/** Names with a wildcard stand for others than themselves; what is no ASCII is no host's name. */
function isAllowedHost(role: SshRole, name: string): boolean {
  const { allowed_domains, allow_bare_domains, allow_subdomains } = role;
  if (/[*?!]|[^\x21-\x7e]/.test(name)) return false;
  const host = lowerAscii(name);
  return allowed_domains.some((listed) => {
    const domain = lowerAscii(listed);
    if (domain === '*') return true;
    if (allow_bare_domains && host === domain) return true;
    return allow_subdomains && host.endsWith(`.${domain}`) && host.length > domain.length + 1;
  });
}

function planCriticalOptions(
  { allowed_critical_options, default_critical_options }: SshRole,
  asked: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = Object.keys(asked);
  if (names.length === 0) return { ...default_critical_options };
  const allowed = allowed_critical_options;
  const strange = names.filter((name) => allowed.length > 0 && !allowed.includes(name));
  if (strange.length > 0) {
    throw invalid(`critical options not on allowed list: [${strange.sort().join(' ')}]`);
  }
  return { ...asked };
}

function planExtensions(
  { allowed_extensions, default_extensions }: SshRole,
  asked: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = Object.keys(asked);
  if (names.length === 0) return { ...default_extensions };
  const strange = names.filter(
    (name) => !allowed_extensions.includes('*') && !allowed_extensions.includes(name),
  );
  if (strange.length > 0) {
    throw invalid(`extensions [${strange.sort().join(' ')}] are not on allowed list`);
  }
  return { ...asked };
}

const DEFAULT_KEY_ID = 'vault-{{token_display_name}}-{{public_key_hash}}';

function planKeyId(
  role: SshRole,
  { blob }: Pick<SshPublicKey, 'blob'>,
  asked: string,
  { role_name, display_name }: PlanContext,
): string {
  if (asked.length > MOST_TEXT) throw invalid(`key_id: at most ${MOST_TEXT} characters`);
  if (asked !== '') {
    if (!role.allow_user_key_ids) throw invalid('setting key_id is not allowed by role');
    if (CONTROL.test(asked)) throw invalid('key_id: it has a control character');
    return asked;
  }
  const values = new Map([
    ['token_display_name', display_name],
    ['role_name', role_name],
    ['public_key_hash', hash('sha256', blob)],
  ]);
  return (
    (role.key_id_format || DEFAULT_KEY_ID)
      .replace(/\{\{ ?([a-z_]{1,32}) ?\}\}/g, (whole, name: string) => values.get(name) ?? whole)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the same.
      .replace(/[\x00-\x1f\x7f-\x9f]/g, '?')
      .slice(0, MOST_TEXT)
  );
}
