import { hash } from 'node:crypto';
import { Failure, invalid } from '../../core/failure.ts';
import { WorkedOut } from '../../core/fairness/worked-out.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { type Certificate, isSignedBy } from '../../x509/certificate.ts';
import { type Extension, findExtension } from '../../x509/extensions.ts';
import { keyIdentifier, kindOf } from '../../x509/keys.ts';
import { parseNameConstraints } from '../../x509/name-constraints.ts';
import { nameText } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import {
  type ConstrainedNames,
  type JudgedConstraints,
  judgeNameConstraints,
} from '../../x509/subtrees.ts';
import { isRoot } from '../mount-state/chain.ts';
import type { Issuer, NotAfterBehavior } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import type { AuthorityUrls } from '../mount-state/urls.ts';
import type { Signer } from './plan.ts';

/** What an issuer brings to each certificate that it signs, and what it forbids. */
export interface IssuingFacts extends Signer {
  /** Unix seconds. */
  not_after: number;
  behavior: NotAfterBehavior;
  /** With their templates filled in. */
  urls: AuthorityUrls;
  /** Of the issuer and those above it; empty when the issuer's name checks are switched off. */
  name_constraints: readonly JudgedConstraints[];
  /** How many CAs may follow one below the other; absent for no limit. */
  path_length?: number;
}

/**
 * Gathers what signing with an issuer depends on.
 *
 * @param urls those that its certificates carry
 */
export function describeIssuing(issuer: Issuer, key: Key, urls: AuthorityUrls): IssuingFacts {
  const known = described.get(issuer);
  const isSame = known?.key === key && known.facts.urls === urls;
  const { facts, constrained } = isSame ? known : gatherFacts(issuer, key, urls);
  if (!isSame) described.set(issuer, { key, facts, constrained });
  if (constrained.length === 0) return facts;
  return { ...facts, name_constraints: constrained.flatMap(readConstraints) };
}

interface Gathered {
  /** Without constraints. */
  facts: IssuingFacts;
  /** The issuer and those above it: a thousand issuers may be beneath one of them. */
  constrained: readonly Certificate[];
}

/** The last ones of each issuer; it is another object once anything about it changes. */
const described = new WeakMap<Issuer, Gathered & { key: Key }>();

function gatherFacts(issuer: Issuer, key: Key, urls: AuthorityUrls): Gathered {
  const { certificate, settings } = issuer;
  const path = findPath(issuer);
  const length = settings.disable_path_length_checks ? undefined : remainingPathLength(path);
  const facts: IssuingFacts = {
    subject: certificate.subject,
    key_identifier: certificate.subjectKeyId ?? keyIdentifier(certificate.subjectPublicKeyInfo),
    key: kindOf(key),
    not_after: certificate.notAfter,
    behavior: settings.leaf_not_after_behavior,
    urls,
    name_constraints: [],
    ...(length !== undefined && { path_length: length }),
  };
  const isChecked = !settings.disable_name_constraint_checks;
  return { facts, constrained: isChecked ? findConstraining(issuer) : [] };
}

/**
 * Constraints of the issuer and of those above it, whether what is asked for is held to them or not.
 *
 * @throws Failure `invalid` where there is one that cannot be read
 */
export const readConstraintsAbove = (issuer: Issuer): readonly JudgedConstraints[] =>
  findConstraining(issuer).flatMap(readConstraints);

/**
 * The issuer and the CAs above it, as far as there is only one way up: where it forks,
 * what one way forbids another may allow.
 */
function findPath({ certificate, chain }: Issuer): Certificate[] {
  const path: Certificate[] = [];
  let at: Certificate | undefined = certificate;
  while (at && !path.includes(at)) {
    path.push(at);
    const parents = findParents(at, chain);
    at = parents.length === 1 ? parents[0] : undefined;
  }
  return path;
}

/** Those of a chain that may have signed a certificate. */
function findParents(child: Certificate, chain: readonly Certificate[]): Certificate[] {
  if (isRoot(child)) return [];
  const named = chain.filter(
    (one) => one !== child && Buffer.compare(one.subject, child.issuer) === 0,
  );
  // An authority that has changed its key has one name with that which certified the new one.
  return named.length > 1 ? named.filter((one) => signersOf(child)(one)) : named;
}

/** Each pair is verified once. */
const signersOf = memoizeWeak((child: Certificate) =>
  memoizeWeak(({ subjectPublicKeyInfo }: Certificate) => isSignedBy(child, subjectPublicKeyInfo)),
);

/**
 * Certificates whose constraints are met on every way up from the issuer, its own among them; of the same constraints one: an
 * authority that another has certified as well has them in either certificate.
 */
function findConstraining({ certificate, chain }: Issuer): Certificate[] {
  const parentsOf = memoizeWeak((child: Certificate) => findParents(child, chain));
  const constrained = climb(certificate, parentsOf, () => true).filter(hasConstraints);
  const distinct = new Map(constrained.toReversed().map((one) => [constraintsHash(one), one]));
  return [...distinct.values()].toReversed().filter((one) => {
    const around = climb(
      certificate,
      parentsOf,
      (at) => constraintsHash(at) !== constraintsHash(one),
    );
    return around.every((at) => parentsOf(at).length > 0);
  });
}

/** All that are met on the ways up from a certificate, as far as they are let pass. */
function climb(
  from: Certificate,
  parentsOf: (child: Certificate) => readonly Certificate[],
  isPassed: (at: Certificate) => boolean,
): Certificate[] {
  const met = new Set<Certificate>();
  const ahead = [from];
  for (const at of ahead) {
    if (met.has(at) || !isPassed(at)) continue;
    met.add(at);
    ahead.push(...parentsOf(at));
  }
  return [...met];
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

const findConstraints = ({ extensions }: Certificate): Extension | undefined =>
  findExtension(extensions, EXTENSION_OID.nameConstraints);

/** Undefined without constraints. */
const constraintsHash = memoizeWeak((certificate: Certificate): string | undefined => {
  const found = findConstraints(certificate);
  return found && hash('sha256', found.value);
});

const hasConstraints = (certificate: Certificate): boolean =>
  findConstraints(certificate) !== undefined;

/** What each certificate's constraints were read to, once for all issuers beneath it. */
const readOf = memoizeWeak((_certificate: Certificate) => new WorkedOut<JudgedConstraints>());

function readConstraints(certificate: Certificate): JudgedConstraints[] {
  const known = readOf(certificate).value;
  if (known) return [known];
  const extension = findConstraints(certificate);
  if (!extension) return [];
  const read = parseConstraints(certificate, extension);
  const bytes = weighConstraints(read, extension.value.length);
  return [readOf(certificate).keep(read, bytes)];
}

/** @throws Failure `invalid` of one that was stored before such constraints were refused where they come in */
function parseConstraints({ subjectName }: Certificate, { value }: Extension): JudgedConstraints {
  try {
    return parseNameConstraints(value);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const name = nameText(subjectName).slice(0, 256);
    throw invalid(
      `the name constraints of the authority "${name}" cannot be read, and no verifier takes what is beneath them: ${error.message}`,
      { cause: error },
    );
  }
}

/** A subtree as it was read and is looked up, besides its characters. */
const SUBTREE_BYTES = 160;
/** Likewise an attribute of a directory name, with its branch. */
const ATTRIBUTE_BYTES = 640;
const CHARACTER_BYTES = 4;

function weighConstraints(read: JudgedConstraints, length: number): number {
  const lists = Object.values(read).map((list) => list.length);
  const { permitted_directory_names = [], excluded_directory_names = [] } = read;
  const attributes = [permitted_directory_names, excluded_directory_names].flat(3).length;
  return (
    CHARACTER_BYTES * length +
    SUBTREE_BYTES * lists.reduce((all, one) => all + one, 0) +
    ATTRIBUTE_BYTES * attributes
  );
}

/**
 * Refuses names that no verifier would accept from this issuer.
 *
 * @throws Failure `invalid`
 * @see RFC 5280 §4.2.1.10
 * @see P-82
 */
export function checkNameConstraints(
  issuer: IssuingFacts,
  names: ConstrainedNames & { subject: Uint8Array },
): void {
  for (const constraints of issuer.name_constraints) {
    const verdict = judgeNameConstraints(constraints, names);
    if (!verdict.allowed) {
      throw invalid(`the issuer's name constraints refuse it: ${verdict.because}`);
    }
  }
}
