import type { FailureDetail, FailureKind } from '../../core/failure.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import type { Csr } from '../../x509/csr.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { deriveMacKey } from '../../x509/pkcs12.ts';
import { type CsrValues, readCsrValues } from '../profile/csr-fields.ts';
import { requireCsrSync, requireSoundKey } from '../profile/csr-rules.ts';
import {
  type IntermediateContext,
  type IntermediateCsrPlan,
  type IntermediateCsrRequest,
  type IntermediatePlan,
  type IntermediateRequest,
  planIntermediate,
  planIntermediateCsr,
} from '../profile/intermediate.ts';
import type { IssuingFacts } from '../profile/issuing.ts';
import { type LeafContext, type LeafPlan, planIssue, planSign } from '../profile/leaf.ts';
import { collectCsrNames, collectNames } from '../profile/names.ts';
import type { IssueRequest, SignRequest, VerbatimRequest } from '../profile/request.ts';
import { type PlannedRoot, planRoot, type RootRequest, type WantedRoot } from '../profile/root.ts';
import {
  planSelfIssued,
  type SelfIssuedPlan,
  type SelfIssuedRequest,
} from '../profile/self-issued.ts';
import { planVerbatim, type VerbatimRole } from '../profile/verbatim.ts';
import { type AdmittedName, listAdmitted } from '../roles/admitting-rules.ts';
import { LIGHT_PATTERNS } from '../roles/compiled-rules.ts';
import type { Role } from '../roles/role.ts';

/** A certificate to be decided on. Everything in it can be handed to another thread. */
export type LeafTask =
  | { kind: 'issue'; role: Role; request: IssueRequest; context: LeafContext }
  | { kind: 'sign'; role: Role; request: SignRequest; context: LeafContext }
  | {
      kind: 'verbatim';
      role: VerbatimRole | undefined;
      request: VerbatimRequest;
      context: LeafContext;
    };
export type PlanTask =
  | LeafTask
  | { kind: 'root'; wanted: WantedRoot }
  | { kind: 'csr'; request: IntermediateCsrRequest }
  | { kind: 'intermediate'; request: IntermediateRequest; context: IntermediateContext }
  | { kind: 'self-issued'; request: SelfIssuedRequest; issuer: IssuingFacts }
  | ExplainTask
  /** DER. */
  | { kind: 'key'; subjectPublicKeyInfo: Uint8Array }
  | MacTask;

/** The key of the MAC of a file under a password is to be derived. */
export interface MacTask {
  kind: 'mac';
  password: string;
  salt: Uint8Array;
}

/** By which of a role's rules the names of a request are let in. */
export interface ExplainTask {
  kind: 'explain';
  role: Role;
  request: IssueRequest & Partial<Pick<SignRequest, 'csr'>>;
  identity: IdentityFacts | undefined;
}

export interface PlannedLeaf {
  plan: LeafPlan;
  /** Of the key that is to be certified. */
  key: KeyDescription;
  /** DER; only of a request that brought its key. */
  subjectPublicKeyInfo?: Uint8Array;
}

/** A certificate of a CA, and the key that it certifies. */
export interface PlannedIntermediate extends Required<Omit<PlannedLeaf, 'plan'>> {
  plan: IntermediatePlan;
  /** What it says that was taken from the request that was signed. */
  asked: CsrValues;
}

export type Planned =
  | ({ of: 'leaf' } & PlannedLeaf)
  | ({ of: 'root' } & PlannedRoot)
  | ({ of: 'csr' } & IntermediateCsrPlan)
  | ({ of: 'intermediate' } & PlannedIntermediate)
  | ({ of: 'self-issued' } & SelfIssuedPlan)
  | { of: 'explained'; names: AdmittedName[] }
  | { of: 'key' }
  | { of: 'mac'; key: Uint8Array };

/**
 * Reads what the task has and decides on it, on whatever thread.
 *
 * @throws Failure `invalid` for everything role, mount and issuer do not allow
 */
export function runPlanTask(task: PlanTask): Planned {
  switch (task.kind) {
    case 'root':
      return { of: 'root', ...planRoot(task.wanted) };
    case 'csr':
      return { of: 'csr', ...planIntermediateCsr(task.request) };
    case 'intermediate':
      return { of: 'intermediate', ...planIntermediateTask(task) };
    case 'self-issued': {
      const plan = planSelfIssued(task.request, task.issuer);
      requireSoundKey(plan.subjectPublicKeyInfo);
      return { of: 'self-issued', ...plan };
    }
    case 'explain':
      return { of: 'explained', names: explain(task) };
    case 'key':
      requireSoundKey(task.subjectPublicKeyInfo);
      return { of: 'key' };
    case 'mac':
      return { of: 'mac', key: deriveMacKey(task.password, task.salt) };
    default:
      return { of: 'leaf', ...planLeafTask(task) };
  }
}

function explain({ role, request, identity }: ExplainTask): AdmittedName[] {
  const { csr = '' } = request;
  const { names } =
    csr === ''
      ? collectNames(request, role)
      : collectCsrNames(request, requireCsrSync(csr).csr, role);
  return listAdmitted(role, names, identity);
}

function planLeafTask(task: LeafTask): PlannedLeaf {
  const { context } = task;
  if (task.kind === 'issue') {
    const { key, ...plan } = planIssue(task.role, task.request, context);
    return { plan, key };
  }
  const signed = requireCsrSync(task.request.csr);
  const plan =
    task.kind === 'sign'
      ? planSign(task.role, task.request, signed, context)
      : planVerbatim(task.role, task.request, signed, context);
  requireSoundKey(signed.csr.subjectPublicKeyInfo);
  return { plan, key: signed.key, subjectPublicKeyInfo: signed.csr.subjectPublicKeyInfo };
}

/** What is not taken over need not even be readable. */
export function askedBy(
  { use_csr_values }: IntermediateRequest,
  csr: Csr,
  { names }: IntermediatePlan,
): CsrValues {
  return use_csr_values ? readCsrValues(csr, names) : {};
}

function planIntermediateTask({
  request,
  context,
}: Extract<PlanTask, { kind: 'intermediate' }>): PlannedIntermediate {
  const { csr, key } = requireCsrSync(request.csr);
  const plan = planIntermediate(request, { csr, key }, context);
  requireSoundKey(csr.subjectPublicKeyInfo);
  const { subjectPublicKeyInfo } = csr;
  return { plan, key, subjectPublicKeyInfo, asked: askedBy(request, csr, plan) };
}

/**
 * How much work a task is, at the most, in units of the work that an RSA key of 2048 bits makes:
 * it grows with the third power of the key's size.
 */
export function weighTask(task: PlanTask): number {
  return task.kind === 'key' ? Math.ceil((task.subjectPublicKeyInfo.length / 294) ** 3) : 32;
}

/** Characters of names and requests that are looked at in a few milliseconds. */
const LIGHT = 8192;
/** Names by patterns that are compared in as much time. */
const LIGHT_COMPARISONS = 500_000;
/** Characters that have to be converted, or filled in, before a role can be used. */
const LIGHT_CONVERSIONS = 16_384;

/**
 * Says whether deciding could take longer than other requests may have to wait. By the lengths
 * alone: nothing is looked at yet.
 */
export function isHeavyLeaf(role: Role, request: IssueRequest | SignRequest): boolean {
  const length = weighTexts(Object.values(request));
  const { patterns, conversions } = weighRole(role);
  return (
    length > LIGHT ||
    length * patterns > LIGHT_COMPARISONS ||
    patterns > LIGHT_PATTERNS ||
    conversions > LIGHT_CONVERSIONS
  );
}

/** {@link isHeavyLeaf} of a request over whose names no role rules. */
export function isHeavyRequest(
  request:
    | RootRequest
    | IntermediateRequest
    | IntermediateCsrRequest
    | SelfIssuedRequest
    | VerbatimRequest,
): boolean {
  return weighTexts(Object.values(request)) > LIGHT;
}

function weighTexts(values: readonly unknown[]): number {
  let length = 0;
  for (const value of values) {
    if (typeof value === 'string') length += value.length;
    else if (Array.isArray(value)) length += value.length + weighTexts(value);
  }
  return length;
}

/** The role is the same object for as long as it stays as it is. */
const weighRole = memoizeWeak((role: Role): { patterns: number; conversions: number } => {
  const lists = [
    role.allowed_domains,
    role.allowed_uri_sans,
    role.allowed_other_sans,
    role.allowed_serial_numbers,
    role.allowed_user_ids,
  ];
  let patterns = 0;
  let conversions = 0;
  for (const entry of lists.flat()) {
    if (entry.includes('*') || entry.includes(';')) patterns += 1 + (entry.length >> 6);
    if (entry.includes('{{') || !/^[\x20-\x7e]*$/.test(entry)) conversions += entry.length;
  }
  return { patterns, conversions };
});

export interface ToPlanThread {
  id: number;
  task: PlanTask;
}

export type FromPlanThread =
  | { id: number; type: 'planned'; planned: Planned }
  | { id: number; type: 'refused'; kind: FailureKind; message: string; detail: FailureDetail }
  | { id: number; type: 'failed'; message: string };
