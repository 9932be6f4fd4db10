import { canonicalNames, canonicalPattern, type FormedSegment, foldingNames } from './name-form.ts';
import type { ParameterReader } from './parameter-forms.ts';
import { judgeParameters, mergeParameters } from './parameter-rules.ts';
import {
  ANY_REST,
  ANY_SEGMENT,
  comparePrecedence,
  compilePattern,
  type WildPattern,
} from './path-pattern.ts';
import {
  CAPABILITIES,
  type ParameterRules,
  type PathRule,
  type Policy,
  type PolicyCapability,
} from './policy.ts';
import { findFirst } from './wild-index.ts';

/** What a caller's policies come to, made once and asked often. */
export interface Acl {
  readonly root: boolean;
  readonly exact: ReadonlyMap<string, Rule>;
  /** Rules with wildcards by the text before the first one, the deciding one first. */
  readonly byHead: ReadonlyMap<string, readonly WildRule[]>;
  /** Lengths of those heads, longest first: a wildcard further on takes precedence. */
  readonly headLengths: readonly number[];
  /** Unix seconds; from then on a stanza has run out and the Acl must be compiled anew. */
  readonly valid_until: number;
  /** How many rules there are, each pattern counting once. */
  readonly size: number;
}

/** All stanzas of one pattern, merged. */
interface Rule {
  /** Bits by place in {@link CAPABILITIES}. */
  granted: number;
  allowed_parameters: ParameterRules;
  denied_parameters: ParameterRules;
  required_parameters: readonly string[];
  min_wrapping_ttl: number | undefined;
  max_wrapping_ttl: number | undefined;
  pagination_limit: number | undefined;
  unmet: PathRule['unmet'];
}

interface WildRule {
  pattern: WildPattern;
  rule: Rule;
}

export type Operation = 'read' | 'list' | 'create' | 'update' | 'patch' | 'delete';

export interface AccessRequest {
  /** Canonical, after `/v1/`, e.g. `pki/issue/web`; a list's path with or without its last slash. */
  path: string;
  operation: Operation;
  /** Segments that are names of more than one spelling. */
  formed?: readonly FormedSegment[];
  /** The path is root-protected. */
  sudoRequired: boolean;
  /** Fields of body and query as sent, unknown ones too, those of the path not. */
  parameters?: Readonly<Record<string, unknown>>;
  /** How the endpoint reads those fields. */
  reader?: ParameterReader;
  /** Seconds that the answer is to be wrapped for; undefined when it is not. */
  wrapTtl?: number | undefined;
}

/** `because` is for the server's own eyes: a caller without permission learns no more than that. */
export type AccessVerdict = { allowed: true } | { allowed: false; because: string };

function bitOf(capability: PolicyCapability): number {
  return 1 << CAPABILITIES.indexOf(capability);
}

const DENY = bitOf('deny');
const SUDO = bitOf('sudo');
const OPERATION_BITS: Readonly<Record<Operation, number>> = {
  read: bitOf('read'),
  list: bitOf('list'),
  create: bitOf('create'),
  update: bitOf('update'),
  patch: bitOf('patch'),
  delete: bitOf('delete'),
};

/**
 * Merges policies into one decision table. Stanzas of the same pattern, in one policy or several,
 * become one rule: capabilities are united and a deny clears them all.
 *
 * @param policies templates expanded (`expandPolicy`); a stanza that still has one counts for nothing
 * @param now Unix seconds, to leave out stanzas that have run out
 */
export function compileAcl(policies: readonly Policy[], now: number): Acl {
  const groups = new Map<string, Rule[]>();
  let valid_until = Number.POSITIVE_INFINITY;
  for (const { rules } of policies) {
    for (const stanza of rules) {
      if (stanza.pattern.selectors.length > 0) continue;
      if (stanza.expiration !== undefined) {
        if (stanza.expiration <= now) continue;
        valid_until = Math.min(valid_until, stanza.expiration);
      }
      addTo(groups, stanza.pattern.form, ruleOf(stanza));
    }
  }
  const root = policies.some((policy) => policy.root);
  return indexRules(mergeGroups(groups), { root, valid_until });
}

function addTo<Of>(groups: Map<string, Of[]>, key: string, one: Of): void {
  const group = groups.get(key);
  if (group) group.push(one);
  else groups.set(key, [one]);
}

function indexRules(
  merged: ReadonlyMap<string, Rule>,
  facts: Pick<Acl, 'root' | 'valid_until'>,
): Acl {
  const exact = new Map<string, Rule>();
  const byHead = new Map<string, WildRule[]>();
  for (const [form, rule] of merged) {
    const pattern = compilePattern(form);
    if (!pattern) {
      exact.set(form, rule);
      continue;
    }
    addTo(byHead, pattern.head, { pattern, rule });
  }
  for (const bucket of byHead.values()) {
    bucket.sort((a, b) => comparePrecedence(a.pattern, b.pattern));
  }
  const headLengths = [...new Set([...byHead.keys()].map((head) => head.length))];
  headLengths.sort((a, b) => b - a);
  return { ...facts, exact, byHead, headLengths, size: merged.size };
}

const spelt = new WeakMap<Acl, Map<string, Acl>>();

/**
 * The same rules with names in their one spelling where a path has names of more than one: a rule
 * that is written `users/Boss` speaks of `users/boss`, whichever way it is asked for.
 */
function canonicalAcl(acl: Acl, path: string, formed: readonly FormedSegment[]): Acl {
  const folding = foldingNames(path, formed);
  if (folding.length === 0) return acl;
  const known = spelt.get(acl) ?? new Map<string, Acl>();
  spelt.set(acl, known);
  const key = folding.map(({ at }) => at).join();
  const found = known.get(key);
  if (found) return found;
  const made = foldNames(acl, folding);
  known.set(key, made);
  return made;
}

/** The rules themselves where every name is written in its one spelling, as most are. */
function foldNames(acl: Acl, folding: readonly FormedSegment[]): Acl {
  const groups = new Map<string, Rule[]>();
  let differs = false;
  const add = (form: string, rule: Rule): void => {
    const canonical = canonicalPattern(form, folding);
    differs ||= canonical !== form;
    addTo(groups, canonical, rule);
  };
  for (const [form, rule] of acl.exact) add(form, rule);
  for (const bucket of acl.byHead.values()) {
    for (const { pattern, rule } of bucket) add(pattern.form, rule);
  }
  return differs ? indexRules(mergeGroups(groups), acl) : acl;
}

const NOTHING: ParameterRules = new Map();

function denial(): Rule {
  return {
    granted: DENY,
    allowed_parameters: NOTHING,
    denied_parameters: NOTHING,
    required_parameters: [],
    min_wrapping_ttl: undefined,
    max_wrapping_ttl: undefined,
    pagination_limit: undefined,
    unmet: undefined,
  };
}

function ruleOf(stanza: PathRule): Rule {
  if (stanza.capabilities.includes('deny')) return denial();
  let granted = 0;
  for (const capability of stanza.capabilities) granted |= bitOf(capability);
  return {
    granted,
    allowed_parameters: stanza.allowed_parameters,
    denied_parameters: stanza.denied_parameters,
    required_parameters: stanza.required_parameters,
    min_wrapping_ttl: stanza.min_wrapping_ttl,
    max_wrapping_ttl: stanza.max_wrapping_ttl,
    pagination_limit: stanza.pagination_limit,
    unmet: stanza.unmet,
  };
}

function mergeGroups(groups: ReadonlyMap<string, readonly Rule[]>): Map<string, Rule> {
  const merged = new Map<string, Rule>();
  for (const [form, rules] of groups) merged.set(form, mergeRules(rules));
  return merged;
}

/** All rules of one pattern at a time: one by one, each would copy what is merged already. */
function mergeRules(rules: readonly Rule[]): Rule {
  const [first = denial(), ...others] = rules;
  if (others.length === 0) return first;
  if (rules.some(({ granted }) => granted & DENY)) return denial();
  const merged: Rule = {
    ...first,
    allowed_parameters: mergeParameters(rules.map((rule) => rule.allowed_parameters)),
    denied_parameters: mergeParameters(rules.map((rule) => rule.denied_parameters)),
    required_parameters: [...new Set(rules.flatMap((rule) => rule.required_parameters))],
  };
  for (const rule of others) {
    merged.granted |= rule.granted;
    merged.min_wrapping_ttl = choose(Math.min, merged.min_wrapping_ttl, rule.min_wrapping_ttl);
    merged.max_wrapping_ttl = choose(Math.max, merged.max_wrapping_ttl, rule.max_wrapping_ttl);
    merged.pagination_limit = choose(Math.max, merged.pagination_limit, rule.pagination_limit);
    merged.unmet ??= rule.unmet;
  }
  return merged;
}

/** A bound that only one of the two has stays: another stanza does not take it away by silence. */
function choose(
  pick: (a: number, b: number) => number,
  a: number | undefined,
  b: number | undefined,
): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : pick(a, b);
}

/** The one rule that decides about a path: an exact one, or the best of those with wildcards. */
function findRule(acl: Acl, path: string): Rule | undefined {
  return acl.exact.get(path) ?? findWild(acl, path)?.rule;
}

/**
 * A list's path ends in a slash; only exact rules may leave it out (contract 5.3). What denies
 * the path without it denies its list, too, unless a rule of higher rank is about the list.
 */
function findListRule(acl: Acl, path: string): Rule | undefined {
  const bare = withoutSlash(path);
  const exact = acl.exact.get(`${bare}/`) ?? acl.exact.get(bare);
  if (exact) return exact;
  const [lists, whole] = [findWild(acl, `${bare}/`), findWild(acl, bare)];
  if (!lists || !whole || !(whole.rule.granted & DENY)) return lists?.rule;
  return comparePrecedence(whole.pattern, lists.pattern) <= 0 ? whole.rule : lists.rule;
}

function findWild(acl: Acl, path: string): WildRule | undefined {
  for (const length of acl.headLengths) {
    if (length > path.length) continue;
    const bucket = acl.byHead.get(path.slice(0, length));
    if (!bucket) continue;
    const found = findFirst(bucket, path);
    if (found) return found;
  }
  return undefined;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

const ALLOWED: AccessVerdict = { allowed: true };

function refuse(because: string): AccessVerdict {
  return { allowed: false, because };
}

/** What is known of a request before its fields. */
type Asked = Pick<AccessRequest, 'path' | 'operation' | 'formed' | 'sudoRequired'>;

/** Says whether a caller may do what a request asks for (contract 5.2 to 5.4). */
export function judgeAccess(acl: Acl, request: AccessRequest): AccessVerdict {
  if (acl.root) return ALLOWED;
  const rule = findRequestRule(acl, request);
  const verdict = judgeGrant(rule, request);
  return rule && verdict.allowed ? judgeConditions(rule, request) : verdict;
}

/**
 * Says whether any request for this could be allowed, whatever its fields. To be asked before a
 * body is read, so that nobody makes the server read what they may not send.
 */
export function mayBeAllowed(acl: Acl, request: Asked): boolean {
  return acl.root || judgeGrant(findRequestRule(acl, request), request).allowed;
}

function findRequestRule(written: Acl, asked: Asked): Rule | undefined {
  const { operation, formed } = asked;
  const hasNames = formed !== undefined && formed.length > 0;
  const acl = hasNames ? canonicalAcl(written, asked.path, formed) : written;
  const path = hasNames ? canonicalNames(asked.path, formed) : asked.path;
  // `a/` and `a` are one path to every other operation: a slash must not find another rule.
  return operation === 'list' ? findListRule(acl, path) : findRule(acl, withoutSlash(path));
}

function judgeGrant(rule: Rule | undefined, { operation, sudoRequired }: Asked): AccessVerdict {
  if (!rule) return refuse('no policy has a rule for this path');
  if (rule.granted & DENY) return refuse('a policy denies this path');
  if (!(rule.granted & OPERATION_BITS[operation])) return refuse(`"${operation}" is not granted`);
  if (sudoRequired && !(rule.granted & SUDO)) return refuse('"sudo" is not granted');
  if (rule.unmet) return refuse(`"${rule.unmet}" of the policy is not supported here`);
  return ALLOWED;
}

function judgeConditions(rule: Rule, request: AccessRequest): AccessVerdict {
  const { min_wrapping_ttl, max_wrapping_ttl, pagination_limit } = rule;
  const { wrapTtl, operation, parameters = {} } = request;
  if (min_wrapping_ttl !== undefined && (wrapTtl ?? 0) < min_wrapping_ttl) {
    return refuse(`the answer must be wrapped for at least ${min_wrapping_ttl} seconds`);
  }
  if (max_wrapping_ttl !== undefined && !(wrapTtl !== undefined && wrapTtl <= max_wrapping_ttl)) {
    return refuse(`the answer must be wrapped for at most ${max_wrapping_ttl} seconds`);
  }
  if (operation === 'delete') return ALLOWED;
  const because =
    operation === 'list'
      ? (judgePage(pagination_limit, request) ?? judgeListParameters(rule, request))
      : judgeParameters(rule, parameters, request.reader);
  return because === undefined ? ALLOWED : refuse(because);
}

/** A list that has no pages cannot be bounded: it is refused where a bound is asked for. */
function judgePage(
  most: number | undefined,
  { parameters = {}, reader }: AccessRequest,
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
function judgeListParameters(
  rule: Rule,
  { parameters = {}, reader }: AccessRequest,
): string | undefined {
  if (!reader) return undefined;
  const known = Object.entries(parameters).filter(([name]) => reader.knows(name));
  const required_parameters = rule.required_parameters.filter((name) => reader.knows(name));
  return judgeParameters({ ...rule, required_parameters }, Object.fromEntries(known), reader);
}

/**
 * What a path's rule grants, as `sys/capabilities` words it: sorted names, `["root"]` for a root
 * token, `["deny"]` for nothing.
 *
 * @param path as the client wrote it; a leading slash is taken off
 * @param formed counted without that slash
 */
export function listCapabilities(
  written: Acl,
  path: string,
  formed: readonly FormedSegment[] = [],
): string[] {
  if (written.root) return ['root'];
  const bare = path.startsWith('/') ? path.slice(1) : path;
  const acl = canonicalAcl(written, bare, formed);
  const asked = canonicalNames(bare, formed);
  const rule = asked.endsWith('/') ? findListRule(acl, asked) : findRule(acl, asked);
  if (!grants(rule)) return ['deny'];
  return CAPABILITIES.filter((_name, place) => rule.granted & (1 << place));
}

/** Every rule with what it grants, in words; the patterns of those with wildcards as written. */
export function listGrants(acl: Acl): {
  exact: ReadonlyMap<string, string[]>;
  wild: ReadonlyMap<string, string[]>;
} {
  const words = (rule: Rule): string[] =>
    CAPABILITIES.filter((_name, place) => rule.granted & (1 << place));
  const rules = [...acl.byHead.values()].flat();
  return {
    exact: new Map([...acl.exact].map(([path, rule]) => [path, words(rule)])),
    wild: new Map(rules.map(({ pattern, rule }) => [patternText(pattern), words(rule)])),
  };
}

function patternText({ form, open }: WildPattern): string {
  const body = open ? form.slice(0, -ANY_REST.length) : form;
  return `${body.replaceAll(ANY_SEGMENT, '+')}${open ? '*' : ''}`;
}

function grants(rule: Rule | undefined): rule is Rule {
  return rule !== undefined && rule.granted !== 0 && !(rule.granted & DENY);
}

/** A segment that no rule can name, so that only wildcards match it. */
const SOME = '\u0004';

/**
 * Whether a caller may do anything at all beneath a path: it decides which mounts are shown.
 *
 * Each rule that grants something is tried with sample paths of its own beneath the prefix, which
 * a rule of higher precedence may take away again.
 *
 * @param prefix with its last slash: `pki/`, `auth/userpass/`
 */
export function hasAccessBeneath(acl: Acl, prefix: string): boolean {
  if (acl.root) return true;
  const answers = beneath.get(acl) ?? new Map<string, boolean>();
  beneath.set(acl, answers);
  const known = answers.get(prefix);
  if (known !== undefined) return known;
  if (answers.size >= MOST_PREFIXES) answers.clear();
  const answer = findAccessBeneath(acl, prefix);
  answers.set(prefix, answer);
  return answer;
}

/** Answers by prefix: every rule is looked at for each of them. */
const beneath = new WeakMap<Acl, Map<string, boolean>>();

/** As many as there are mounts and endpoints with a name in their path. */
const MOST_PREFIXES = 2000;

function findAccessBeneath(acl: Acl, prefix: string): boolean {
  const bare = withoutSlash(prefix);
  for (const [path, rule] of acl.exact) {
    if (grants(rule) && (path === bare || path.startsWith(`${bare}/`))) return true;
  }
  const segments = bare.split('/');
  for (const bucket of acl.byHead.values()) {
    for (const { pattern, rule } of bucket) {
      if (!grants(rule)) continue;
      if (samplePaths(pattern, segments).some((path) => grants(findRule(acl, path)))) return true;
    }
  }
  return false;
}

/** Paths beneath `prefix` that the pattern matches; none if it cannot match any. */
function samplePaths(pattern: WildPattern, prefix: readonly string[]): string[] {
  const body = pattern.open ? pattern.form.slice(0, -ANY_REST.length) : pattern.form;
  const wanted = body.split('/');
  const path: string[] = [];
  for (let index = 0; index < Math.max(wanted.length, prefix.length); index++) {
    const want = wanted[index];
    const have = prefix[index];
    if (want === undefined) return [];
    if (have === undefined) {
      path.push(want === ANY_SEGMENT ? SOME : want);
    } else if (pattern.open && index === wanted.length - 1) {
      if (!have.startsWith(want)) return [];
      return samplesOfRest(`${prefix.join('/')}/`);
    } else if (want !== ANY_SEGMENT && want !== have) {
      return [];
    } else {
      path.push(have);
    }
  }
  if (pattern.open) return samplesOfRest(path.join('/'));
  return wanted.length > prefix.length ? [path.join('/')] : [];
}

/** Deeper than rules without "any rest" go, so that such a rule alone cannot hide what is granted. */
const DEEP = Array.from({ length: 64 }, () => SOME).join('/');

function samplesOfRest(start: string): string[] {
  return [start, start + SOME, start + DEEP];
}
