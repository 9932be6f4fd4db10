import { planLease } from '../../access/auth/leases/operations.ts';
import { retryOnConflict } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { Failure } from '../../core/failure.ts';
import { isForRoom } from '../../store/waiting-sets.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import {
  chainOf,
  type IssuedAnswer,
  type SignedLeafAnswer,
  withPrivateKey,
} from '../certificates/answer.ts';
import { requireUnblockedKey } from '../keys/blocked.operations.ts';
import { generateKeyToHandOut } from '../keys/generation.operations.ts';
import { lineOfMount } from '../mount-state/operations.ts';
import { encodePkcs12InTurn, planLeafOnThread, requireSoundKeyOf } from '../planning/operations.ts';
import { isHeavyLeaf, type PlannedLeaf } from '../planning/task.ts';
import { namesOfCsr } from '../profile/csr-fields.ts';
import { requireCsr, type SignedCsr } from '../profile/csr-rules.ts';
import { type LeafPlan, planIssue, planSign } from '../profile/leaf.ts';
import { type IssueRequest, passwordOf, type SignRequest } from '../profile/request.ts';
import { judgeBringing, type NamesBrought } from './brought.operations.ts';
import { type IssuanceContext, readIssuanceContext, type Target } from './context.operations.ts';
import { takeBackNames, writeNames } from './names.operations.ts';
import {
  planSigned,
  type SignedLeaf,
  type StorageRules,
  type Subject,
} from './signing.operations.ts';

/** Makes a key and a certificate for it, within the bounds of a role. */
export async function issueCertificate(
  app: App,
  caller: Caller,
  input: IssueRequest & Target,
): Promise<DataResult<IssuedAnswer>> {
  return retryOnConflict(
    app,
    caller,
    async () => commitSigned(app, caller, await planIssuance(app, caller, input)),
    { app, key: lineOfMount(caller.mount.id) },
  );
}

/** Signs a CSR within the bounds of a role. */
export function signCsr(
  app: App,
  caller: Caller,
  input: SignRequest & Target,
): Promise<DataResult<SignedLeafAnswer>> {
  return signRequest(app, caller, input, async (readCsr) => {
    const context = await readIssuanceContext(app, caller, input);
    const { plan, ...subject } = await decideSign(app, caller, { input, readCsr }, context);
    const brought = [() => namesOfCsr(context.role, input, plan.names)];
    return { context, plan, subject, brought };
  });
}

/** What a CSR comes to, and what it rests on. */
interface DecidedCsr {
  context: Parameters<typeof planSigned>[3];
  plan: LeafPlan;
  subject: Subject;
  /** What the CSR brings, as the fields that it could be sent by; each may say one field otherwise. */
  brought: readonly NamesBrought[];
}

/** Signs a CSR as it is decided, anew after each conflict; the CSR itself is read once. */
export async function signRequest(
  app: App,
  caller: Caller,
  input: Parameters<typeof planSigned>[2] & Pick<SignRequest, 'csr'>,
  decide: (readCsr: () => Promise<SignedCsr>) => Promise<DecidedCsr>,
): Promise<DataResult<SignedLeafAnswer>> {
  const judgeNames = judgeBringing(caller);
  let signed: Promise<SignedCsr> | undefined;
  // Once, however often the certificate is planned.
  const readCsr = (): Promise<SignedCsr> => {
    signed ??= requireCsr(input.csr);
    return signed;
  };
  return retryOnConflict(
    app,
    caller,
    async () => {
      const { context, plan, subject, brought } = await decide(readCsr);
      const judging = judgeNames(brought);
      if (judging) await judging;
      const { subjectPublicKeyInfo } = subject;
      const unblocked = await requireUnblockedKey(app, caller.mount.id, subjectPublicKeyInfo);
      const leaf = await planSigned(app, caller, input, context, plan, subject);
      return commitSigned(app, caller, { ...leaf, effects: [...leaf.effects, unblocked] });
    },
    { app, key: lineOfMount(caller.mount.id) },
  );
}

/** Decides on a CSR within a role, where it takes long beside others. */
export async function decideSign(
  app: App,
  caller: Caller,
  { input, readCsr }: { input: SignRequest & Target; readCsr(): Promise<SignedCsr> },
  { role, context }: Pick<IssuanceContext, 'role' | 'context'>,
): Promise<Subject & { plan: LeafPlan }> {
  if (isHeavyLeaf(role, input)) {
    const { role: _, issuer_ref: __, latest: ___, ...request } = input;
    const { plan, ...subject } = await planLeafOnThread(app, caller, {
      kind: 'sign',
      role,
      request,
      context,
    });
    return { plan, ...requireSubject(subject) };
  }
  const signed = await readCsr();
  const plan = planSign(role, input, signed, context);
  await requireSoundKeyOf(app, caller, signed.key, signed.csr.subjectPublicKeyInfo);
  return { plan, subjectPublicKeyInfo: signed.csr.subjectPublicKeyInfo, key: signed.key };
}

export function requireSubject({ subjectPublicKeyInfo, key }: Omit<PlannedLeaf, 'plan'>): Subject {
  if (!subjectPublicKeyInfo) throw new Error('a request was decided on without its key');
  return { subjectPublicKeyInfo, key };
}

/** At once but for what takes long. */
export function decideIssue(
  app: App,
  caller: Caller,
  input: IssueRequest & Target,
  { role, context }: Pick<IssuanceContext, 'role' | 'context'>,
): { plan: LeafPlan; key: KeyDescription } | Promise<{ plan: LeafPlan; key: KeyDescription }> {
  if (isHeavyLeaf(role, input)) {
    const { role: _, issuer_ref: __, latest: ___, password: ____, ...request } = input;
    return planLeafOnThread(app, caller, { kind: 'issue', role, request, context });
  }
  const { key, ...plan } = planIssue(role, input, context);
  return { plan, key };
}

/**
 * Makes a key and a certificate within the bounds of a role for another write set: whoever
 * calls commits its effects before anybody sees the certificate, and sees to permission.
 *
 * @param caller with the mount of the issuer
 */
export async function planIssuance(
  app: App,
  caller: Caller,
  input: IssueRequest & Target,
): Promise<SignedLeaf<IssuedAnswer>> {
  const password = passwordOf(input);
  const context = await readIssuanceContext(app, caller, input);
  const { plan, key } = await decideIssue(app, caller, input, context);
  const { public_key, private_key } = await generateKeyToHandOut(app, caller, key);
  const subject = { subjectPublicKeyInfo: public_key, key };
  const leaf = await planSigned(app, caller, input, context, plan, subject);
  if (password === undefined) {
    return { ...leaf, answer: withPrivateKey(leaf.answer, private_key, input) };
  }
  const { chain } = context.issuer;
  const file = await encodePkcs12InTurn(app, caller, {
    private_key: private_key.encode('pkcs8').der,
    certificates: [leaf.der, ...chainOf(chain, input).map(({ raw }) => raw)],
    password,
  });
  const pkcs12 = Buffer.from(file).toString('base64');
  const { key_type } = private_key;
  return { ...leaf, answer: { ...leaf.answer, private_key_type: key_type, pkcs12 } };
}

/** Whether a write set surely was not written. */
const isRefused = (error: unknown): boolean =>
  isForRoom(error) || !(error instanceof Failure) || error.kind !== 'unavailable';

/** Makes a signed certificate durable, with its lease where it has one, and hands it out. */
export async function commitSigned<Answer>(
  app: App,
  caller: Caller,
  leaf: SignedLeaf<Answer>,
): Promise<DataResult<Answer>> {
  // The row is durable before the certificate leaves the process: a crash in between loses a
  // signature that nobody has seen, never one that nobody can revoke. Without a row to keep,
  // the record of the request still comes first.
  const { answer, warnings, role, names } = leaf;
  const leased = leaseOf(app, caller, role, leaf);
  const all = [...leaf.effects, ...(leased?.effects ?? [])];
  await writeNames(app, names);
  try {
    // Names may have been granted to who the caller was.
    if (isTemplated(role)) await app.commitOnce(caller, all);
    else await app.commit(caller, all);
  } catch (error) {
    if (isRefused(error)) await takeBackNames(app, names);
    throw error;
  }
  return { data: answer, warnings, ...(leased && { lease: leased.lease }) };
}

const isTemplated = (role: StorageRules): boolean =>
  role.allowed_domains_template || role.allowed_uri_sans_template;

/** What revokes the certificate when the token that asked for it ends. */
function leaseOf(
  app: App,
  caller: Caller,
  role: StorageRules,
  { serial, not_after }: { serial: string; not_after: number },
): ReturnType<typeof planLease> | undefined {
  if (!role.generate_lease || role.no_store) return undefined;
  const expires_at = not_after;
  return planLease(app, caller, {
    kind: 'certificate',
    data: { serial },
    expires_at,
    renewable: false,
  });
}
