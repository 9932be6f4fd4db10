import { listGroupsOfEntity } from '../../../access/identity/facts.operations.ts';
import { retryOnConflict } from '../../../access/standing/attempts.operations.ts';
import { judgeAgainWith, refuseDeniedNow } from '../../../access/standing/operations.ts';
import type { OwnPath } from '../../../acl/name-form.ts';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { DataResult } from '../../../app/output.ts';
import { invalid } from '../../../core/failure.ts';
import { evaluateOnThread } from '../../cel/evaluation.operations.ts';
import { requireCelRole } from '../../cel/operations.ts';
import type { CelProgram } from '../../cel/program.ts';
import {
  type IssuedAnswer,
  type SignedLeafAnswer,
  withPrivateKey,
} from '../../certificates/answer.ts';
import { generateKeyToHandOut } from '../../keys/generation.operations.ts';
import { lineOfMount, readMountState } from '../../mount-state/operations.ts';
import { ownPaths } from '../../mount-state/own-paths.ts';
import { findIssuer } from '../../mount-state/state.ts';
import { type Described, readDescribed, withRest } from '../../profile/cel-template.ts';
import type { LeafContext } from '../../profile/leaf.ts';
import { signSchema } from '../../profile/request.ts';
import { namesIssuer } from '../../roles/role.ts';
import { type IssuerContext, readCelContext } from '../context.operations.ts';
import { commitSigned, decideIssue, decideSign, signRequest } from '../operations.ts';
import { planSigned, type StorageRules } from '../signing.operations.ts';
import { type CelIssueInput, type CelSignInput, sentOf } from './request.ts';

/** Makes a key and a certificate for it, as the program of a role describes it. @see P-430 */
export async function issueByCel(
  app: App,
  caller: Caller,
  input: CelIssueInput,
): Promise<DataResult<IssuedAnswer>> {
  const judge = judgingIssuers(caller);
  const plan = async () => {
    const { described, decided } = await describeByCel(app, caller, { input, judge });
    const asked = { ...described.request, role: input.role };
    const { plan, key } = await decideIssue(app, caller, asked, {
      ...decided,
      role: described.role,
    });
    const { public_key, private_key } = await generateKeyToHandOut(app, caller, key);
    const subject = { subjectPublicKeyInfo: public_key, key };
    const context = { ...decided, role: storageOf(described) };
    const own = { ...answerOf(input), role: nameOf(input.role) };
    const leaf = await planSigned(app, caller, own, context, withRest(plan, described), subject);
    return { ...leaf, answer: withPrivateKey(leaf.answer, private_key, input) };
  };
  return retryOnConflict(app, caller, async () => commitSigned(app, caller, await plan()), {
    app,
    key: lineOfMount(caller.mount.id),
  });
}

/** Signs a CSR, as the program of a role describes it. @see P-431 */
export function signByCel(
  app: App,
  caller: Caller,
  input: CelSignInput,
): Promise<DataResult<SignedLeafAnswer>> {
  const judge = judgingIssuers(caller);
  const own = { ...answerOf(input), csr: input.csr, role: nameOf(input.role) };
  return signRequest(app, caller, own, async (readCsr) => {
    const { described, decided, brought } = await describeByCel(app, caller, {
      input,
      judge,
      csr: input.csr,
    });
    const asked = { ...described.request, ...answerOf(input), csr: input.csr };
    const request = { ...signSchema.parse({}), ...asked };
    const { plan, ...subject } = await decideSign(
      app,
      caller,
      { input: { ...request, role: input.role }, readCsr },
      { ...decided, role: described.role },
    );
    return {
      context: { ...decided, role: storageOf(described) },
      plan: withRest(plan, described),
      subject,
      brought: brought.map((fields) => () => fields),
    };
  });
}

const answerOf = ({ format, remove_roots_from_chain }: CelIssueInput | CelSignInput) => ({
  format,
  remove_roots_from_chain,
});

/** As certificates are found by it: no other role has such a name. */
const nameOf = (role: string): string => `cel/${role}`;

/** What a program makes of a caller is committed for who the caller is then. */
export const storageOf = ({ role }: Described): StorageRules => ({
  no_store: role.no_store,
  generate_lease: role.generate_lease,
  allowed_domains_template: true,
  allowed_uri_sans_template: false,
});

/** What a program came to, and what the certificate rests on. */
interface ByCel {
  described: Described;
  decided: IssuerContext & { context: LeafContext };
  brought: readonly Readonly<Record<string, string | string[]>>[];
}

/** @throws Failure `invalid` with the program's own words where it refuses */
export async function describeByCel(
  app: App,
  caller: Caller,
  {
    input: { role: name },
    judge,
    csr,
  }: { input: { role: string }; judge: JudgeIssuers; csr?: string },
): Promise<ByCel> {
  const { program, body_tag } = await requireCelRole(app, caller, name);
  const now = app.now();
  const { identity } = caller;
  const verdict = await evaluateOnThread(app, caller, {
    program,
    request: csr === undefined ? sentOf(caller) : { ...sentOf(caller), csr },
    now,
    use_csr: csr !== undefined,
    identity: identity?.entity,
    groups: identity ? await listGroups(app, identity.entity.id, program) : [],
  });
  if (!verdict.allowed) throw invalid(verdict.because);
  const isForCsr = csr !== undefined;
  const described = readDescribed(verdict.output, { now: Math.floor(now / 1000), isForCsr });
  const { issuer_ref } = described;
  await judge(await pathsOfIssuer(app, caller, issuer_ref));
  const basis = { role: name, role_tag: body_tag, issuer_ref: issuer_ref || 'default' };
  const decided = await readCelContext(app, caller, basis);
  // The end that the program has worked out goes by its own time.
  const context = { ...decided.context, now: Math.floor(now / 1000) };
  return { described, decided: { ...decided, context }, brought: verdict.brought };
}

/** Groups of one entity that a program is told of. */
const MOST_GROUPS = 1_000;

/** Read only for programs that ask for them. */
async function listGroups(app: App, entity_id: string, program: CelProgram) {
  const expressions = [program.expression, ...program.variables.map((one) => one.expression)];
  if (!expressions.some((one) => one.includes('entity_groups'))) return [];
  const groups = await listGroupsOfEntity(app, entity_id, MOST_GROUPS);
  if (groups) return groups;
  // A part of them could be taken for all.
  throw invalid(`the entity is in more than ${MOST_GROUPS} groups, which no program is told of`);
}

type JudgeIssuers = (paths: readonly OwnPath[]) => Promise<void>;

/** The issuers that a program names, perhaps as the caller wants it, are none that the caller may not use. */
export function judgingIssuers(caller: Caller): JudgeIssuers {
  let last: readonly OwnPath[] = [];
  judgeAgainWith(caller, () => refuseDeniedNow(caller, last));
  return (paths) => {
    last = paths;
    return refuseDeniedNow(caller, paths);
  };
}

async function pathsOfIssuer(app: App, caller: Caller, ref: string): Promise<OwnPath[]> {
  if (!namesIssuer(ref)) return [];
  const issuer = findIssuer(await readMountState(app, caller.mount.id), ref);
  return ownPaths(caller, 'issuer', { ref, id: issuer?.id ?? '', name: issuer?.name });
}
