import { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import type { KeyType, PssForm } from '../../x509/keys.ts';
import { KEY_TYPES } from '../fields/key-field-kinds.ts';

/** A key of a mount, without its private part. */
export interface Key {
  id: string;
  /** Empty for none. */
  name: string;
  key_type: KeyType;
  /** See `KeyDescription`. */
  key_bits: number;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  /** Of a key that a device has; its private part is not here. */
  managed_key_id?: string;
  /** See `KeyDescription`. */
  pss?: PssForm;
}

/** What is told of a key. */
export const keySchema = z.object({
  key_id: z.string(),
  key_name: z.string().describe('Empty for none.'),
  key_type: z.enum(KEY_TYPES),
  key_bits: z.int().describe('Size of the modulus or the curve; 0 for Ed25519.'),
});

export function describeKey({ id, name, key_type, key_bits }: Key): z.output<typeof keySchema> {
  return { key_id: id, key_name: name, key_type, key_bits };
}

const NAME = /^\w(?:[\w.-]*\w)?$/;

/**
 * Checks a name that a new key or issuer shall bear.
 *
 * @param wanted undefined when none was sent
 * @param others what bears names already
 * @returns the name; empty when none was sent
 * @throws Failure `invalid`
 * @see P-87
 */
export function checkNewName(
  what: 'issuer' | 'key',
  wanted: string | undefined,
  others: ReadonlyMap<string, { name: string }>,
): string {
  if (wanted === undefined) return '';
  const name = wanted.trim();
  if (name === '') {
    throw invalid(`expected non-empty ${what} name, or no ${what}_name at all`);
  }
  checkName(what, name, others);
  return name;
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a reference to an issuer or a key can only be an ID. */
export const hasFormOfId = (ref: string): boolean => ID.test(ref);

/** @throws Failure `invalid` for a reserved name, one that could not stand in a path, or one in use */
export function checkName(
  what: 'issuer' | 'key',
  name: string,
  others: ReadonlyMap<string, { name: string }>,
): void {
  if (name.toLowerCase() === 'default') {
    throw invalid(`reserved keyword 'default' can not be used as ${what} name`);
  }
  // It would take the place of what has the ID, once that is removed.
  if (hasFormOfId(name)) {
    throw invalid(`${what} name must not have the form of an ID (a UUID)`);
  }
  if (!NAME.test(name) || name.length > 255) {
    throw invalid(
      `${what} name contained invalid characters: letters, digits and "_" are accepted, and "." and "-" between them`,
    );
  }
  for (const other of others.values()) {
    if (other.name === name) throw invalid(`${what} name already in use`);
  }
}
