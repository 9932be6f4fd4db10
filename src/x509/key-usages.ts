/** What a key may be used for: keyUsage and extKeyUsage. */

import { invalid } from '../core/failure.ts';
import { isOid, namedBitString, oid, sequence, TAG } from './der.ts';
import { readNamedBits, readOid } from './der-primitives.ts';
import { children, DerError, expect, readDer } from './der-reader.ts';
import type { Extension } from './extensions.ts';
import type { KeyType } from './keys.ts';
import { EXT_KEY_USAGE_OID, EXTENSION_OID } from './oids.ts';
import { isPostQuantum } from './post-quantum.ts';

/** Names of key usages as the API spells them, each at the place of its bit (RFC 5280 §4.2.1.3). */
export const KEY_USAGE_NAMES = [
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

export type KeyUsage = (typeof KEY_USAGE_NAMES)[number];

const fold = (name: string): string => name.trim().toLowerCase();

const KEY_USAGE_BITS = new Map(KEY_USAGE_NAMES.map((name, bit) => [fold(name), bit]));

const keyUsageCache = new Map<number, Extension>();

/**
 * keyUsage, critical, of names in any case; unknown names are ignored.
 *
 * @returns undefined when no known name is left, since an empty extension is not allowed
 */
export function keyUsage(names: readonly string[]): Extension | undefined {
  let mask = 0;
  for (const name of names) {
    const bit = KEY_USAGE_BITS.get(fold(name));
    if (bit !== undefined) mask |= 1 << bit;
  }
  if (mask === 0) return undefined;
  return keyUsageCache.getOrInsertComputed(mask, encodeKeyUsage);
}

function encodeKeyUsage(mask: number): Extension {
  const bits = KEY_USAGE_NAMES.keys().filter((bit) => (mask & (1 << bit)) !== 0);
  return { oid: EXTENSION_OID.keyUsage, critical: true, value: namedBitString([...bits]) };
}

const SIGNING: ReadonlySet<string> = new Set(
  ['DigitalSignature', 'ContentCommitment', 'CertSign', 'CRLSign'].map(fold),
);

/**
 * Those of some usages that a key of this type cannot have: keys of ML-DSA and SLH-DSA only sign.
 *
 * @param names in any case; unknown ones are none
 * @see RFC 9881 §5, RFC 9909
 */
export function findImpossibleUsages(key_type: KeyType, names: readonly string[]): string[] {
  if (!isPostQuantum(key_type)) return [];
  return names.filter((name) => KEY_USAGE_BITS.has(fold(name)) && !SIGNING.has(fold(name)));
}

/** Names of the usages that are set, in the order of their bits; bits beyond RFC 5280 have none. */
export function parseKeyUsage(value: Uint8Array): KeyUsage[] {
  return readNamedBits(readDer(value)).flatMap((bit) => KEY_USAGE_NAMES[bit] ?? []);
}

/** Names of extended key usages as the API spells them, in the order certificates list them. */
export const EXT_KEY_USAGE_NAMES: readonly string[] = Object.keys(EXT_KEY_USAGE_OID);

const EXT_KEY_USAGES = Object.entries(EXT_KEY_USAGE_OID).map(
  ([name, type]) => [fold(name), type] as const,
);

/** OIDs for names in any case, each once, in the order certificates list them; unknown names are ignored. */
export function extKeyUsageOids(names: readonly string[]): string[] {
  const wanted = new Set(names.map(fold));
  return EXT_KEY_USAGES.flatMap(([name, type]) => (wanted.has(name) ? type : []));
}

/**
 * extKeyUsage of OIDs in the order given, each once.
 *
 * @returns undefined for none
 * @throws Failure `invalid` for a text that is no OID
 */
export function extKeyUsage(oids: readonly string[]): Extension | undefined {
  if (oids.length === 0) return undefined;
  const encoded = [...new Set(oids)].map((type) => requireOid(type, 'ext_key_usage_oids'));
  return { oid: EXTENSION_OID.extKeyUsage, critical: false, value: sequence(...encoded) };
}

/** OBJECT IDENTIFIER. @throws Failure `invalid`, naming the field, for a text that is none */
export function requireOid(text: string, field: string): Uint8Array {
  if (!isOid(text)) {
    const shown = JSON.stringify(text.slice(0, 128));
    throw invalid(`${field}: ${shown} is not an object identifier such as 1.2.3.4`, {
      fields: { [field]: 'object identifiers in dotted form are accepted' },
    });
  }
  return oid(text);
}

export function parseExtKeyUsage(value: Uint8Array): string[] {
  const oids = children(expect(readDer(value), TAG.sequence)).map((item) => readOid(item));
  if (oids.length === 0) throw new DerError('an extKeyUsage without purposes');
  return oids;
}
