import { z } from 'zod';
import { Failure } from '../../../core/failure.ts';
import { formatTimestamp } from '../../../core/timestamps.ts';
import { parseCertificate } from '../../../x509/certificate.ts';
import { findExtension } from '../../../x509/extensions.ts';
import { parseSubjectAltName } from '../../../x509/general-names.ts';
import { describePublicKey } from '../../../x509/keys.ts';
import { nameText } from '../../../x509/names.ts';
import { EXTENSION_OID } from '../../../x509/oids.ts';
import type { DetailedRow } from './store.ts';

/** Names of one certificate that are told in a list; the certificate itself has all. */
const MOST_NAMES = 100;

/** What a list tells of a certificate. */
export const detailsSchema = z.object({
  common_name: z.string(),
  issuer: z.string().describe('Distinguished name of the issuer; empty: it cannot be read.'),
  key_type: z.string().describe('Empty: of a kind that is not known here.'),
  key_bits: z.int(),
  not_before: z.string().describe('RFC 3339.'),
  not_after: z.string().describe('RFC 3339.'),
  dns_names: z
    .array(z.string())
    .optional()
    .describe(`The first ${MOST_NAMES} of them; left out where there is none.`),
});
type Details = z.output<typeof detailsSchema>;

export function describeDetails(row: DetailedRow): Details {
  const certificate = whereRead(() => parseCertificate(row.der));
  const names = findExtension(certificate?.extensions ?? [], EXTENSION_OID.subjectAltName);
  const dns = names ? (whereRead(() => parseSubjectAltName(names.value).dns) ?? []) : [];
  const key = certificate && whereRead(() => describePublicKey(certificate.subjectPublicKeyInfo));
  return {
    common_name: row.subject_cn,
    issuer: certificate ? nameText(certificate.issuerName) : '',
    key_type: key?.key_type ?? '',
    key_bits: key?.key_bits ?? 0,
    not_before: formatTimestamp(row.not_before),
    not_after: formatTimestamp(row.not_after),
    ...(dns.length > 0 && { dns_names: dns.slice(0, MOST_NAMES) }),
  };
}

/** What is stored may be from elsewhere, where it was revoked by itself: one that is not understood spoils no list. */
function whereRead<Read>(read: () => Read): Read | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
