import { isIP } from 'node:net';
import { z } from 'zod';
import { parseUrl } from '../core/domain-names.ts';
import { invalid } from '../core/failure.ts';
import { flag, ignored, mustBeOneOf, oneOf, readBy, text } from './kinds.ts';
import type { KmsLibrary } from './kms-library.ts';

/** What guards the root key, and where it is reached. */
export type SealSettings =
  | { type: 'shamir' }
  | { type: 'keyfile'; path: string }
  | Pkcs11Seal
  | TransitSeal;

/** A key of a device. */
export interface Pkcs11Seal {
  type: 'pkcs11';
  /** Name of a `kms_library`. */
  library: string;
  slot: string | undefined;
  token_label: string | undefined;
  pin: string;
  key_label: string;
  generate_key: boolean;
}

/** A key of the transit engine of another server that speaks Vault's API. */
export interface TransitSeal {
  type: 'transit';
  /** With `http://` or `https://`. */
  address: string;
  token: string;
  key_name: string;
  mount_path: string;
  namespace: string | undefined;
  tls_ca_cert: string | undefined;
  tls_server_name: string | undefined;
}

export const SEAL_TYPES = ['shamir', 'keyfile', 'pkcs11', 'transit'] as const;

const typeOf = (otherwise: string) => ({
  takes: '`shamir`, `keyfile`, `pkcs11`, `transit`',
  otherwise,
  description:
    'all but `shamir` unseal at the start by themselves; see [keys in hardware](managed-keys.md#unsealing)',
});

const neededFor = (type: string, description: string) =>
  text.meta({ otherwise: `none; needed for \`${type}\``, description });

const httpAddress = readBy(text, (written) => {
  const isAddress = /^https?:\/\/[^/?#@\s]+\/?$/.test(written) && parseUrl(written);
  if (isAddress) return written.replace(/\/$/, '');
  throw invalid(' must be http:// or https:// with a host, and a port where that is another one');
}).meta({ takes: 'URL', otherwise: 'none; needed for `transit`' });

/** What goes into a header as it is; a token that was read from a file has the end of its line. */
const headerText = readBy(text, (written) => {
  if (/^[\x21-\x7e]+$/.test(written)) return written;
  throw invalid(' must be visible characters of ASCII, without blanks and ends of lines');
}).meta({ takes: 'text' });

const hostName = readBy(text, (written) => {
  if (/^[\w.-]+$/.test(written) && isIP(written) === 0) return written;
  throw invalid(' must be the name of a host, and no address');
}).meta({ takes: 'text' });

const segments = readBy(text, (written) => {
  if (/^[\w.-]+(?:\/[\w.-]+)*$/.test(written) && !/(?:^|\/)\.\.?(?:\/|$)/.test(written)) {
    return written;
  }
  throw invalid(' must be a path of letters, digits, "_", "." and "-"');
}).meta({ takes: 'text' });

/** One name of such a path: the client writes it as it is. */
const segment = readBy(segments, (name) => {
  if (!name.includes('/')) return name;
  throw invalid(' must be the name of one key, without "/"');
});

const number = readBy(text, (written) => {
  if (/^\d{1,15}$/.test(written)) return written;
  throw invalid(' must be a number as text');
}).meta({ takes: 'text' });

const OTHERS = {
  path: ignored,
  library: ignored,
  slot: ignored,
  token_label: ignored,
  pin: ignored,
  key_label: ignored,
  generate_key: ignored,
  address: ignored,
  token: ignored,
  key_name: ignored,
  mount_path: ignored,
  namespace: ignored,
  tls_ca_cert: ignored,
  tls_server_name: ignored,
};

const sealWith = (otherwise: string) => {
  const described = typeOf(otherwise);
  return z.discriminatedUnion(
    'type',
    [
      z.strictObject({ ...OTHERS, type: z.literal('shamir').meta(described) }),
      z.strictObject({
        ...OTHERS,
        type: z.literal('keyfile').meta(described),
        path: neededFor('keyfile', 'the file with the unseal key, mode 0600'),
      }),
      z.strictObject({
        ...OTHERS,
        type: z.literal('pkcs11').meta(described),
        library: neededFor('pkcs11', 'name of a `kms_library`'),
        slot: number.optional().describe('number of the slot; this or `token_label`'),
        token_label: text.optional().describe('label of the token'),
        pin: neededFor('pkcs11', 'what opens the token; the file is for its owner alone, then'),
        key_label: neededFor('pkcs11', 'label of the AES key in the token'),
        generate_key: flag
          .default(false)
          .describe('make the AES key when the server is initialised and it is not there'),
      }),
      z.strictObject({
        ...OTHERS,
        type: z.literal('transit').meta(described),
        address: httpAddress.describe('of the server whose transit engine encrypts the seal key'),
        token: headerText.meta({
          otherwise: 'none; needed for `transit`',
          description: 'a token of that server that may encrypt and decrypt with the key',
        }),
        key_name: segment.meta({
          takes: 'text',
          otherwise: 'none; needed for `transit`',
          description: 'name of the key there',
        }),
        mount_path: segments.default('transit').describe('where the engine is mounted there'),
        namespace: headerText.optional().describe('namespace there'),
        tls_ca_cert: text
          .optional()
          .meta({ otherwise: "the system's", description: 'PEM file of the authorities to trust' }),
        tls_server_name: hostName
          .optional()
          .meta({ otherwise: 'the host', description: 'name that its certificate must have' }),
      }),
    ],
    { error: oneOf(mustBeOneOf(SEAL_TYPES)) },
  );
};

export const seal = z.preprocess((value) => value ?? { type: 'shamir' }, sealWith('`shamir`'));

/** `former_seal`: how the seal is opened that the data is to be moved from. */
export const formerSeal = z.preprocess((value) => value ?? undefined, sealWith('none').optional());

/** @throws Failure `invalid` for a seal that the other settings do not go with */
export function sealOf(
  given: z.output<ReturnType<typeof sealWith>>,
  libraries: readonly KmsLibrary[],
  section = 'seal',
): SealSettings {
  switch (given.type) {
    case 'shamir':
      return { type: 'shamir' };
    case 'keyfile':
      return { type: 'keyfile', path: given.path };
    case 'pkcs11': {
      const { type, library, slot, token_label, pin, key_label, generate_key } = given;
      if (!libraries.some(({ name }) => name === library)) {
        throw invalid(`${section}.library must be the name of a kms_library`);
      }
      if (slot === undefined && token_label === undefined) {
        throw invalid(`${section}.slot or ${section}.token_label must be given`);
      }
      return { type, library, slot, token_label, pin, key_label, generate_key };
    }
    case 'transit': {
      const { type, address, token, key_name, mount_path } = given;
      const { namespace, tls_ca_cert, tls_server_name } = given;
      const tls = { tls_ca_cert, tls_server_name };
      return { type, address, token, key_name, mount_path, namespace, ...tls };
    }
  }
}
