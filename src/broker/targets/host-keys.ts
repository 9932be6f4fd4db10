import { parsePublicKeyLine } from '../../ssh/public-key.ts';
import type { FieldErrors } from '../resource/field-errors.ts';

/** Lists of public keys by which an endpoint is known to a worker that logs in at it. */
export const HOST_KEY_FIELDS = ['host_keys', 'host_ca_keys'] as const;
/** A host has one key of each kind, and some more while they are changed. */
const MOST_KEYS = 32;

type KeyLists = {
  readonly [Field in (typeof HOST_KEY_FIELDS)[number]]?: readonly string[] | undefined;
};

/** What is wrong with the lists. */
export function checkHostKeys(attributes: KeyLists, errors: FieldErrors): void {
  for (const name of HOST_KEY_FIELDS) {
    const { [name]: lines = [] } = attributes;
    const field = `attributes.${name}`;
    const at = lines.findIndex((line) => !parsePublicKeyLine(line));
    if (lines.length > MOST_KEYS) errors.add(field, `This can have at most ${MOST_KEYS} keys.`);
    else if (at >= 0) {
      errors.add(
        field,
        `Key ${at + 1} must be one line as ssh-keygen writes public keys, of Ed25519, ECDSA, or RSA with 2048 bits or more.`,
      );
    }
  }
}
