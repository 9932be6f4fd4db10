import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import { retryOnConflict } from '../../access/standing/attempts.operations.ts';
import { refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { encodePem } from '../../core/pem.ts';
import { chooseSignatureAlgorithm } from '../../x509/algorithms.ts';
import { assembleSigned, type Certificate } from '../../x509/certificate.ts';
import { encodeCsrInfo } from '../../x509/csr.ts';
import type { KeyDescription, KeyType } from '../../x509/keys.ts';
import { encodeSubject } from '../../x509/names.ts';
import {
  type IssuedAnswer,
  type SignedLeafAnswer,
  withPrivateKey,
} from '../certificates/answer.ts';
import { findCertificate } from '../certificates/store.ts';
import { resolveKeyParameters } from '../fields/key-parameters.ts';
import { basisOf, type IssuanceContext, readMountOf } from '../issuance/context.operations.ts';
import { commitSigned } from '../issuance/operations.ts';
import { planSigned, type SignedLeaf } from '../issuance/signing.operations.ts';
import { holdPolicyContext } from '../issuance/store.ts';
import { requireUnblockedKey } from '../keys/blocked.operations.ts';
import { type FreshKey, generateKey, handOut } from '../keys/generation.operations.ts';
import { signWith } from '../keys/signing.operations.ts';
import { lineOfMount, readMountState } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { type MountState, resolveSigningIssuer } from '../mount-state/state.ts';
import { requireSoundKeyOf } from '../planning/operations.ts';
import { checkCsrKey, requireCsr } from '../profile/csr-rules.ts';
import type { Format } from '../profile/request.ts';
import { roleSchema } from '../roles/role.ts';
import type { PolicyAnswer } from './answer.ts';
import {
  askPolicy,
  type Decided,
  type PolicyQuestion,
  requirePolicy,
} from './asking.operations.ts';
import { planAnswered, readAnswered, refused } from './certificate.ts';
import { readPolicy } from './settings.operations.ts';

/** What is understood of a body here; all of it is passed on. */
interface Understood {
  format: Format;
  private_key_format: string;
  remove_roots_from_chain: boolean;
}

/** The key that is to be certified. */
interface Subject {
  subjectPublicKeyInfo: Uint8Array;
  key: KeyDescription;
}

type Question = Omit<PolicyQuestion, 'mode'>;

/** Makes a key, and a certificate for it as the service has it. The service sees a request that says nothing but the key. */
export async function issueByPolicy(
  app: App,
  caller: Caller,
  question: Question,
  body: Understood & { key_type: KeyType; key_bits: number },
): Promise<DataResult<IssuedAnswer>> {
  const policy = await requirePolicy(app, caller);
  const { key_bits } = resolveKeyParameters({ ...body, signature_bits: 0 });
  const { key_type } = body;
  const key = { key_type, key_bits: key_type === 'ed25519' ? 0 : key_bits };
  const fresh = await generateKey(app, caller, key);
  const user = { ...question.user, csr: await makeEmptyCsr(app, caller, fresh) };
  const asked = { ...question, user, mode: 'issue' } as const;
  const answer = await askPolicy(app, caller, policy, asked);
  const subject = { subjectPublicKeyInfo: fresh.public_key, key };
  const private_key = handOut(fresh);
  return signDecided(app, caller, { answer, policy }, { asked, subject, body }, (signed) =>
    withPrivateKey(signed, private_key, body),
  );
}

/** Signs a request as the service has it; `ica` is the certificate of a CA. */
export async function signByPolicy(
  app: App,
  caller: Caller,
  question: Question & { mode: 'sign' | 'ica' },
  body: Understood & { csr: string },
): Promise<DataResult<SignedLeafAnswer>> {
  const policy = await requirePolicy(app, caller);
  const subject = await readSubject(app, caller, body.csr);
  const answer = await askPolicy(app, caller, policy, question);
  const wanted = { asked: question, subject, body };
  return signDecided(app, caller, { answer, policy }, wanted, (signed) => signed);
}

async function readSubject(app: App, caller: Caller, text: string): Promise<Subject> {
  const { csr, key } = await requireCsr(text);
  checkCsrKey(key, { key_type: 'any', key_bits: 0 });
  const { subjectPublicKeyInfo } = csr;
  await requireSoundKeyOf(app, caller, key, subjectPublicKeyInfo);
  await requireUnblockedKey(app, caller.mount.id, subjectPublicKeyInfo);
  return { subjectPublicKeyInfo, key };
}

async function makeEmptyCsr(app: App, caller: Caller, fresh: FreshKey): Promise<string> {
  const algorithm = chooseSignatureAlgorithm(fresh);
  const info = encodeCsrInfo({
    subject: encodeSubject({}),
    subjectPublicKeyInfo: fresh.public_key,
    extensions: [],
  });
  const signature = await signInTurn(app, caller, fresh, async () =>
    signWith(fresh.private_key, fresh, algorithm, info),
  );
  return encodePem('CERTIFICATE REQUEST', assembleSigned(info, algorithm, signature));
}

interface Wanted {
  asked: PolicyQuestion;
  subject: Subject;
  body: Understood;
}

/** Signs what the service has decided on; it is not asked again, however often others are in the way. */
function signDecided<Answer>(
  app: App,
  caller: Caller,
  { answer, policy }: Decided,
  wanted: Wanted,
  finish: (signed: SignedLeafAnswer) => Answer,
): Promise<DataResult<Answer>> {
  const certificate = readAnswered(answer.certificate);
  const mount_id = caller.mount.id;
  return retryOnConflict(
    app,
    caller,
    async () => {
      const present = await readPolicy(app, mount_id);
      if (present.version !== policy.version) throw changedMeanwhile();
      const leaf = await planDecided(app, caller, { answer, policy }, certificate, wanted);
      return commitSigned(app, caller, { ...leaf, answer: finish(leaf.answer) });
    },
    { app, key: lineOfMount(mount_id) },
  );
}

const changedMeanwhile = (): Failure =>
  new Failure('unavailable', 'config/external-policy was changed meanwhile: try again');

async function planDecided(
  app: App,
  caller: Caller,
  { answer, policy }: Decided,
  certificate: Certificate,
  { asked, subject, body }: Wanted,
): Promise<SignedLeaf> {
  const mountState = await readMountState(app, caller.mount.id);
  const chosen = answer.issuer_ref || asked.issuer_ref || 'default';
  const context = await readPolicyContext(app, caller, mountState, { chosen, answer, policy });
  await requireFreeSerial(app, caller, mountState, certificate);
  // It may have been blocked while the service was asked.
  const { subjectPublicKeyInfo } = subject;
  const unblocked = await requireUnblockedKey(app, caller.mount.id, subjectPublicKeyInfo);
  const { serialNumber } = certificate;
  try {
    const { mode } = asked;
    const plan = planAnswered(certificate, { mode, subjectPublicKeyInfo }, context.context);
    const warnings = [...answer.warnings, ...wordsBeside(answer), ...plan.warnings];
    const part = { ...subject, serialNumber };
    const row = { ...body, role: '' };
    const leaf = await planSigned(app, caller, row, context, { ...plan, warnings }, part);
    return { ...leaf, effects: [...leaf.effects, unblocked] };
  } catch (error) {
    throw refused(error);
  }
}

/** An error beside a certificate is a warning; so is a lease that cannot be. */
function wordsBeside({ error, generate_lease, store_certificate }: PolicyAnswer): string[] {
  const unleased = generate_lease && !store_certificate;
  return [
    ...(error === '' ? [] : [error]),
    ...(unleased ? ['no lease was made, since the certificate is not stored'] : []),
  ];
}

async function readPolicyContext(
  app: App,
  caller: Caller,
  mountState: MountState,
  { chosen, answer, policy }: Decided & { chosen: string },
): Promise<IssuanceContext> {
  const mount = await readMountOf(app, caller);
  const { issuer, key } = resolveChosen(mountState, chosen, answer);
  // Whoever chose it: what is denied at its own path is not used by another.
  await refuseDeniedNow(caller, ownPaths(caller, 'issuer', { ...issuer, ref: chosen }));
  const { ids, ...basis } = basisOf(app, mount, mountState, { issuer, key });
  return {
    role: roleSchema.parse({
      no_store: !answer.store_certificate,
      generate_lease: answer.generate_lease,
    }),
    held: holdPolicyContext({ ...ids, policy_version: policy.version }),
    ...basis,
  };
}

/** One that the service has named is the service's mistake. */
function resolveChosen(
  mountState: MountState,
  chosen: string,
  { issuer_ref }: PolicyAnswer,
): ReturnType<typeof resolveSigningIssuer> {
  try {
    return resolveSigningIssuer(mountState, chosen);
  } catch (error) {
    if (issuer_ref === '' || !(error instanceof Failure)) throw error;
    throw invalid(`the external policy service names an issuer that cannot sign: ${error.message}`);
  }
}

/** @throws Failure `invalid` for the serial number of another certificate of the mount: by it both would be revoked */
async function requireFreeSerial(
  app: App,
  { mount }: Caller,
  { issuers }: MountState,
  { serial }: Certificate,
): Promise<void> {
  const isIssuers = issuers.values().some(({ certificate }) => certificate.serial === serial);
  if (!isIssuers && !(await findCertificate(app.db, mount.id, serial))) return;
  throw refused(invalid('its serial number is that of another certificate'));
}
