import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import type { SignedLeafAnswer } from '../certificates/answer.ts';
import { planLeafOnThread, requireSoundKeyOf } from '../planning/operations.ts';
import { isHeavyRequest, type PlannedLeaf } from '../planning/task.ts';
import type { SignedCsr } from '../profile/csr-rules.ts';
import type { LeafContext } from '../profile/leaf.ts';
import type { VerbatimRequest } from '../profile/request.ts';
import { planVerbatim, type VerbatimRole } from '../profile/verbatim.ts';
import { readVerbatimContext, type Target } from './context.operations.ts';
import { requireSubject, signRequest } from './operations.ts';
import type { StorageRules } from './signing.operations.ts';

type Input = VerbatimRequest & Partial<Pick<Target, 'role' | 'issuer_ref'>>;

/** What counts where no role was named: the certificate is stored, and has no lease. */
const UNRULED: Pick<StorageRules, 'no_store' | 'generate_lease'> = {
  no_store: false,
  generate_lease: false,
};

/** Signs a CSR as it is. @see P-250 */
export function signVerbatim(
  app: App,
  caller: Caller,
  input: Input,
): Promise<DataResult<SignedLeafAnswer>> {
  return signRequest(app, caller, input, async (readCsr) => {
    const { role, ...rest } = await readVerbatimContext(app, caller, input);
    const asked = { input, readCsr };
    const { plan, ...subject } = await decide(app, caller, asked, role, rest.context);
    const { no_store, generate_lease } = role ?? UNRULED;
    // Names are granted to nobody here.
    const kept = { no_store, generate_lease, ...NO_TEMPLATES };
    const brought = (plan.brought ?? []).map((fields) => () => fields);
    return { context: { ...rest, role: kept }, plan, subject: requireSubject(subject), brought };
  });
}

const NO_TEMPLATES = { allowed_domains_template: false, allowed_uri_sans_template: false };

async function decide(
  app: App,
  caller: Caller,
  { input, readCsr }: { input: Input; readCsr(): Promise<SignedCsr> },
  role: VerbatimRole | undefined,
  context: LeafContext,
): Promise<PlannedLeaf> {
  if (isHeavyRequest(input)) {
    const { role: _, issuer_ref: __, ...request } = input;
    return planLeafOnThread(app, caller, { kind: 'verbatim', role, request, context });
  }
  const signed = await readCsr();
  const plan = planVerbatim(role, input, signed, context);
  const { subjectPublicKeyInfo } = signed.csr;
  await requireSoundKeyOf(app, caller, signed.key, subjectPublicKeyInfo);
  return { plan, key: signed.key, subjectPublicKeyInfo };
}
