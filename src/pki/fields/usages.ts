import { invalid } from '../../core/failure.ts';
import {
  EXT_KEY_USAGE_NAMES,
  extKeyUsageOids,
  findImpossibleUsages,
  KEY_USAGE_NAMES,
  keyUsage,
} from '../../x509/key-usages.ts';
import type { KeyType } from '../../x509/keys.ts';
import { EXT_KEY_USAGE_OID } from '../../x509/oids.ts';

/** The fields that together say what certificates are for. */
interface ExtKeyUsageFields {
  server_flag: boolean;
  client_flag: boolean;
  code_signing_flag: boolean;
  email_protection_flag: boolean;
  ext_key_usage: readonly string[];
  ext_key_usage_oids: readonly string[];
}

/**
 * @returns object identifiers, none twice: the known ones in their order, then further ones as given
 *
 * @see P-65
 */
export function chooseExtKeyUsages(fields: ExtKeyUsageFields): string[] {
  const names = [...fields.ext_key_usage];
  if (fields.server_flag) names.push('ServerAuth');
  if (fields.client_flag) names.push('ClientAuth');
  if (fields.code_signing_flag) names.push('CodeSigning');
  if (fields.email_protection_flag) names.push('EmailProtection');
  return [...new Set([...extKeyUsageOids(names), ...fields.ext_key_usage_oids])];
}

const FOR_SERVERS: readonly string[] = [
  EXT_KEY_USAGE_OID.Any,
  EXT_KEY_USAGE_OID.ServerAuth,
  EXT_KEY_USAGE_OID.MicrosoftServerGatedCrypto,
  EXT_KEY_USAGE_OID.NetscapeServerGatedCrypto,
];

/** Says whether TLS clients accept a certificate from a server; without usages it is for anything. */
export function isForServers(oids: readonly string[]): boolean {
  return oids.length === 0 || oids.some((oid) => FOR_SERVERS.includes(oid));
}

/** Key usages of certificates for which none are asked. */
export const USUAL_KEY_USAGES = ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'] as const;

/**
 * The key usages that a key of this type can have. Those that it cannot have are left out, with a warning unless
 * nobody asked for them.
 *
 * @returns `wanted` itself where nothing is left out
 * @throws Failure `invalid` where nothing would be left: a certificate without key usages is for all of them
 * @see P-455
 */
export function fitKeyUsages(
  key_type: KeyType,
  wanted: readonly string[],
): { key_usage: readonly string[]; warnings: string[] } {
  const impossible = findImpossibleUsages(key_type, wanted);
  if (impossible.length === 0) return { key_usage: wanted, warnings: [] };
  const key_usage = wanted.filter((name) => !impossible.includes(name));
  const because = `a key of type ${key_type} only signs (RFC 9881, RFC 9909)`;
  if (keyUsage(key_usage) === undefined) {
    throw invalid(`key_usage ${impossible.join(', ')} is impossible: ${because}`, {
      fields: { key_usage: 'DigitalSignature, ContentCommitment, or an empty list' },
    });
  }
  const names = new Set(wanted.map(fold));
  const isUsual =
    names.size === USUAL_KEY_USAGES.length && USUAL_KEY_USAGES.every((one) => names.has(fold(one)));
  return {
    key_usage,
    warnings: isUsual ? [] : [`key_usage ${impossible.join(', ')} was left out: ${because}`],
  };
}

/** A warning for each usage name that means nothing here and so is left out. @see P-24 */
export function warnOfUnknownUsages(fields: {
  key_usage: readonly string[];
  ext_key_usage: readonly string[];
}): string[] {
  return [
    ...unknownNames(fields.key_usage, KEY_USAGE_NAMES).map((name) => warn('key_usage', name)),
    ...unknownNames(fields.ext_key_usage, EXT_KEY_USAGE_NAMES).map((name) =>
      warn('ext_key_usage', name),
    ),
  ];
}

function unknownNames(names: readonly string[], known: readonly string[]): string[] {
  const folded = new Set(known.map(fold));
  return names.filter((name) => name !== '' && !folded.has(fold(name)));
}

function fold(name: string): string {
  return name.trim().toLowerCase();
}

function warn(field: string, name: string): string {
  return `${field} ${JSON.stringify(name.slice(0, 64))} is unknown and has no effect`;
}
