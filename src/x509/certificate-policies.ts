/** The certificatePolicies extension (RFC 5280 §4.2.1.4). */

import { invalid } from '../core/failure.ts';
import { ia5String, oid, sequence, TAG, utf8String } from './der.ts';
import { readOid } from './der-primitives.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  expect,
  readDer,
  requireWellFormed,
} from './der-reader.ts';
import { readString } from './der-strings.ts';
import type { Extension } from './extensions.ts';
import { requireOid } from './key-usages.ts';
import { EXTENSION_OID, QUALIFIER_OID } from './oids.ts';

export interface CertificatePolicy {
  oid: string;
  /** URL of the certification practice statement. */
  cps?: string;
  /** explicitText of a user notice, at most 200 characters. */
  notice?: string;
}

const MAX_NOTICE = 200;

/**
 * certificatePolicies in the order given; undefined for none.
 *
 * @throws Failure `invalid` for a text that is no OID, for a policy that comes twice, a URL beyond
 *   ASCII and a notice of more than 200 characters
 */
export function certificatePolicies(policies: readonly CertificatePolicy[]): Extension | undefined {
  if (policies.length === 0) return undefined;
  const seen = new Set<string>();
  const encoded = policies.map((policy) => {
    const type = requireOid(policy.oid, 'policy_identifiers');
    if (seen.has(policy.oid)) throw invalid(`policy_identifiers: ${policy.oid} comes twice`);
    seen.add(policy.oid);
    const qualifiers = encodeQualifiers(policy);
    return qualifiers.length === 0 ? sequence(type) : sequence(type, sequence(...qualifiers));
  });
  return { oid: EXTENSION_OID.certificatePolicies, critical: false, value: sequence(...encoded) };
}

function encodeQualifiers({ cps, notice }: CertificatePolicy): Uint8Array[] {
  const qualifiers: Uint8Array[] = [];
  if (cps !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(cps)) {
      throw invalid('policy_identifiers: cps may hold a URL in printable ASCII');
    }
    qualifiers.push(sequence(oid(QUALIFIER_OID.cps), ia5String(cps)));
  }
  if (notice !== undefined) {
    if (!notice.isWellFormed() || !isNotice(notice)) {
      throw invalid(`policy_identifiers: notice may hold 1 to ${MAX_NOTICE} characters`);
    }
    qualifiers.push(sequence(oid(QUALIFIER_OID.userNotice), sequence(utf8String(notice))));
  }
  return qualifiers;
}

const isNotice = (text: string): boolean =>
  text.length > 0 && [...text].length <= MAX_NOTICE && !/\p{Cc}/u.test(text);

/** Reads the extension's value; unknown qualifiers and references of notices are left out. */
export function parseCertificatePolicies(value: Uint8Array): CertificatePolicy[] {
  const items = children(expect(readDer(value), TAG.sequence));
  if (items.length === 0) throw new DerError('a certificatePolicies extension without policies');
  return items.map((item) => {
    const fields = new DerFields(item);
    const policy: CertificatePolicy = { oid: readOid(fields.take()) };
    const qualifiers = fields.takeIf(TAG.sequence);
    fields.end();
    for (const qualifier of qualifiers ? children(qualifiers) : [])
      readQualifier(qualifier, policy);
    return policy;
  });
}

function readQualifier(qualifier: DerValue, policy: CertificatePolicy): void {
  const fields = new DerFields(qualifier);
  const type = readOid(fields.take());
  const content = fields.take();
  fields.end();
  if (type === QUALIFIER_OID.cps) {
    policy.cps = readString(expect(content, TAG.ia5String));
  } else if (type === QUALIFIER_OID.userNotice) {
    const notice = new DerFields(content);
    notice.takeIf(TAG.sequence);
    if (notice.tag !== undefined) policy.notice = readString(notice.take());
    notice.end();
  } else {
    requireWellFormed(content);
  }
}
