/** Extensions beyond RFC 5280 that certificates are asked for. */

import { contextConstructed, integer, octetString, oid, sequence } from './der.ts';
import type { Extension } from './extensions.ts';

export const TLS_FEATURE_OID = '1.3.6.1.5.5.7.1.24';
export const SID_OID = '1.3.6.1.4.1.311.25.2';
/** szOID_NTDS_OBJECTSID: the kind of other name within. */
const OBJECT_SID_OID = '1.3.6.1.4.1.311.25.2.1';

/** status_request, as TLS numbers its extensions (RFC 6066 §8). */
const STATUS_REQUEST = 5;

/** Servers have to staple an OCSP answer. @see RFC 7633 §4.1 */
export const MUST_STAPLE: Extension = {
  oid: TLS_FEATURE_OID,
  critical: false,
  value: sequence(integer(STATUS_REQUEST)),
};

/** A security identifier as Windows writes it: revision 1, an authority, at most 15 further numbers. */
export function isSid(text: string): boolean {
  return text.length <= 184 && /^S-1-\d{1,14}(?:-\d{1,10}){1,15}$/.test(text);
}

/** Which account of a Windows domain the certificate is for (MS-WCCE §2.2.2.7.7.4). */
export function securityIdentifier(sid: string): Extension {
  const name = contextConstructed(
    0,
    oid(OBJECT_SID_OID),
    contextConstructed(0, octetString(Buffer.from(sid, 'latin1'))),
  );
  return { oid: SID_OID, critical: false, value: sequence(name) };
}
