import type { Csr } from '../../x509/csr.ts';
import { findExtension, parseSubjectKeyIdentifier } from '../../x509/extensions.ts';
import { parseExtKeyUsage, parseKeyUsage } from '../../x509/key-usages.ts';
import { NAME_CONSTRAINT_FIELDS, parseNameConstraints } from '../../x509/name-constraints.ts';
import { ATTRIBUTE_OID, EMAIL_ADDRESS_OID, EXTENSION_OID } from '../../x509/oids.ts';
import type { RequestedNames } from '../roles/name-policy.ts';
import type { Role } from '../roles/role.ts';
import type { SignRequest } from './request.ts';

type Sources = Pick<Role, 'use_csr_common_name' | 'use_csr_sans' | 'serial_number_source'>;

/**
 * What a CSR brings into a certificate, as the fields that `issue` would take it by; a kind of name
 * that it does not bring is left out. A common name that stands among the alternative names is not
 * counted again there.
 *
 * @param names as they will stand in the certificate
 */
export function namesOfCsr(
  role: Sources,
  request: Pick<SignRequest, 'exclude_cn_from_sans' | 'user_ids'>,
  names: RequestedNames,
): Record<string, string | string[]> {
  const { common_name, serial_number, user_ids } = names;
  const fields: Record<string, string | string[]> = {};
  if (role.use_csr_common_name) fields.common_name = common_name;
  if (role.serial_number_source === 'json-csr') fields.serial_number = serial_number;
  if (request.user_ids.length === 0) fields.user_ids = [...user_ids];
  if (role.use_csr_sans) {
    const copied = request.exclude_cn_from_sans ? '' : common_name.toLowerCase();
    const hosts = [...names.dns, ...names.email].filter((one) => one.toLowerCase() !== copied);
    fields.alt_names = hosts.join(',');
    fields.ip_sans = [...names.ip];
    fields.uri_sans = [...names.uri];
    fields.other_sans = names.other.map(({ oid, value }) => `${oid};UTF8:${value}`);
  }
  return Object.fromEntries(Object.entries(fields).filter(([, { length }]) => length > 0));
}

/** What a CSR says, as the fields that `sign-intermediate` would take it by. */
export type CsrValues = Record<string, string | string[]>;

const ATTRIBUTES = [
  'ou',
  'organization',
  'country',
  'locality',
  'province',
  'street_address',
  'postal_code',
] as const;

/**
 * {@link namesOfCsr} of a request whose values are all taken over.
 *
 * @param names as they will stand in the certificate
 */
export function readCsrValues(csr: Csr, names: RequestedNames): CsrValues {
  const { user_ids: _, ...fields } = namesOfCsr(
    { use_csr_common_name: true, use_csr_sans: true, serial_number_source: 'json-csr' },
    { exclude_cn_from_sans: false, user_ids: [] },
    names,
  );
  const stated: CsrValues = { ...fields };
  const common_names = commonNamesOf(csr);
  if (common_names.length > 1) stated.common_name = common_names;
  for (const field of ATTRIBUTES) stated[field] = [...(csr.subjectName.fields[field] ?? [])];
  const read = <Value>(type: string, parse: (value: Uint8Array) => Value): Value | undefined => {
    const extension = findExtension(csr.extensions, type);
    return extension && parse(extension.value);
  };
  stated.key_usage = read(EXTENSION_OID.keyUsage, parseKeyUsage) ?? [];
  stated.ext_key_usage_oids = read(EXTENSION_OID.extKeyUsage, parseExtKeyUsage) ?? [];
  const identifier = read(EXTENSION_OID.subjectKeyIdentifier, parseSubjectKeyIdentifier);
  stated.skid = identifier ? Buffer.from(identifier).toString('hex') : '';
  const constraints = read(EXTENSION_OID.nameConstraints, parseNameConstraints);
  for (const field of NAME_CONSTRAINT_FIELDS) stated[field] = [...(constraints?.[field] ?? [])];
  return Object.fromEntries(Object.entries(stated).filter(([, { length }]) => length > 0));
}

/** Where everything comes from the CSR, and nothing stands for something else. */
const ALL_OF_CSR: Sources = {
  use_csr_common_name: true,
  use_csr_sans: true,
  serial_number_source: 'json-csr',
};

/**
 * What a CSR brings that is signed as it is: all its names, also a common name that stands among the alternative ones,
 * and its usages. Of several common names each may be the one that a client looks at.
 */
export function fieldsOfWholeCsr(
  csr: Csr,
  names: RequestedNames,
  common_names: readonly string[],
): Record<string, string | string[]>[] {
  const request = { exclude_cn_from_sans: true, user_ids: [] };
  const fields = namesOfCsr(ALL_OF_CSR, request, { ...names, common_name: common_names[0] ?? '' });
  const usage = findExtension(csr.extensions, EXTENSION_OID.keyUsage);
  if (usage) fields.key_usage = parseKeyUsage(usage.value);
  const purposes = findExtension(csr.extensions, EXTENSION_OID.extKeyUsage);
  if (purposes) fields.ext_key_usage_oids = parseExtKeyUsage(purposes.value);
  return [fields, ...common_names.slice(1).map((common_name) => ({ common_name }))];
}

/** Every common name of a request, or a certificate: of several, a client may match any. */
export const commonNamesOf = (csr: Pick<Csr, 'subjectName'>): string[] =>
  valuesOf(csr, ATTRIBUTE_OID.common_name);

/** E-mail addresses in a subject: name constraints hold for them as well. @see RFC 5280 §4.2.1.10 */
export const subjectEmailsOf = (csr: Pick<Csr, 'subjectName'>): string[] =>
  valuesOf(csr, EMAIL_ADDRESS_OID);

const valuesOf = ({ subjectName }: Pick<Csr, 'subjectName'>, type: string): string[] =>
  subjectName.attributes
    .flat()
    .filter(({ oid }) => oid === type)
    .map(({ value }) => value);
