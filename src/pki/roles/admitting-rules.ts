import type { IdentityFacts } from '../../core/identity-template.ts';
import { judgeNames, type RequestedNames } from './name-policy.ts';
import type { Role } from './role.ts';

/** A name that a certificate would have, and the field of the role that lets it in. */
export interface AdmittedName {
  kind: NameKind;
  name: string;
  /** Absent where none does. */
  rule?: string;
}

type NameKind =
  | 'common_name'
  | 'serial_number'
  | 'user_id'
  | 'dns_name'
  | 'email'
  | 'ip'
  | 'uri'
  | 'other';

/** The fields that can let a host name or mailbox in, each by itself. */
const DOMAIN_RULES = [
  'allow_any_name',
  'allow_localhost',
  'allow_bare_domains',
  'allow_subdomains',
  'allow_glob_domains',
] as const;

/** Names that are told of; there may be thousands. */
const MOST_TOLD = 100;

const NO_NAMES: RequestedNames = {
  common_name: '',
  dns: [],
  email: [],
  ip: [],
  uri: [],
  other: [],
  serial_number: '',
  user_ids: [],
};

/**
 * Tells of each name by which field of the role it is let in: judged by the one place where names are judged, with
 * each of the rules alone.
 */
export function listAdmitted(
  role: Role,
  names: RequestedNames,
  identity: IdentityFacts | undefined,
): AdmittedName[] {
  const variants = variantsOf(role);
  const judge = (kind: NameKind, name: string, alone: Partial<RequestedNames>): AdmittedName => {
    const asked = { ...NO_NAMES, ...alone };
    const found = variants.find(({ rules }) => judgeNames(rules, asked, identity).allowed);
    if (!found) return { kind, name };
    return { kind, name, rule: FIXED[kind] ?? found.rule };
  };
  const { common_name, serial_number } = names;
  const isOpen = role.cn_validations.includes('disabled');
  const told = [
    ...(common_name === '' ? [] : [judge('common_name', common_name, { common_name })]),
    ...(serial_number === '' ? [] : [judge('serial_number', serial_number, { serial_number })]),
    ...some(names.user_ids).map((id) => judge('user_id', id, { user_ids: [id] })),
    ...some(names.dns).map((name) => judge('dns_name', name, { dns: [name] })),
    ...some(names.email).map((name) => judge('email', name, { email: [name] })),
    ...some(names.ip).map((name) => judge('ip', name, { ip: [name] })),
    ...some(names.uri).map((name) => judge('uri', name, { uri: [name] })),
    ...some(names.other).map((one) =>
      judge('other', `${one.oid};UTF8:${one.value}`, { other: [one] }),
    ),
  ];
  return told
    .slice(0, MOST_TOLD)
    .map((one) =>
      isOpen && one.kind === 'common_name' ? { ...one, rule: 'cn_validations' } : one,
    );
}

const some = <Name>(names: readonly Name[]): readonly Name[] => names.slice(0, MOST_TOLD);

/** What lets in a name of a kind that has one rule. */
const FIXED: Partial<Record<NameKind, string>> = {
  serial_number: 'allowed_serial_numbers',
  user_id: 'allowed_user_ids',
  ip: 'allow_ip_sans',
  uri: 'allowed_uri_sans',
  other: 'allowed_other_sans',
};

/** The role with each of its rules for domains alone; itself at the end, for what none of them is about. */
function variantsOf(role: Role): { rule: string; rules: Role }[] {
  const none = Object.fromEntries(DOMAIN_RULES.map((rule) => [rule, false]));
  const alone = DOMAIN_RULES.filter((rule) => role[rule]).map((rule) => ({
    rule,
    rules: { ...role, ...none, [rule]: true },
  }));
  return [...alone, { rule: 'allow_subdomains', rules: role }];
}
