/** The beginning of what explicit parameters of a curve name their field by, 1.2.840.10045.1; named curves have none. */
const FIELD = Buffer.from('2a8648ce3d01', 'hex');

/** What follows where a block begins. */
const BLOCK = /^ [^-]*-----([^-]*)-----END/;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Whether anything in DER may be a key on a curve that it describes itself. */
export const mayDescribeCurve = (der: Buffer): boolean => der.includes(FIELD);

/**
 * Whether certificates in a text of PEM may have keys on curves that they describe themselves: OpenSSL takes a third
 * of a second for one that is chosen for that. What cannot be looked into counts as such.
 *
 * @see RFC 5480 §2.1.1: certificates have named curves alone
 */
export function mayHaveExplicitCurve(pem: string): boolean {
  const [, ...blocks] = pem.split('-----BEGIN');
  return blocks.some((block) => {
    const text = BLOCK.exec(block)?.[1]?.replaceAll(/\s/g, '');
    return (
      text === undefined || !BASE64.test(text) || mayDescribeCurve(Buffer.from(text, 'base64'))
    );
  });
}
