import type { ConstrainedNames } from '../../x509/subtrees.ts';
import { CA_KEY_USAGES } from './ca-request.ts';
import { checkNameConstraints, type IssuingFacts } from './issuing.ts';

/** Names as the certificate of a CA will hold them. */
interface AuthorityNames {
  /** Of subjectAltName. */
  names: Pick<ConstrainedNames, 'dns' | 'email' | 'ip' | 'uri' | 'other'>;
  /** Those of its GeneralNames that are not taken apart, whole. */
  unknown: readonly Uint8Array[];
  /** DER of the Name. */
  subject: Uint8Array;
  /** In the subject. */
  common_names: readonly string[];
  subject_emails: readonly string[];
}

const OF_AUTHORITIES: ReadonlySet<string> = new Set(
  CA_KEY_USAGES.map((usage) => usage.toLowerCase()),
);
const NO_SUBJECT = Uint8Array.of(0x30, 0);

/**
 * Refuses names that no verifier would accept of a CA beneath this issuer. Its common name is no host's, unless its key may serve
 * as one. The subject may be the issuer's own, as where it has a new key certified: verifiers hold that to no constraints as long
 * as something is beneath it.
 *
 * @param key_usage undefined: any
 * @throws Failure `invalid`
 * @see RFC 5280 §6.1.3 (b), (c)
 */
export function checkAuthorityNames(
  issuer: IssuingFacts,
  { names, unknown, subject, common_names, subject_emails }: AuthorityNames,
  key_usage: readonly string[] | undefined,
): void {
  const mayServe = key_usage?.some((usage) => !OF_AUTHORITIES.has(usage.toLowerCase())) !== false;
  const isOwnName = !mayServe && Buffer.compare(subject, issuer.subject) === 0;
  const judged = isOwnName
    ? { ...names, unknown, subject: NO_SUBJECT }
    : { ...names, unknown, subject, email: [...names.email, ...subject_emails] };
  for (const common_name of ['', ...(mayServe ? common_names : [])]) {
    checkNameConstraints(issuer, { ...judged, common_name });
  }
}
