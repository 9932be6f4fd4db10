/** The beginning of what explicit parameters of a curve name their field by, 1.2.840.10045.1; named curves have none. */
const FIELD = Buffer.from('2a8648ce3d01', 'hex');

/** What says that a key is one on a curve, 1.2.840.10045.2.1. */
const EC_KEY = Buffer.from('2a8648ce3d0201', 'hex');

const OBJECT_IDENTIFIER = 0x06;
const BIT_STRING = 0x03;
/** What a point begins with that has both coordinates (RFC 5480 §2.2). */
const UNCOMPRESSED = 0x04;

/**
 * Whether anything in DER may be a key that takes OpenSSL long to decode: on a curve that it describes itself, or with a
 * point of which one coordinate is left out, which is a square root to calculate: a third of a second for a curve that is
 * chosen for that, 0.4 ms for a point.
 *
 * @see RFC 5480 §2.1.1: certificates have named curves alone
 */
export function mayHaveSlowKey(der: Buffer): boolean {
  if (der.includes(FIELD)) return true;
  for (let at = der.indexOf(EC_KEY); at >= 0; at = der.indexOf(EC_KEY, at + 1)) {
    if (!isBeforeWholePoint(der, at + EC_KEY.length)) return true;
  }
  return false;
}

/** Whether the name of a curve follows, and a point with both coordinates. */
function isBeforeWholePoint(der: Buffer, at: number): boolean {
  if (der[at] !== OBJECT_IDENTIFIER) return false;
  const point = at + 2 + (der[at + 1] ?? 0);
  if (der[point] !== BIT_STRING) return false;
  const length = der[point + 1] ?? 0;
  const bits = point + 2 + (length > 0x80 ? length & 0x7f : 0);
  return der[bits] === 0 && der[bits + 1] === UNCOMPRESSED;
}
