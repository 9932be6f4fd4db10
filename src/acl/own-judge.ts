import { Breath } from '../core/fairness/breath.ts';
import type { Soon, Steps } from '../core/steps.ts';
import type { Asked, Operation, SentWith } from './access-request.ts';
import { type Acl, hasSameRules, judgeAll } from './acl.ts';
import { type Comparisons, MOST_COMPARISONS } from './comparisons.ts';
import type { OwnPath, Sense } from './name-form.ts';
import type { ParameterReader, Sent } from './parameter-forms.ts';
import { pickFields, readFields, type SentFields } from './parameter-rules.ts';
import { hasConditions, NO_PARAMETERS, type ParameterConditions } from './policy.ts';
import {
  judgeInFields,
  judgeList,
  judgeRule,
  judgeWrapping,
  OPERATION_BITS,
  pickNamed,
} from './rule-judging.ts';
import { DENY, type Rule } from './rule-table.ts';
import {
  type AccessVerdict,
  ALLOWED,
  DENIED,
  isVerdict,
  type Judged,
  refuse,
  TOO_MUCH,
} from './verdict.ts';

const WRITES =
  OPERATION_BITS.create | OPERATION_BITS.update | OPERATION_BITS.patch | OPERATION_BITS.delete;

/** A path, and finding the rules of one table for it, as comparisons go. */
const PATH = 5;

/**
 * Judges a request by the own paths of the entities, groups, issuers or keys that it names or finds. There may be
 * thousands of paths under thousands of rules, and the fields may be long: these are read once, a rule judges
 * them once in each sense, and all of it has one budget, that of the request where it has one, however
 * often the request is planned anew and whatever its permissions have become.
 */
export class OwnJudge {
  readonly #sent: SentWith;
  readonly #fields: SentFields;
  readonly #picked = new Map<string, SentFields>();
  readonly #breath = new Breath();
  /** What was judged by permissions that have been replaced says nothing of those that there are now. */
  #acl: Acl | undefined;
  readonly #budget: Comparisons;
  #verdicts = new Map<Rule, Map<string, AccessVerdict>>();
  #passed = new Map<string, Set<string>>();

  constructor(sent: SentWith) {
    const { budget = { left: MOST_COMPARISONS } } = sent;
    this.#budget = budget;
    this.#sent = { ...sent, budget };
    this.#fields = readFields(sent.parameters ?? {}, sent.reader);
  }

  /**
   * Judges other fields by what is left for the same request: those of a thing as it stands. What else
   * was sent may be required of it.
   */
  withFields(fields: Readonly<Record<string, unknown>>, reader: ParameterReader): OwnJudge {
    const besides = Object.entries(this.#sent.parameters ?? {}).filter(
      ([name]) => !reader.knows(name),
    );
    const parameters = { ...Object.fromEntries(besides), ...fields };
    return new OwnJudge({ ...this.#sent, parameters, reader });
  }

  /**
   * Judges, by the policies on these paths, what the request asks for at another path. Nothing need be granted
   * there, but denials count, and so do conditions: those on every request as far as they are about such
   * requests, and those on fields in any case.
   */
  judge(acl: Acl, paths: readonly OwnPath[]): Promise<AccessVerdict> {
    return this.#each(acl, paths, senseKey, (own, key) => {
      const judge = (rule: Rule): Judged => this.#byRule(rule, own, key);
      const asked: Asked = { ...own, operation: operationOf(own), sudoRequired: false };
      return judgeAll(acl, asked, judge, this.#budget, ALLOWED);
    });
  }

  /** Whether each of the paths grants an operation that has no fields. */
  judgeGranted(
    acl: Acl,
    operation: Extract<Operation, 'delete'>,
    paths: readonly string[],
  ): Promise<AccessVerdict> {
    const { wrapTtl } = this.#sent;
    const budget = this.#budget;
    const asked = { operation, sudoRequired: false, wrapTtl, budget };
    const owns = paths.map((path) => ({ path }));
    return this.#each(
      acl,
      owns,
      () => operation,
      (own) => judgeAll(acl, { ...asked, ...own }, judgeRule, budget),
    );
  }

  /** Others have their turn between two paths; what has passed is not asked about again. */
  async #each<Own extends { path: string }>(
    acl: Acl,
    paths: readonly Own[],
    keyOf: (own: Own) => string,
    judge: (own: Own, key: string) => Soon<AccessVerdict>,
  ): Promise<AccessVerdict> {
    this.#begin(acl);
    // Of these permissions, whatever is judged by others meanwhile.
    const all = this.#passed;
    for (const own of paths) {
      if (this.#breath.isDue) await this.#breath.take();
      const key = keyOf(own);
      const passed = all.getOrInsertComputed(key, () => new Set<string>());
      if (passed.has(own.path)) continue;
      this.#budget.left -= PATH * acl.tables.length;
      const judged = this.#budget.left < 0 ? TOO_MUCH : judge(own, key);
      const verdict = judged instanceof Promise ? await judged : judged;
      if (!verdict.allowed) return this.#budget.left < 0 ? TOO_MUCH : verdict;
      passed.add(own.path);
    }
    return this.#budget.left < 0 ? TOO_MUCH : ALLOWED;
  }

  /** Holds nothing of the permissions that were judged by. */
  letGo(): void {
    this.#acl = undefined;
    this.#verdicts = new Map();
    this.#passed = new Map();
  }

  #begin(acl: Acl): void {
    const before = this.#acl;
    this.#acl = acl;
    // Most changes are about others: then the rules are the very same.
    if (before && hasSameRules(before, acl)) return;
    this.#verdicts = new Map();
    this.#passed = new Map();
  }

  #byRule(rule: Rule, sense: Sense, key: string): Judged {
    if (rule.granted & DENY) return DENIED;
    if (this.#budget.left < 0) return TOO_MUCH;
    const known = this.#verdicts.getOrInsertComputed(rule, () => new Map<string, AccessVerdict>());
    const before = known.get(key);
    if (before) return before;
    const judged = this.#byConditions(rule, sense);
    if (!isVerdict(judged)) return keep(judged, (verdict) => known.set(key, verdict));
    known.set(key, judged);
    return judged;
  }

  #byConditions(rule: Rule, sense: Sense): Judged {
    const { stands_for, alike, part } = sense;
    const operation = operationOf(sense);
    const about = operation === 'update' ? WRITES : OPERATION_BITS[operation];
    const isAbout = (rule.granted & about) !== 0;
    if (isAbout) {
      if (rule.unmet) return refuse(`"${rule.unmet}" of the policy is not supported here`);
      const verdict = judgeWrapping(rule, this.#sent.wrapTtl);
      if (!verdict.allowed) return verdict;
    }
    if (operation === 'list') return isAbout ? judgeList(rule, this.#sent) : ALLOWED;
    if (!hasConditions(rule)) return ALLOWED;
    const free = { ...rule, required_parameters: [] };
    if (stands_for) return this.#byFields(isAbout ? rule : free, this.#pick(stands_for, false));
    if (alike) return this.#byFields(free, this.#pick(alike, true));
    if (!part) return this.#byFields(free, pickNamed(rule, this.#fields, this.#budget));
    // What is required may come with the rest of the request.
    const required_parameters = isAbout ? rule.required_parameters : [];
    return this.#byPart({ ...rule, required_parameters }, free, this.#pick(part, true));
  }

  *#byPart(
    { required_parameters }: ParameterConditions,
    free: ParameterConditions,
    part: SentFields,
  ): Steps<AccessVerdict> {
    const whole = yield* this.#byFields({ ...NO_FIELDS, required_parameters }, this.#fields);
    return whole.allowed ? yield* this.#byFields(free, part) : whole;
  }

  #byFields(rule: ParameterConditions, fields: SentFields): Steps<AccessVerdict> {
    return judgeInFields(rule, fields, this.#budget);
  }

  /** The fields of the request that are among some, or that are not. */
  #pick(names: readonly string[], isWanted: boolean): SentFields {
    const key = `${isWanted} ${names.join()}`;
    const isPicked = (sent: Sent): boolean =>
      sent.names.some((name) => names.includes(name)) === isWanted;
    return this.#picked.getOrInsertComputed(key, () => pickFields(this.#fields, isPicked));
  }
}

/** Keeps what it comes to. */
function* keep(
  steps: Steps<AccessVerdict>,
  save: (verdict: AccessVerdict) => void,
): Steps<AccessVerdict> {
  const verdict = yield* steps;
  save(verdict);
  return verdict;
}

function operationOf({ isRead, isList }: Sense): 'list' | 'read' | 'update' {
  if (isList) return 'list';
  return isRead ? 'read' : 'update';
}

const NO_FIELDS = { allowed_parameters: NO_PARAMETERS, denied_parameters: NO_PARAMETERS };

/** Equal for paths that a rule judges alike. */
function senseKey(sense: Sense): string {
  const { stands_for, alike, part } = sense;
  return JSON.stringify([stands_for, alike, part, operationOf(sense)]);
}
