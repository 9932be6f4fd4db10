/** The beginning of what explicit parameters of a curve name their field by, 1.2.840.10045.1; named curves have none. */
const FIELD = Buffer.from('2a8648ce3d01', 'hex');

const BLOCK = /-----BEGIN [^-]*-----([^-]*)-----END/g;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Whether certificates in a text of PEM may have keys on curves that they describe themselves: OpenSSL takes a third
 * of a second for one that is chosen for that. What cannot be looked into counts as such.
 *
 * @see RFC 5480 §2.1.1: certificates have named curves alone
 */
export function mayHaveExplicitCurve(pem: string): boolean {
  for (const [, body = ''] of pem.matchAll(BLOCK)) {
    const text = body.replaceAll(/\s/g, '');
    if (!BASE64.test(text) || Buffer.from(text, 'base64').includes(FIELD)) return true;
  }
  return false;
}
