import type { KeyObject } from 'node:crypto';
import type { App } from '../../app/app.ts';
import { invalid } from '../../core/failure.ts';
import { signWithManagedKey } from '../../system/managed-keys/signing.operations.ts';
import { isCheap, type SignatureAlgorithm, signAsync, signSync } from '../../x509/algorithms.ts';
import {
  assembleSigned,
  encodeTbsCertificate,
  MAX_CERTIFICATE_BYTES,
  type TbsCertificate,
} from '../../x509/certificate.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { lintTbsCertificate } from '../../x509/lint.ts';
import { signatureRoom } from '../../x509/signature-costs.ts';
import type { Key } from '../mount-state/key.ts';
import { openKey } from './sealed-keys.operations.ts';

/** What makes signatures in the name of a key, wherever that is kept. */
export interface Signer {
  /** Of a key that is at hand; undefined: only {@link Signer.sign} can use it. For threads that sign by themselves. */
  readonly private_key: KeyObject | undefined;
  /**
   * Answers at once what is quick.
   *
   * @throws Failure `unavailable` when the key cannot be reached
   */
  sign(algorithm: SignatureAlgorithm, data: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** @throws Failure `unavailable` while the server is sealed */
export async function openSigner(app: App, mount_id: string, key: Key): Promise<Signer> {
  const { managed_key_id, public_key } = key;
  if (managed_key_id !== undefined) {
    const use = { mount_id, managed_key_id, public_key };
    return {
      private_key: undefined,
      sign: (algorithm, data) => signWithManagedKey(app, use, algorithm, data),
    };
  }
  return localSigner(await openKey(app, mount_id, key), key);
}

/** Signs with a key that is at hand: what is quick on the calling thread, the rest in the thread pool. */
export const localSigner = (private_key: KeyObject, description: KeyDescription): Signer => ({
  private_key,
  sign: (algorithm, data) => signWith(private_key, description, algorithm, data),
});

/**
 * Signs with a stored key.
 *
 * @throws Failure `unavailable` while the server is sealed, or the key cannot be reached
 */
export async function signWithKey(
  app: App,
  mount_id: string,
  key: Key,
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
): Promise<Uint8Array> {
  return (await openSigner(app, mount_id, key)).sign(algorithm, data);
}

/**
 * Lints a certificate, then signs it.
 *
 * @param most_bytes of the certificate; one that is longer than usual could not be read again
 * @returns DER
 * @throws Failure `invalid` saying what is wrong with the certificate; nothing was signed then
 */
export async function signCertificate(
  tbs: TbsCertificate,
  sign: (algorithm: SignatureAlgorithm, data: Uint8Array) => Uint8Array | Promise<Uint8Array>,
  most_bytes: number = MAX_CERTIFICATE_BYTES,
): Promise<Uint8Array> {
  const data = encodeSound(tbs, most_bytes);
  return assembleSigned(data, tbs.signatureAlgorithm, await sign(tbs.signatureAlgorithm, data));
}

/** What is signed, once it is found to be well made. @throws Failure as {@link signCertificate} */
export function encodeSound(
  tbs: TbsCertificate,
  most_bytes: number = MAX_CERTIFICATE_BYTES,
): Uint8Array {
  const problems = lintTbsCertificate(tbs);
  if (problems.length > 0) {
    throw invalid(`no valid certificate can be made of this: ${tellSome(problems)}`);
  }
  const data = encodeTbsCertificate(tbs);
  const most = most_bytes - signatureRoom(tbs.signatureAlgorithm);
  if (data.length > most) {
    throw invalid(
      `no valid certificate can be made of this: ${data.length} bytes, at most ${most} are accepted before it is signed`,
    );
  }
  return data;
}

/** A certificate of thousands of names can have as many problems. */
function tellSome(problems: readonly string[]): string {
  const told = problems.slice(0, MOST_TOLD).join('; ');
  return problems.length > MOST_TOLD ? `${told}; and ${problems.length - MOST_TOLD} more` : told;
}

const MOST_TOLD = 5;

/** Signs with a key that is at hand. */
export function signWith(
  private_key: KeyObject,
  description: KeyDescription,
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
): Uint8Array | Promise<Uint8Array> {
  return isCheap(description)
    ? signSync(private_key, algorithm, data)
    : signAsync(private_key, algorithm, data);
}
