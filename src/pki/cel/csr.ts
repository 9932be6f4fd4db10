import type { Csr } from '../../x509/csr.ts';
import { describePublicKey } from '../../x509/keys.ts';
import { commonNamesOf, fieldsOfWholeCsr } from '../profile/csr-fields.ts';
import { csrNames } from '../profile/verbatim.ts';

/** What a program may take from a CSR, as fields that it could be sent by. */
export const fieldsBrought = (csr: Csr): Record<string, string | string[]>[] =>
  fieldsOfWholeCsr(csr, csrNames(csr), commonNamesOf(csr));

/** A request for a certificate as programs see it. */
export function describeCsr(csr: Csr): Record<string, unknown> {
  const { fields } = csr.subjectName;
  const sans = csr.subjectAltNames;
  const { key_type, key_bits } = describePublicKey(csr.subjectPublicKeyInfo);
  return {
    Raw: csr.raw,
    RawTBSCertificateRequest: csr.info,
    RawSubject: csr.subject,
    RawSubjectPublicKeyInfo: csr.subjectPublicKeyInfo,
    PublicKeyAlgorithm: key_type.toUpperCase(),
    PublicKeyBits: key_bits,
    Subject: {
      CommonName: fields.common_name ?? '',
      SerialNumber: fields.serial_number ?? '',
      Country: fields.country ?? [],
      Organization: fields.organization ?? [],
      OrganizationalUnit: fields.ou ?? [],
      Locality: fields.locality ?? [],
      Province: fields.province ?? [],
      StreetAddress: fields.street_address ?? [],
      PostalCode: fields.postal_code ?? [],
    },
    DNSNames: sans?.dns ?? [],
    EmailAddresses: sans?.email ?? [],
    IPAddresses: sans?.ip ?? [],
    URIs: sans?.uri ?? [],
    Extensions: Object.fromEntries(csr.extensions.map(({ oid, value }) => [oid, value])),
  };
}
