/** Bits of the keyUsage extension by the names that requests use. @see RFC 5280 §4.2.1.3 */
const KEY_USAGES = [
  'DigitalSignature',
  'ContentCommitment',
  'KeyEncipherment',
  'DataEncipherment',
  'KeyAgreement',
  'CertSign',
  'CRLSign',
  'EncipherOnly',
  'DecipherOnly',
] as const;
export type KeyUsage = (typeof KEY_USAGES)[number];

/** Extended key usages by the names that requests use, in the order certificates list them. */
const EXT_KEY_USAGES = {
  Any: '2.5.29.37.0',
  ServerAuth: '1.3.6.1.5.5.7.3.1',
  ClientAuth: '1.3.6.1.5.5.7.3.2',
  CodeSigning: '1.3.6.1.5.5.7.3.3',
  EmailProtection: '1.3.6.1.5.5.7.3.4',
  IPSECEndSystem: '1.3.6.1.5.5.7.3.5',
  IPSECTunnel: '1.3.6.1.5.5.7.3.6',
  IPSECUser: '1.3.6.1.5.5.7.3.7',
  TimeStamping: '1.3.6.1.5.5.7.3.8',
  OCSPSigning: '1.3.6.1.5.5.7.3.9',
  MicrosoftServerGatedCrypto: '1.3.6.1.4.1.311.10.3.3',
  NetscapeServerGatedCrypto: '2.16.840.1.113730.4.1',
  MicrosoftCommercialCodeSigning: '1.3.6.1.4.1.311.2.1.22',
  MicrosoftKernelCodeSigning: '1.3.6.1.4.1.311.61.1.1',
} as const;

const KEY_USAGE_BY_NAME = new Map(KEY_USAGES.map((name) => [name.toLowerCase(), name]));
const EXT_KEY_USAGE_BY_NAME = new Map<string, string>(
  Object.entries(EXT_KEY_USAGES).map(([name, oid]) => [name.toLowerCase(), oid]),
);
const EXT_KEY_USAGE_ORDER: string[] = Object.values(EXT_KEY_USAGES);

/** @returns the usages named, in any letter case, in the order of their bits; others are left out */
export function parseKeyUsages(names: readonly string[]): KeyUsage[] {
  const found = new Set(names.map((name) => KEY_USAGE_BY_NAME.get(name.trim().toLowerCase())));
  return KEY_USAGES.filter((usage) => found.has(usage));
}

export interface ExtKeyUsageFields {
  server_flag: boolean;
  client_flag: boolean;
  code_signing_flag: boolean;
  email_protection_flag: boolean;
  ext_key_usage: readonly string[];
  ext_key_usage_oids: readonly string[];
}

/** @returns object identifiers, none twice: the known ones in their order, then further ones as given */
export function chooseExtKeyUsages(fields: ExtKeyUsageFields): string[] {
  const chosen = new Set<string | undefined>();
  if (fields.server_flag) chosen.add(EXT_KEY_USAGES.ServerAuth);
  if (fields.client_flag) chosen.add(EXT_KEY_USAGES.ClientAuth);
  if (fields.code_signing_flag) chosen.add(EXT_KEY_USAGES.CodeSigning);
  if (fields.email_protection_flag) chosen.add(EXT_KEY_USAGES.EmailProtection);
  for (const name of fields.ext_key_usage) {
    chosen.add(EXT_KEY_USAGE_BY_NAME.get(name.trim().toLowerCase()));
  }
  const known = EXT_KEY_USAGE_ORDER.filter((oid) => chosen.has(oid));
  return [...new Set([...known, ...fields.ext_key_usage_oids])];
}

/** A warning for each usage name that means nothing here and so is left out. */
export function warnOfUnknownUsages(fields: {
  key_usage: readonly string[];
  ext_key_usage: readonly string[];
}): string[] {
  const unknown = (names: readonly string[], known: ReadonlyMap<string, string>) =>
    names.filter((name) => name !== '' && !known.has(name.trim().toLowerCase()));
  return [
    ...unknown(fields.key_usage, KEY_USAGE_BY_NAME).map(
      (name) => `key_usage ${JSON.stringify(name.slice(0, 64))} is unknown and has no effect`,
    ),
    ...unknown(fields.ext_key_usage, EXT_KEY_USAGE_BY_NAME).map(
      (name) => `ext_key_usage ${JSON.stringify(name.slice(0, 64))} is unknown and has no effect`,
    ),
  ];
}
