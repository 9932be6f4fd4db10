import { generateKeyPairSync } from 'node:crypto';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { DataResult } from '../../../app/output.ts';
import { Failure } from '../../../core/failure.ts';
import { type KeyDescription, publicKeyInfo } from '../../../x509/keys.ts';
import { requireCelRole } from '../../cel/operations.ts';
import { requireUnblockedKey } from '../../keys/blocked.operations.ts';
import { encodeSound } from '../../keys/signing.operations.ts';
import { explainOnThread } from '../../planning/operations.ts';
import { withRest } from '../../profile/cel-template.ts';
import { namesOfCsr } from '../../profile/csr-fields.ts';
import { requireCsr, type SignedCsr } from '../../profile/csr-rules.ts';
import type { LeafPlan } from '../../profile/leaf.ts';
import { planCertificate } from '../../profile/plan.ts';
import {
  type IssueRequest,
  issueSchema,
  type SignRequest,
  signSchema,
} from '../../profile/request.ts';
import { judgeBringing } from '../brought.operations.ts';
import { describeByCel, judgingIssuers, storageOf } from '../cel/operations.ts';
import type { CelTrialInput } from '../cel/request.ts';
import { type IssuanceContext, readIssuanceContext } from '../context.operations.ts';
import { decideIssue, decideSign } from '../operations.ts';
import type { StorageRules, Subject } from '../signing.operations.ts';
import { describeTrial, type Trial, type TrialAnswer } from './answer.ts';

type Input = Omit<SignRequest, 'cert_metadata'> &
  Pick<IssueRequest, 'key_type' | 'key_bits'> & { role: string; cert_metadata?: string };

/** Says what a role would let be issued, and by which rule, without issuing it. @see P-435 */
export async function tryRole(
  app: App,
  caller: Caller,
  input: Input,
): Promise<DataResult<TrialAnswer>> {
  const { role: name, ...sent } = input;
  const request = { ...issueSchema.parse({}), ...sent };
  const context = await readIssuanceContext(app, caller, { role: name });
  const decided_by = `roles/${name}`;
  const { role } = context;
  const names = await listNames(app, caller, { role, request, identity: context.context.identity });
  return answerFor(decided_by, names, async () => {
    const { plan, ...subject } = await decide(app, caller, request, context);
    if (input.csr !== '') {
      const brought = () => namesOfCsr(role, request, plan.names);
      await judgeBringing(caller)([brought]);
    }
    return layOut(plan, subject, context, role);
  });
}

/** {@link tryRole} of a role that is a program. @see P-436 */
export async function tryCelRole(
  app: App,
  caller: Caller,
  input: CelTrialInput,
): Promise<DataResult<TrialAnswer>> {
  await requireCelRole(app, caller, input.role);
  const judge = judgingIssuers(caller);
  const csr = input.csr === '' ? {} : { csr: input.csr };
  return answerFor(`cel/roles/${input.role}`, [], async () => {
    const { described, decided, brought } = await describeByCel(app, caller, {
      input,
      judge,
      ...csr,
    });
    await judgeBringing(caller)(brought.map((fields) => () => fields));
    const request = { ...described.request, csr: input.csr };
    const { plan, ...subject } = await decide(app, caller, request, {
      ...decided,
      role: described.role,
    });
    return layOut(withRest(plan, described), subject, decided, storageOf(described));
  });
}

/** A refusal is an answer here; what fails for another reason is none. */
async function answerFor(
  decided_by: string,
  names: TrialAnswer['names'],
  plan: () => Promise<Trial>,
): Promise<DataResult<TrialAnswer>> {
  try {
    const trial = await plan();
    return { data: describeTrial(decided_by, names, trial), warnings: trial.plan.warnings };
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'invalid') throw error;
    return { data: { allowed: false, decided_by, because: error.message, names } };
  }
}

/** Of names that cannot be read nothing is told; why, the refusal says. */
async function listNames(app: App, caller: Caller, task: Parameters<typeof explainOnThread>[2]) {
  try {
    return await explainOnThread(app, caller, task);
  } catch (error) {
    if (error instanceof Failure && error.kind === 'invalid') return [];
    throw error;
  }
}

async function decide(
  app: App,
  caller: Caller,
  request: IssueRequest & Pick<SignRequest, 'csr'>,
  context: Pick<IssuanceContext, 'role' | 'context'>,
): Promise<{ plan: LeafPlan; key: KeyDescription; subjectPublicKeyInfo?: Uint8Array }> {
  // Of the role only its name is asked here.
  const input = { ...request, role: '' };
  if (input.csr === '') return decideIssue(app, caller, input, context);
  const readCsr = (): Promise<SignedCsr> => requireCsr(input.csr);
  const decided = await decideSign(
    app,
    caller,
    { input: { ...signSchema.parse({}), ...input, format: 'pem' }, readCsr },
    context,
  );
  await requireUnblockedKey(app, caller.mount.id, decided.subjectPublicKeyInfo);
  return decided;
}

/** In the place of a key that would be made. */
const PLACEHOLDER = publicKeyInfo(
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey,
);

/** As it would be signed, but for its key and its serial number. */
function layOut(
  plan: LeafPlan,
  { key, subjectPublicKeyInfo = PLACEHOLDER }: Partial<Subject> & Pick<Subject, 'key'>,
  { issuer, context }: Pick<IssuanceContext, 'issuer' | 'context'>,
  storage: StorageRules,
): Trial {
  const tbs = planCertificate(
    { ...plan.certificate, signer: context.issuer, urls: context.issuer.urls },
    { key, subjectPublicKeyInfo, serialNumber: Uint8Array.of(1) },
  );
  encodeSound(tbs);
  return { plan, key, tbs, issuer_id: issuer.id, storage };
}
