import { z } from 'zod';
import type { Mount } from '../../app/mount.ts';
import { asSet, comparedBy, eachText } from '../../core/comparison.ts';
import { invalid } from '../../core/failure.ts';
import { flag, integer, shortList, text } from '../../core/fields.ts';
import type { KeyPairKind, KeyRef } from '../../pkcs11/orders.ts';
import { oid } from '../../x509/der.ts';
import { findCurve, type KeyType, type PssForm } from '../../x509/keys.ts';
import { CURVE_OID } from '../../x509/oids.ts';

/** What a managed key may be used for; the server signs. */
const USAGES = ['encrypt', 'decrypt', 'sign', 'verify', 'wrap', 'unwrap', 'mac', 'random'];

// Numbers, flags and the like that clients send as texts; policies compare what they come to.

function parseNumber(written: string): number | undefined {
  return /^(?:0x[0-9a-f]{1,13}|\d{1,15})$/i.test(written) ? Number(written) : undefined;
}

const numberOf = (written: string): number | string =>
  written === '' ? 0 : (parseNumber(written) ?? written);
const numberText = comparedBy(text, { form: eachText(numberOf) });

/** As sizes of keys elsewhere: a denial of 0 and one of a usual size deny each other. */
const USUAL_SIZES = ['2048', '256'];
const sizeText = comparedBy(text, {
  form: eachText(numberOf),
  also: (size) => (size === '0' ? USUAL_SIZES : USUAL_SIZES.includes(size) ? ['0'] : []),
});

const curveOf = (written: string): string => written.toUpperCase().replace('-', '');
const curveText = comparedBy(text, { form: eachText(curveOf) });

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ...['', '0', 'f', 'false'].map((word) => [word, false] as const),
  ...['1', 't', 'true'].map((word) => [word, true] as const),
]);
const flagOf = (written: string): boolean | undefined => FLAGS.get(written.toLowerCase());
const flagText = comparedBy(text, { form: eachText((written) => flagOf(written) ?? written) });

const isHex = (written: string): boolean => /^0x(?:[0-9a-f]{2})+$/i.test(written);
const idBytes = (written: string): Buffer =>
  isHex(written) ? Buffer.from(written.slice(2), 'hex') : Buffer.from(written, 'utf8');
const keyIdText = comparedBy(text, {
  form: eachText((written) => idBytes(written).toString('hex')),
});

const usageList = comparedBy(shortList, { form: asSet((usage) => usage) });

/** Fields of a request, by the names that clients of this API know. */
export const managedKeyFields = {
  library: text().describe('Name of a `kms_library` of the configuration file.'),
  slot: numberText('').describe('Number of the slot, decimal or with `0x`. This or `token_label`.'),
  token_label: text('').describe('Label of the token; found in whichever slot it is.'),
  pin: text().describe('What opens the token. Kept encrypted, and never answered.'),
  key_label: text('').describe('CKA_LABEL of the key pair. This or `key_id`, or both.'),
  key_id: keyIdText('').describe('CKA_ID of the key pair: bytes as hex with `0x`, or a text.'),
  mechanism: numberText().describe(
    'What the key signs with, decimal or with `0x`: 0x1 CKM_RSA_PKCS, 0xd CKM_RSA_PKCS_PSS, 0x43, 0x44 and 0x45 CKM_SHA256_RSA_PKCS_PSS and those of SHA-384 and SHA-512, 0x1041 CKM_ECDSA, 0x1057 CKM_EDDSA.',
  ),
  key_bits: sizeText('').describe('Size of an RSA key that is made: 2048, 3072 or 4096.'),
  curve: curveText('').describe('Curve of an EC key that is made: P224, P256, P384 or P521.'),
  force_rw_session: flagText('').describe('true: open sessions that may write, always.'),
  max_parallel: integer(1).describe('Kept for clients; a module does one thing at a time.'),
  allow_generate_key: flag(false).describe('A key that is not there is made at its first use.'),
  allow_store_key: flag(false).describe('Kept for clients; nothing is stored in a token.'),
  allow_replace_key: flag(false).describe('Kept for clients; nothing is replaced in a token.'),
  any_mount: flag(false).describe('Mounts use it without naming it in `allowed_managed_keys`.'),
  usages: usageList([]).describe(`Of ${USAGES.join(', ')}; empty: all. Signing needs "sign".`),
};
export type ManagedKeyInput = z.output<z.ZodObject<typeof managedKeyFields>>;

/** What is kept and answered. */
export const managedKeySchema = z.object({
  uuid: z.string().describe('Its id, for `managed_key_id`.'),
  name: z.string(),
  type: z.literal('pkcs11'),
  library: z.string(),
  slot: z.string().describe('Decimal; empty for none.'),
  token_label: z.string(),
  key_label: z.string(),
  key_id: z.string(),
  mechanism: z.string().describe('Hexadecimal.'),
  key_bits: z.int(),
  curve: z.string(),
  force_rw_session: z.boolean(),
  max_parallel: z.int(),
  allow_generate_key: z.boolean(),
  allow_store_key: z.boolean(),
  allow_replace_key: z.boolean(),
  any_mount: z.boolean(),
  usages: z.array(z.string()),
});
export type ManagedKey = z.output<typeof managedKeySchema>;

/** A managed key as it is stored. */
export interface StoredManagedKey extends ManagedKey {
  pin_sealed: Uint8Array;
  version: number;
}

export const MOST_MANAGED_KEYS = 1_000;

const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$/;

/** @throws Failure `invalid` */
export function checkManagedKeyName(name: string): string {
  if (NAME.test(name)) return name;
  throw invalid('name: lower-case letters, digits, and between them ".", "_" and "-"');
}

interface MechanismFacts {
  number: number;
  name: string;
  key_type: KeyType;
  /** Undefined: it does not sign PSS. With a name of its own the token hashes by itself. */
  pss?: PssForm;
}

const MECHANISMS: readonly MechanismFacts[] = [
  { number: 0x1, name: 'CKM_RSA_PKCS', key_type: 'rsa' },
  { number: 0xd, name: 'CKM_RSA_PKCS_PSS', key_type: 'rsa', pss: 'PSS' },
  { number: 0x43, name: 'CKM_SHA256_RSA_PKCS_PSS', key_type: 'rsa', pss: 'SHA256WithRSAPSS' },
  { number: 0x44, name: 'CKM_SHA384_RSA_PKCS_PSS', key_type: 'rsa', pss: 'SHA384WithRSAPSS' },
  { number: 0x45, name: 'CKM_SHA512_RSA_PKCS_PSS', key_type: 'rsa', pss: 'SHA512WithRSAPSS' },
  { number: 0x1041, name: 'CKM_ECDSA', key_type: 'ec' },
  { number: 0x1057, name: 'CKM_EDDSA', key_type: 'ed25519' },
];

/** What a key of this mechanism is and does. */
export function mechanismFacts({ mechanism }: Pick<ManagedKey, 'mechanism'>): MechanismFacts {
  const found = MECHANISMS.find(({ number }) => number === parseNumber(mechanism));
  if (found) return found;
  const known = MECHANISMS.map(({ number, name }) => `0x${number.toString(16)} (${name})`);
  throw invalid(`mechanism may be ${known.join(', ')}`);
}

/**
 * Judges what was sent.
 *
 * @throws Failure `invalid` naming the field
 */
export function planManagedKey(
  input: Omit<ManagedKeyInput, 'pin'>,
  named: { uuid: string; name: string },
  libraries: readonly string[],
): ManagedKey {
  const { library, token_label, key_label, key_id } = input;
  if (!libraries.includes(library)) {
    throw invalid('library: the configuration file has no kms_library of that name');
  }
  const slot = input.slot === '' ? '' : String(requireNumber('slot', input.slot));
  if (slot === '' && token_label === '') throw invalid('slot or token_label must be given');
  if (key_label === '' && key_id === '') throw invalid('key_label or key_id must be given');
  parseKeyId(key_id);
  // As a text it would be another key's id, which is made where that is allowed.
  if (/^0x/i.test(key_id) && !isHex(key_id)) {
    throw invalid('key_id must have pairs of hexadecimal digits after 0x');
  }
  const { number, key_type } = mechanismFacts(input);
  const key_bits = input.key_bits === '' ? 0 : requireNumber('key_bits', input.key_bits);
  const curve = curveOf(input.curve);
  if (input.max_parallel < 0) throw invalid('max_parallel must not be less than 0');
  const unknown = input.usages.find((usage) => !USAGES.includes(usage));
  if (unknown !== undefined) throw invalid(`usages may be ${USAGES.join(', ')}`);
  const planned: ManagedKey = {
    ...{ ...input, ...named, type: 'pkcs11' as const },
    ...{ slot, key_bits, curve, mechanism: `0x${number.toString(16)}` },
    force_rw_session: readFlag(input.force_rw_session),
  };
  if (planned.allow_generate_key || key_bits !== 0 || curve !== '') pairKindOf(planned, key_type);
  return planned;
}

function requireNumber(field: string, written: string): number {
  const read = parseNumber(written);
  if (read !== undefined) return read;
  throw invalid(`${field} must be a number, decimal or with 0x`);
}

function readFlag(written: string): boolean {
  const read = flagOf(written);
  if (read !== undefined) return read;
  throw invalid('force_rw_session must be true or false');
}

const RSA_BITS = [2048, 3072, 4096];

/**
 * What is made in the token where the key is not there.
 *
 * @throws Failure `invalid` where the settings do not say it
 */
export function pairKindOf(
  { key_bits, curve }: Pick<ManagedKey, 'key_bits' | 'curve'>,
  key_type: KeyType,
): KeyPairKind {
  switch (key_type) {
    case 'rsa':
      if (RSA_BITS.includes(key_bits)) return { key_type, key_bits };
      throw invalid(`key_bits must be ${RSA_BITS.join(', ')} for an RSA key that may be generated`);
    case 'ec': {
      const bits = findCurve(Number(/^P(\d{3})$/.exec(curve)?.[1]));
      if (bits) return { key_type, ecParams: oid(CURVE_OID[bits]) };
      throw invalid('curve must be P224, P256, P384 or P521 for an EC key that may be generated');
    }
    case 'ed25519':
      return { key_type };
    default:
      throw invalid(`keys of type ${key_type} are not generated in devices`);
  }
}

function parseKeyId(written: string): Uint8Array {
  const bytes = idBytes(written);
  if (bytes.length <= 255) return bytes;
  throw invalid('key_id must have at most 255 bytes');
}

/** How the token is found. */
export const placeOf = ({ slot, token_label }: Pick<ManagedKey, 'slot' | 'token_label'>) => ({
  slot: slot === '' ? undefined : slot,
  token_label: token_label === '' ? undefined : token_label,
});

/** How the key is found in its token. */
export function keyRefOf({ key_label, key_id }: ManagedKey): KeyRef {
  return {
    label: key_label === '' ? undefined : key_label,
    id: key_id === '' ? undefined : parseKeyId(key_id),
  };
}

/** Why a mount may not use a managed key; undefined if it may. */
export function judgeUse(
  { name, any_mount, usages }: ManagedKey,
  mount: Pick<Mount, 'path' | 'config'>,
): string | undefined {
  if (!any_mount && !mount.config.allowed_managed_keys.includes(name)) {
    return `the mount "${mount.path}" may not use the managed key "${name}": its allowed_managed_keys do not name it`;
  }
  return usages.length === 0 || usages.includes('sign')
    ? undefined
    : `the managed key "${name}" may not sign: its usages do not have "sign"`;
}
