import type { Steps } from '../core/steps.ts';
import type { AccessRequest, Asked, Operation, SentWith } from './access-request.ts';
import { type Comparisons, MOST_COMPARISONS } from './comparisons.ts';
import { pickFields, readFields, type SentFields, walkFields } from './parameter-rules.ts';
import { hasConditions, type ParameterConditions } from './policy.ts';
import { bitOf, DENY, type Rule } from './rule-table.ts';
import { type AccessVerdict, ALLOWED, type Judged, refuse } from './verdict.ts';

const SUDO = bitOf('sudo');
export const OPERATION_BITS: Readonly<Record<Operation, number>> = {
  read: bitOf('read'),
  list: bitOf('list'),
  create: bitOf('create'),
  update: bitOf('update'),
  patch: bitOf('patch'),
  delete: bitOf('delete'),
};

export function judgeNamedFields(rule: Rule, fields: SentFields, budget: Comparisons): Judged {
  const { allowed_parameters, denied_parameters } = rule;
  if (allowed_parameters.size === 0 && denied_parameters.size === 0) return ALLOWED;
  const named = pickNamed(rule, fields, budget);
  return judgeInFields({ ...rule, required_parameters: [] }, named, budget);
}

/** As conditions on fields have it. */
export function* judgeInFields(
  rule: ParameterConditions,
  fields: SentFields,
  budget: Comparisons,
): Steps<AccessVerdict> {
  const because = yield* walkFields(rule, fields, budget);
  return because === undefined ? ALLOWED : refuse(because);
}

/** The fields that a rule speaks of. */
export function pickNamed(
  { allowed_parameters, denied_parameters }: Rule,
  fields: SentFields,
  budget: Comparisons,
): SentFields {
  budget.left -= fields.each.length;
  return pickFields(fields, ({ names }) =>
    names.some((name) => allowed_parameters.has(name) || denied_parameters.has(name)),
  );
}

export function judgeRule(rule: Rule, request: AccessRequest): Judged {
  const verdict = judgeGrant(rule, request);
  return verdict.allowed ? judgeConditions(rule, request) : verdict;
}

export function judgeGrant(rule: Rule, { operation, sudoRequired }: Asked): AccessVerdict {
  if (rule.granted & DENY) return refuse('a policy denies this path');
  if (!(rule.granted & OPERATION_BITS[operation])) return refuse(`"${operation}" is not granted`);
  if (sudoRequired && !(rule.granted & SUDO)) return refuse('"sudo" is not granted');
  if (rule.unmet) return refuse(`"${rule.unmet}" of the policy is not supported here`);
  return ALLOWED;
}

function judgeConditions(rule: Rule, request: AccessRequest): Judged {
  const { wrapTtl, operation } = request;
  const unwrapped = judgeWrapping(rule, wrapTtl);
  if (!unwrapped.allowed || operation === 'delete') return unwrapped;
  if (operation === 'list') return judgeList(rule, request);
  return judgeSent(rule, request);
}

export function judgeList(rule: Rule, sent: SentWith): Judged {
  const because = judgePage(rule.pagination_limit, sent);
  return because === undefined ? judgeListParameters(rule, sent) : refuse(because);
}

function judgeSent(rule: Rule, { parameters = {}, reader, budget }: AccessRequest): Judged {
  if (!hasConditions(rule)) return ALLOWED;
  // They are read once, however many tables and guards have a rule about them.
  return judgeInFields(rule, readFields(parameters, reader), budget ?? { left: MOST_COMPARISONS });
}

/** @see S-72 */
export function judgeWrapping(
  { min_wrapping_ttl, max_wrapping_ttl }: Rule,
  wrapTtl: number | undefined,
): AccessVerdict {
  if (min_wrapping_ttl !== undefined && (wrapTtl ?? 0) < min_wrapping_ttl) {
    return refuse(`the answer must be wrapped for at least ${min_wrapping_ttl} seconds`);
  }
  if (max_wrapping_ttl !== undefined && !(wrapTtl !== undefined && wrapTtl <= max_wrapping_ttl)) {
    return refuse(`the answer must be wrapped for at most ${max_wrapping_ttl} seconds`);
  }
  return ALLOWED;
}

/** A list that has no pages cannot be bounded: it is refused where a bound is asked for. */
function judgePage(
  most: number | undefined,
  { parameters = {}, reader }: SentWith,
): string | undefined {
  if (most === undefined) return undefined;
  const sent = Object.hasOwn(parameters, 'limit') ? parameters.limit : 0;
  const limit = Number(reader ? reader.read('limit', sent) : sent);
  return limit > 0 && limit <= most ? undefined : `a page has a limit of at most ${most}`;
}

/**
 * Lists mostly have no fields, and rules on parameters are written for what else a path is asked
 * for: they bound a list by the fields that it has.
 */
function judgeListParameters(rule: Rule, { parameters = {}, reader, budget }: SentWith): Judged {
  if (!reader || !hasConditions(rule)) return ALLOWED;
  const known = Object.entries(parameters).filter(([name]) => reader.knows(name));
  const required_parameters = rule.required_parameters.filter((name) => reader.knows(name));
  const conditions = { ...rule, required_parameters };
  const fields = readFields(Object.fromEntries(known), reader);
  return judgeInFields(conditions, fields, budget ?? { left: MOST_COMPARISONS });
}
