import { children, readDer } from '../../src/x509/der-reader.ts';

/** What an OCSP answer says of the one certificate it is about. */
export type OcspVerdict = 'good' | 'unknown' | { revoked_at: number };

/**
 * Reads the status out of a successful answer (RFC 6960 §4.2.1). The signature is not looked
 * at: OpenSSL judges it elsewhere.
 *
 * @throws Error for an answer that is an error
 */
export function readOcspVerdict(der: Uint8Array): OcspVerdict {
  const [responseStatus, explicit] = children(readDer(der));
  if (responseStatus?.content[0] !== 0 || !explicit) throw new Error('no answer, an error');
  const [responseBytes] = children(explicit);
  const octets = responseBytes && children(responseBytes)[1];
  const basic = octets && readDer(octets.content);
  const responseData = basic && children(basic)[0];
  const responses = responseData && children(responseData).find(({ tag }) => tag === 0x30);
  const single = responses && children(responses)[0];
  const status = single && children(single)[1];
  switch (status?.tag) {
    case 0x80:
      return 'good';
    case 0x82:
      return 'unknown';
    case 0xa1:
      return { revoked_at: secondsOf(children(status)[0]?.content) };
    default:
      throw new Error('an answer without a status');
  }
}

/** GeneralizedTime as RFC 5280 §4.1.2.5.2 has it, `YYYYMMDDHHMMSSZ`, in Unix seconds. */
function secondsOf(content: Uint8Array | undefined): number {
  const text = Buffer.from(content ?? []).toString('latin1');
  const iso = text.replace(/^(....)(..)(..)(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Date.parse(iso) / 1000;
}
