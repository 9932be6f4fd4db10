import { doAll, doInTurns, type Soon, type Steps, whenThere } from '../core/steps.ts';
import type { AccessRequest, Asked } from './access-request.ts';
import { type Comparisons, MOST_COMPARISONS } from './comparisons.ts';
import { canonicalNames } from './name-form.ts';
import { readFields } from './parameter-rules.ts';
import type { Policy } from './policy.ts';
import { judgeGrant, judgeNamedFields, judgeRule } from './rule-judging.ts';
import { compileTable } from './rule-merging.ts';
import {
  DENY,
  findRule,
  findRuleAtOnce,
  type Rule,
  type RuleTable,
  walkGuards,
  withoutSlash,
} from './rule-table.ts';
import { spellTables } from './spelling.ts';
import {
  type AccessVerdict,
  ALLOWED,
  DENIED,
  isVerdict,
  type Judged,
  refuse,
  settle,
  TOO_MUCH,
} from './verdict.ts';

/** What a caller's policies come to, made once and asked often. */
export interface Acl {
  readonly root: boolean;
  /**
   * The caller's own, then what bounds it: of those who made the caller's token out of theirs. What
   * is allowed is what each of them allows.
   */
  readonly tables: readonly [RuleTable, ...RuleTable[]];
  /** Unix seconds; from then on a stanza has run out and the Acl must be compiled anew. */
  readonly valid_until: number;
  /** As of its tables: about how many ordinary rules it is worth, and bytes. */
  readonly size: number;
  readonly bytes: number;
}

/**
 * @param policies templates expanded (`expandPolicy`)
 * @param now Unix seconds, to leave out stanzas that have run out
 */
export function* compileAcl(policies: readonly Policy[], now: number): Steps<Acl> {
  const root = policies.some((policy) => policy.root);
  const { table, valid_until } = yield* compileTable(policies, now);
  return { root, tables: [table], valid_until, size: table.size, bytes: table.bytes };
}

/** What both allow: somebody's own permissions, and no more than those that they were made by. */
export function boundAcl(own: Acl, bound: Acl): Acl {
  if (bound.root) return own;
  if (own.root) return bound;
  const others = bound.tables.filter((table) => !own.tables.includes(table));
  return {
    root: false,
    tables: [...own.tables, ...others],
    valid_until: Math.min(own.valid_until, bound.valid_until),
    size: others.reduce((sum, { size }) => sum + size, own.size),
    bytes: others.reduce((sum, { bytes }) => sum + bytes, own.bytes),
  };
}

/** Whether what one judges is judged by the very same rules of the other. */
export function hasSameRules(one: Acl, other: Acl): boolean {
  return (
    one.root === other.root &&
    one.tables.length === other.tables.length &&
    one.tables.every((table, at) => table === other.tables[at])
  );
}

/** For whom nothing is permitted. */
export const NOTHING_GRANTED: Acl = doAll(compileAcl([], 0));

const NO_RULE = refuse('no policy has a rule for this path');

/**
 * Says whether a caller may do what a request asks for; {@link TOO_MUCH} when
 * nothing is left of its budget, which all tables and guards have in common.
 */
export function judgeAccess(acl: Acl, request: AccessRequest): Soon<AccessVerdict> {
  const { budget = { left: MOST_COMPARISONS } } = request;
  const judged = request.budget ? request : { ...request, budget };
  return judgeAll(acl, judged, judgeRule, budget);
}

/**
 * Says whether any request for this could be allowed, whatever its fields. To be asked before a
 * body is read, so that nobody makes the server read what they may not send.
 *
 * @param budget of the request, as {@link judgeAccess} has it
 */
export function judgeGrants(acl: Acl, request: Asked, budget: Comparisons): Soon<AccessVerdict> {
  return judgeAll(acl, request, judgeGrant, budget);
}

/**
 * Whether a policy denies a path in so many words, one of the caller's or of those that bound the
 * caller, or it takes too long to know: that nothing grants it is no denial.
 */
export async function isDenied(
  acl: Acl,
  asked: Pick<AccessRequest, 'path' | 'formed'>,
  budget: Comparisons,
): Promise<boolean> {
  const request: Asked = { ...asked, operation: 'update', sudoRequired: false };
  const denies = (rule: Rule): AccessVerdict => (rule.granted & DENY ? DENIED : ALLOWED);
  return !(await judgeAll(acl, request, denies, budget, ALLOWED)).allowed;
}

type Judge<Request> = (rule: Rule, request: Request) => Judged;

/**
 * Has every rule judge that decides about a request: at once where that is little, as it mostly is.
 *
 * @param budget what finding the rules takes is taken from it; once nothing is left the verdict is
 *   {@link TOO_MUCH}, whatever a rule would have said
 * @param without the verdict of policies that have no rule for it
 */
export function judgeAll<Request extends Asked>(
  acl: Acl,
  request: Request,
  judge: Judge<Request>,
  budget: Comparisons,
  without = NO_RULE,
): Soon<AccessVerdict> {
  if (acl.root) return ALLOWED;
  return whenThere(spellTables(acl.tables, request, budget), (tables) =>
    judgeByTables(tables, request, judge, budget, without),
  );
}

function judgeByTables<Request extends Asked>(
  tables: readonly RuleTable[],
  request: Request,
  judge: Judge<Request>,
  budget: Comparisons,
  without: AccessVerdict,
): Soon<AccessVerdict> {
  for (const [at, table] of tables.entries()) {
    if (!table.isPlain) {
      return doInTurns(judgeInSteps(tables.slice(at), request, judge, budget, without));
    }
    const rule = findRuleAtOnce(table, pathOf(request), request.operation === 'list', budget);
    const judged = rule ? judge(rule, request) : without;
    if (!isVerdict(judged)) {
      const rest = judgeInSteps(tables.slice(at + 1), request, judge, budget, without);
      return doInTurns(judgeBoth(judged, rest, budget));
    }
    if (budget.left < 0) return TOO_MUCH;
    if (!judged.allowed) return judged;
  }
  return ALLOWED;
}

function* judgeBoth(
  first: Steps<AccessVerdict>,
  rest: Steps<AccessVerdict>,
  budget: Comparisons,
): Steps<AccessVerdict> {
  const verdict = yield* first;
  if (budget.left < 0) return TOO_MUCH;
  return verdict.allowed ? yield* rest : verdict;
}

function* judgeInSteps<Request extends Asked>(
  tables: readonly RuleTable[],
  request: Request,
  judge: Judge<Request>,
  budget: Comparisons,
  without: AccessVerdict,
): Steps<AccessVerdict> {
  const asked = pathOf(request);
  const isList = request.operation === 'list';
  for (const table of tables) {
    const rule = yield* findRule(table, asked, isList, budget);
    const verdict = rule ? yield* settle(judge(rule, request)) : without;
    if (budget.left < 0) return TOO_MUCH;
    if (!verdict.allowed) return verdict;
    for (const guard of walkGuards(table, asked, isList, budget)) {
      yield;
      const guarded = guard ? yield* settle(judge(guard, request)) : ALLOWED;
      if (budget.left < 0) return TOO_MUCH;
      if (!guarded.allowed) return guarded;
    }
  }
  return ALLOWED;
}

/** `a/` and `a` are one path to every operation but lists: a slash must not find another rule. */
function pathOf({ path, operation, formed }: Asked): string {
  const named = formed && formed.length > 0 ? canonicalNames(path, formed) : path;
  return operation === 'list' ? named : withoutSlash(named);
}

/**
 * Judges what a request brings in another form than its fields, such as the names in a CSR, by the
 * conditions on the fields that they would be sent in. A rule that does not speak of a field says
 * nothing about them: policies that let a CSR be sent and nothing else go on as they were.
 */
export function judgeBrought(acl: Acl, request: AccessRequest): Soon<AccessVerdict> {
  const { parameters = {}, reader, budget = { left: MOST_COMPARISONS } } = request;
  const fields = readFields(parameters, reader);
  const judge = (rule: Rule): Judged => judgeNamedFields(rule, fields, budget);
  return judgeAll(acl, request, judge, budget);
}
