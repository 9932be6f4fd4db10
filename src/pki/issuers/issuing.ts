import { Failure } from '../../core/failure.ts';
import { type Certificate, isSelfIssued } from '../../x509/certificate.ts';
import { findExtension } from '../../x509/extensions.ts';
import { keyIdentifier } from '../../x509/keys.ts';
import { parseNameConstraints } from '../../x509/name-constraints.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import {
  type ConstrainedNames,
  type JudgedConstraints,
  judgeNameConstraints,
} from '../../x509/subtrees.ts';
import type { AuthorityUrls } from '../authority/urls.ts';
import type { Signer } from '../certificates/plan.ts';
import type { Key } from '../keys/key.ts';
import type { Issuer, NotAfterBehavior } from './issuer.ts';

/** What an issuer brings to each certificate that it signs, and what it forbids. */
export interface IssuingFacts extends Signer {
  /** Unix seconds. */
  not_after: number;
  behavior: NotAfterBehavior;
  /** With their templates filled in. */
  urls: AuthorityUrls;
  /** Of the issuer and those above it; empty when the issuer's name checks are switched off. */
  name_constraints: readonly JudgedConstraints[];
  /** How many authorities may follow one below the other; absent for no limit. */
  path_length?: number;
}

/**
 * Gathers what signing with an issuer depends on.
 *
 * @param urls those that its certificates carry
 */
export function describeIssuing(issuer: Issuer, key: Key, urls: AuthorityUrls): IssuingFacts {
  const known = described.get(issuer);
  if (known?.key === key && known.facts.urls === urls) return known.facts;
  const facts = gatherFacts(issuer, key, urls);
  described.set(issuer, { key, facts });
  return facts;
}

/** The last ones of each issuer; it is another object once anything about it changes. */
const described = new WeakMap<Issuer, { key: Key; facts: IssuingFacts }>();

function gatherFacts(issuer: Issuer, key: Key, urls: AuthorityUrls): IssuingFacts {
  const { certificate, settings } = issuer;
  const path = findPath(issuer);
  const length = settings.disable_path_length_checks ? undefined : remainingPathLength(path);
  return {
    subject: certificate.subject,
    key_identifier: certificate.subjectKeyId ?? keyIdentifier(certificate.subjectPublicKeyInfo),
    key: { key_type: key.key_type, key_bits: key.key_bits },
    not_after: certificate.notAfter,
    behavior: settings.leaf_not_after_behavior,
    urls,
    name_constraints: settings.disable_name_constraint_checks ? [] : path.flatMap(findConstraints),
    ...(length !== undefined && { path_length: length }),
  };
}

/**
 * The issuer and the authorities above it, as far as there is only one way up: where it forks,
 * what one way forbids another may allow.
 */
function findPath(issuer: Issuer): Certificate[] {
  const path: Certificate[] = [];
  const known = issuer.chain.map(({ certificate }) => certificate);
  let at: Certificate | undefined = issuer.certificate;
  while (at && !path.includes(at)) {
    path.push(at);
    if (isSelfIssued(at)) break;
    const child: Certificate = at;
    const parents = known.filter(({ subject }) => Buffer.compare(subject, child.issuer) === 0);
    at = parents.length === 1 ? parents[0] : undefined;
  }
  return path;
}

/** @see RFC 5280 §4.2.1.9 */
function remainingPathLength(path: readonly Certificate[]): number | undefined {
  let below = 0;
  let remaining = Number.POSITIVE_INFINITY;
  for (const { pathLength, ...certificate } of path) {
    if (pathLength !== undefined) remaining = Math.min(remaining, pathLength - below);
    if (Buffer.compare(certificate.subject, certificate.issuer) !== 0) below += 1;
  }
  return remaining === Number.POSITIVE_INFINITY ? undefined : Math.max(remaining, 0);
}

function findConstraints(certificate: Certificate): JudgedConstraints[] {
  const extension = findExtension(certificate.extensions, EXTENSION_OID.nameConstraints);
  return extension ? [parseNameConstraints(extension.value)] : [];
}

/**
 * Refuses names that no verifier would accept from this issuer.
 *
 * @throws Failure `invalid`
 * @see RFC 5280 §4.2.1.10
 */
export function checkNameConstraints(issuer: IssuingFacts, names: ConstrainedNames): void {
  for (const constraints of issuer.name_constraints) {
    const verdict = judgeNameConstraints(constraints, names);
    if (!verdict.allowed) {
      throw new Failure('invalid', `the issuer's name constraints refuse it: ${verdict.because}`);
    }
  }
}
