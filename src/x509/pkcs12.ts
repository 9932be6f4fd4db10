/** Keys with their certificates under a password: PKCS #12 (RFC 7292), by algorithms that OpenSSL 3 and others read. */

import { createCipheriv, createHmac, hash, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import {
  contextConstructed,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  setOf,
  TAG,
  tlv,
} from './der.ts';

const DATA = oid('1.2.840.113549.1.7.1');
const ENCRYPTED_DATA = oid('1.2.840.113549.1.7.6');
const SHROUDED_KEY_BAG = oid('1.2.840.113549.1.12.10.1.2');
const CERT_BAG = oid('1.2.840.113549.1.12.10.1.3');
const X509_CERTIFICATE = oid('1.2.840.113549.1.9.22.1');
const LOCAL_KEY_ID = oid('1.2.840.113549.1.9.21');
const PBES2 = oid('1.2.840.113549.1.5.13');
const PBKDF2 = oid('1.2.840.113549.1.5.12');
const HMAC_SHA256 = oid('1.2.840.113549.2.9');
const AES_256_CBC = oid('2.16.840.1.101.3.4.1.42');
const SHA256 = oid('2.16.840.1.101.3.4.2.1');

/** What a guess of the password costs at the least: the MAC is the cheaper of the two ways to try one. */
const KEY_ITERATIONS = 100_000;
const MAC_ITERATIONS = 100_000;
const SALT_BYTES = 16;
const BLOCK_BYTES = 16;
const KEY_BYTES = 32;

export interface Pkcs12Content {
  /** PKCS #8, DER. */
  private_key: Uint8Array;
  /** DER; that of the key first. */
  certificates: readonly Uint8Array[];
  password: string;
}

/** Where random bytes come from, and what derives the key of the MAC where nobody waits for it: {@link deriveMacKey}. */
interface Surroundings {
  randomBytes(length: number): Uint8Array;
  deriveMacKey(password: string, salt: Uint8Array): Promise<Uint8Array>;
}

const derive = promisify(pbkdf2);

/** @returns DER of a PFX, its key and certificates by PBES2 with AES-256, its MAC HMAC-SHA-256 */
export async function encodePkcs12(
  { private_key, certificates, password }: Pkcs12Content,
  surroundings: Surroundings,
): Promise<Uint8Array> {
  const { randomBytes } = surroundings;
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, KEY_ITERATIONS, KEY_BYTES, 'sha256');
  const encrypt = (content: Uint8Array) => {
    const iv = randomBytes(BLOCK_BYTES);
    const cipher = createCipheriv('aes-256-cbc', key, iv);
    const encrypted = Buffer.concat([cipher.update(content), cipher.final()]);
    return { algorithm: describePbes2(salt, iv), encrypted };
  };
  const [own] = certificates;
  if (!own) throw new RangeError('a key without its certificate');
  const id = setOf(sequence(LOCAL_KEY_ID, setOf(octetString(hash('sha1', own, 'buffer')))));
  const certBags = certificates.map((certificate, at) =>
    bag(
      CERT_BAG,
      sequence(X509_CERTIFICATE, contextConstructed(0, octetString(certificate))),
      at === 0 ? id : undefined,
    ),
  );
  const shrouded = encrypt(private_key);
  const keyBag = bag(
    SHROUDED_KEY_BAG,
    sequence(shrouded.algorithm, octetString(shrouded.encrypted)),
    id,
  );
  const safe = sequence(encryptedInfo(encrypt(sequence(...certBags))), dataInfo(sequence(keyBag)));
  const macSalt = randomBytes(SALT_BYTES);
  const macKey = await surroundings.deriveMacKey(password, macSalt);
  const mac = createHmac('sha256', macKey).update(safe).digest();
  return sequence(
    integer(3),
    dataInfo(safe),
    sequence(
      sequence(sequence(SHA256, nullValue()), octetString(mac)),
      octetString(macSalt),
      integer(MAC_ITERATIONS),
    ),
  );
}

function bag(kind: Uint8Array, value: Uint8Array, attributes: Uint8Array | undefined): Uint8Array {
  const parts = [kind, contextConstructed(0, value)];
  return sequence(...parts, ...(attributes ? [attributes] : []));
}

const dataInfo = (content: Uint8Array): Uint8Array =>
  sequence(DATA, contextConstructed(0, octetString(content)));

function encryptedInfo({
  algorithm,
  encrypted,
}: {
  algorithm: Uint8Array;
  encrypted: Uint8Array;
}): Uint8Array {
  // [0] IMPLICIT OCTET STRING
  const content = tlv(0x80, encrypted);
  const data = sequence(integer(0), sequence(DATA, algorithm, content));
  return sequence(ENCRYPTED_DATA, contextConstructed(0, data));
}

/** @see RFC 8018 §6.2, §A.4 */
function describePbes2(salt: Uint8Array, iv: Uint8Array): Uint8Array {
  const derivation = sequence(
    octetString(salt),
    integer(KEY_ITERATIONS),
    sequence(HMAC_SHA256, nullValue()),
  );
  return sequence(
    PBES2,
    sequence(sequence(PBKDF2, derivation), sequence(AES_256_CBC, tlv(TAG.octetString, iv))),
  );
}

/** Of SHA-256, in bytes: what it looks at at once. */
const HASH_BLOCK = 64;
/** That the key is for a MAC. */
const MAC_ID = 3;
/**
 * Takes some tenths of a second. As long as the hash is, so that one round is all.
 *
 * @see RFC 7292 §B.2
 */
export function deriveMacKey(password: string, salt: Uint8Array): Uint8Array {
  // BMPString with two zeros at its end.
  const text = Buffer.from(`${password}\0`, 'utf16le').swap16();
  const diversifier = new Uint8Array(HASH_BLOCK).fill(MAC_ID);
  const begin = Buffer.concat([diversifier, repeated(salt), repeated(text)]);
  let key = hash('sha256', begin, 'buffer');
  for (let round = 1; round < MAC_ITERATIONS; round += 1) key = hash('sha256', key, 'buffer');
  return key;
}

/** As often as it fills whole blocks, the last time in part. */
function repeated(bytes: Uint8Array): Uint8Array {
  const length = HASH_BLOCK * Math.ceil(bytes.length / HASH_BLOCK);
  return Uint8Array.from({ length }, (_, at) => bytes[at % bytes.length] ?? 0);
}
