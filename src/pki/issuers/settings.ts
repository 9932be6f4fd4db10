import type { z } from 'zod';
import { asSet, comparedBy } from '../../core/comparison.ts';
import { type Failure, invalid } from '../../core/failure.ts';
import { choice, shortList, text } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { findSignatureAlgorithm, fitsKey } from '../../x509/algorithms.ts';
import { describePublicKey } from '../../x509/keys.ts';
import { newNameText, referenceList } from '../fields/key-field-kinds.ts';
import { chainLength, MOST_CHAIN_BYTES, MOST_MEMBERS } from '../mount-state/chain.ts';
import {
  type Issuer,
  type IssuerSettings,
  issuerFlags,
  mayIssue,
  maySignCrls,
  NOT_AFTER_BEHAVIORS,
  USAGES,
  type Usage,
} from '../mount-state/issuer.ts';
import { type MountState, resolveIssuer } from '../mount-state/state.ts';
import { checkUrls, urlFields } from '../mount-state/urls.ts';

/** Reading is always among them, and their order says nothing. */
const usageList = comparedBy(shortList, {
  form: (read) => asSet((usage) => usage)(Array.isArray(read) ? [...read, 'read-only'] : read),
});

/** What a client can change of an issuer. */
export const issuerFields = {
  issuer_name: newNameText('').describe('A name, unique in the mount; empty for none.'),
  leaf_not_after_behavior: choice(NOT_AFTER_BEHAVIORS, 'err').describe(
    'When a certificate would outlive the issuer: refuse it, end it with the issuer, or permit it.',
  ),
  manual_chain: referenceList([]).describe(
    'The chain as issuers, this one first ("self" means it too), at most 32; empty: worked out.',
  ),
  usage: usageList([...USAGES]).describe(
    'What the issuer may be used for: read-only, issuing-certificates, crl-signing, ocsp-signing.',
  ),
  revocation_signature_algorithm: text('').describe(
    'With what CRLs and OCSP answers are signed, e.g. "SHA384WithRSA"; empty: as fits the key.',
  ),
  ...urlFields,
  ...issuerFlags,
};

export type IssuerUpdate = z.output<z.ZodObject<typeof issuerFields>>;
export const issuerPatch = patchOf(issuerFields);
export type IssuerPatch = z.output<typeof issuerPatch>;

/** The settings of an issuer in the form in which they are written. */
export function updateOf({ name, settings }: Issuer): IssuerUpdate {
  return { ...settings, issuer_name: name, manual_chain: settings.manual_chain ?? [] };
}

/**
 * Judges an issuer's settings as they shall be.
 *
 * @throws Failure `invalid`; `unresolved` for a manual chain through an unknown issuer
 */
export function planSettings(
  mountState: MountState,
  issuer: Issuer,
  update: IssuerUpdate,
): IssuerSettings {
  const { issuer_name: _, ...rest } = update;
  checkUrls(update, update.enable_aia_url_templating);
  return {
    ...rest,
    usage: planUsage(issuer, update.usage),
    manual_chain: planManualChain(mountState, issuer, update.manual_chain),
    revocation_signature_algorithm: planAlgorithm(
      mountState,
      issuer,
      update.revocation_signature_algorithm,
    ),
  };
}

/** @see P-92 */
function planUsage(issuer: Issuer, wanted: readonly string[]): Usage[] {
  const unknown = wanted.filter((word) => !USAGES.some((usage) => usage === word));
  if (unknown.length > 0) {
    throw invalid(
      `Unable to parse specified usages: [${wanted.join(' ')}] - valid values are ${USAGES.join(',')}`,
      { fields: { usage: USAGES.join(', ') } },
    );
  }
  const usage = USAGES.filter((word) => word === 'read-only' || wanted.includes(word));
  if (issuer.revoked_at_ms !== undefined && usage.includes('issuing-certificates')) {
    throw invalid('This issuer was revoked; it cannot issue certificates again');
  }
  const isIssuing = issuer.settings.usage.includes('issuing-certificates');
  // One from before this was looked at stays as it is when something else is changed.
  if (usage.includes('issuing-certificates') && !isIssuing && !mayIssue(issuer.certificate)) {
    throw invalid(
      "the issuer's certificate lacks the CertSign KeyUsage value: issuing-certificates is not possible",
    );
  }
  if (usage.includes('crl-signing') && !maySignCrls(issuer.certificate)) {
    throw invalid(
      "the issuer's certificate lacks the CRLSign KeyUsage value: crl-signing is not possible",
    );
  }
  return usage;
}

/**
 * @returns whether it is the stored one
 * @throws Failure `invalid` for a longer one than may be, unless it is
 */
export function checkChainLength(issuer: Issuer, wanted: readonly string[]): boolean {
  // One from before there were bounds stays when something else is changed.
  const isStored = wanted.join() === issuer.settings.manual_chain?.join();
  if (wanted.length > MOST_MEMBERS && !isStored) {
    throw refuseChain(`manual_chain has ${wanted.length} members`, `at most ${MOST_MEMBERS}`);
  }
  return isStored;
}

/** @see P-93 */
function planManualChain(
  mountState: MountState,
  issuer: Issuer,
  wanted: readonly string[],
): string[] | null {
  if (wanted.length === 0) return null;
  const isStored = checkChainLength(issuer, wanted);
  const members = wanted.map((ref, index) =>
    index === 0 && ref === 'self' ? issuer : resolveIssuer(mountState, ref),
  );
  const ids = members.map(({ id }) => id);
  if (ids[0] !== issuer.id) {
    throw invalid(`expected first cert in chain to be a self-reference: "self" or ${issuer.id}`);
  }
  if (new Set(ids).size !== ids.length) {
    throw invalid('manual_chain names an issuer twice');
  }
  const bytes = chainLength(members.map(({ certificate }) => certificate));
  if (bytes > MOST_CHAIN_BYTES && !isStored) {
    throw refuseChain(`manual_chain has ${bytes} bytes`, `at most ${MOST_CHAIN_BYTES}, as PEM`);
  }
  return ids;
}

function refuseChain(what: string, most: string): Failure {
  return invalid(`${what}: ${most} are accepted`, {
    fields: { manual_chain: most },
  });
}

function planAlgorithm(
  { keys }: MountState,
  issuer: Issuer,
  wanted: string,
): IssuerSettings['revocation_signature_algorithm'] {
  if (wanted === '') return '';
  // An unchanged value is not checked: the key may be of a kind that is not supported.
  const present = issuer.settings.revocation_signature_algorithm;
  if (wanted === present) return present;
  // Clients write and read it without the word that tells it from Ed25519ph. @see P-467
  const algorithm = findSignatureAlgorithm(wanted === 'Ed25519' ? 'PureEd25519' : wanted);
  if (!algorithm) {
    throw invalid(`Unknown signature algorithm value: "${wanted.slice(0, 64)}"`);
  }
  const key = describePublicKey(issuer.certificate.subjectPublicKeyInfo);
  if (!fitsKey(algorithm, key)) {
    throw invalid(`${algorithm} does not go with the issuer's ${key.key_type} key`);
  }
  const { pss } = keys.get(issuer.key_id) ?? {};
  if (pss !== undefined && !fitsKey(algorithm, { ...key, pss })) {
    const can = pss === 'PSS' ? 'signs PSS alone' : `signs ${pss} alone`;
    throw invalid(`${algorithm} does not go with the issuer's key: its device ${can}`);
  }
  return algorithm;
}
