/** Subjects of certificates by which an issuer vouches for keys of the server's own. */

import { Failure } from '../../core/failure.ts';
import { sequence } from '../../x509/der.ts';
import { children, readDer } from '../../x509/der-reader.ts';
import { parseIpAddress } from '../../x509/ip-addresses.ts';
import {
  encodeSubject,
  extendName,
  type Name,
  type NameAttribute,
  parseName,
} from '../../x509/names.ts';
import { ATTRIBUTE_OID, EMAIL_ADDRESS_OID } from '../../x509/oids.ts';
import { findHostInSubject } from '../../x509/subject-hosts.ts';
import { type JudgedConstraints, judgeNameConstraints } from '../../x509/subtrees.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { commonNamesOf, subjectEmailsOf } from './csr-fields.ts';
import { readConstraintsAbove } from './issuing.ts';

/**
 * Chooses a subject that verifiers take beneath an issuer: best of all one that begins as the issuer's own, which is within
 * whatever directory names are permitted above it, by authorities that are not known here, too.
 *
 * @returns DER of a Name, that common name at its end; undefined where constraints stop each of them, or cannot be read
 * @see RFC 5280 §4.2.1.10
 */
export function chooseOwnSubject(issuer: Issuer, common_name: string): Uint8Array | undefined {
  const constraints = readIfReadable(issuer);
  if (!constraints) return undefined;
  const { subjectName } = issuer.certificate;
  return [
    extendName(beforeHosts(subjectName), { common_name }),
    extendName(subjectName.raw, { common_name }),
    encodeSubject({ common_name }),
  ].find((subject) => isLetPass(constraints, subject));
}

function readIfReadable(issuer: Issuer): readonly JudgedConstraints[] | undefined {
  try {
    return readConstraintsAbove(issuer);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/**
 * The parts of a name before one that verifiers hold to constraints on hosts or mailboxes where it stands in no CA's
 * certificate; what these permit above the issuer is not always known.
 */
function beforeHosts({ raw, attributes }: Name): Uint8Array {
  const at = attributes.findIndex((part) => part.some(isHostOrMailbox));
  if (at < 0) return raw;
  return sequence(
    ...children(readDer(raw))
      .slice(0, at)
      .map((part) => part.raw),
  );
}

const isHostOrMailbox = ({ oid, value }: NameAttribute): boolean =>
  oid === EMAIL_ADDRESS_OID ||
  (oid === ATTRIBUTE_OID.common_name &&
    (findHostInSubject(value) !== undefined || parseIpAddress(value) !== undefined));

function isLetPass(constraints: readonly JudgedConstraints[], subject: Uint8Array): boolean {
  const subjectName = readOrNone(subject);
  if (!subjectName) return false;
  const email = subjectEmailsOf({ subjectName });
  return commonNamesOf({ subjectName }).every((common_name) =>
    constraints.every(
      (one) =>
        judgeNameConstraints(one, { subject, common_name, email, dns: [], ip: [], uri: [] })
          .allowed,
    ),
  );
}

/** Undefined for one of more attributes than a name has. */
function readOrNone(name: Uint8Array): Name | undefined {
  try {
    return parseName(name);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
