import type { Csr } from '../../x509/csr.ts';
import { findExtension } from '../../x509/extensions.ts';
import { parseExtKeyUsage, parseKeyUsage } from '../../x509/key-usages.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
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
