import { WorkedOut } from '../../core/fairness/worked-out.ts';
import {
  expandTemplate,
  type IdentityFacts,
  isLookedUp,
  isTemplate,
  type LookedUp,
  listSelectors,
} from '../../core/identity-template.ts';
import { textBytes } from '../../core/kept.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { type Budget, PatternSet } from '../../core/pattern-set.ts';
import { isHostPart, isUriPart, isWholeName, isWholeUri } from '../../core/template-values.ts';
import { isAscii, toAsciiHostName } from '../fields/host-name.ts';
import { parseOtherSan } from '../fields/other-san.ts';
import type { Role } from './role.ts';

/** The role fields that list what names may be. */
export type ListedRules = Pick<
  Role,
  | 'allowed_domains'
  | 'allowed_domains_template'
  | 'allowed_uri_sans'
  | 'allowed_uri_sans_template'
  | 'allow_globs_in_identity_templates'
  | 'allowed_other_sans'
  | 'allowed_serial_numbers'
  | 'allowed_user_ids'
>;

/** `allowed_domains`, ready to be asked about many names. */
export interface DomainRules {
  /** In lower case. */
  bare: ReadonlySet<string>;
  domains: ReadonlySet<string>;
  /** Length of the longest one. */
  longest: number;
  /** Those with a `*`. */
  globs: PatternSet;
}

/** What a role lists, each list taken apart once and not for each name. */
export interface CompiledRules {
  domains: readonly DomainRules[];
  uris: readonly PatternSet[];
  serial_numbers: PatternSet;
  user_ids: PatternSet;
  /** Those without a star, in lower case. */
  folded_user_ids: ReadonlySet<string>;
  /** Values by object identifier. */
  other: ReadonlyMap<string, PatternSet>;
}

interface Fixed extends CompiledRules {
  /** What must be filled in for each caller. */
  templates: { domains: readonly string[]; uris: readonly string[] };
  filled: (identity: IdentityFacts) => WorkedOut<CompiledRules>;
}

/**
 * The rules of a role as {@link CompiledRules}: worked out once for as long as the role is in use,
 * its templates once for each caller while there is room: a role has thousands of them, and of callers.
 *
 * @param identity fills in templates; undefined when the caller has no entity, and then no
 *   templated entry matches anything
 */
export function compileRules(
  rules: ListedRules,
  identity: IdentityFacts | undefined,
): CompiledRules {
  const fixed = compileFixed(rules);
  const { templates, filled } = fixed;
  if (!identity || templates.domains.length + templates.uris.length === 0) return fixed;
  const known = filled(identity).value;
  if (known) return known;
  const globs = rules.allow_globs_in_identity_templates;
  const fill = (entries: readonly string[], fits: Fit) =>
    entries.flatMap((one) => fillIn(one, identity, globs ? besidesStars(fits) : fits));
  const domains = fill(templates.domains, fitsDomain);
  const uris = fill(templates.uris, fitsUri);
  const whole: CompiledRules = {
    ...fixed,
    domains: [...fixed.domains, compileDomains(domains)],
    uris: [...fixed.uris, new PatternSet(uris)],
  };
  return filled(identity).keep(whole, FILLED_BYTES + weighEntries([domains, uris]));
}

/** What is filled in for somebody, besides the entries. */
const FILLED_BYTES = 1_024;

const compileFixed = memoizeWeak((rules: ListedRules): Fixed => {
  const domains = divide(rules.allowed_domains, rules.allowed_domains_template);
  const uris = divide(rules.allowed_uri_sans, rules.allowed_uri_sans_template);
  return {
    domains: [compileDomains(domains.fixed)],
    uris: [new PatternSet(uris.fixed)],
    serial_numbers: new PatternSet(rules.allowed_serial_numbers.filter((one) => one !== '')),
    user_ids: new PatternSet(rules.allowed_user_ids.filter((one) => one.includes('*'))),
    folded_user_ids: new Set(
      rules.allowed_user_ids.filter((one) => one !== '').map((one) => one.toLowerCase()),
    ),
    other: compileOtherSans(rules.allowed_other_sans),
    templates: { domains: domains.templates, uris: uris.templates },
    filled: memoizeWeak(() => new WorkedOut()),
  };
});

/** An entry as it is looked up, besides its characters; a pattern is filed by a piece of it. */
const ENTRY_BYTES = 128;
const PATTERN_BYTES = 448;

/** About how many bytes entries take that were compiled. */
function weighEntries(lists: readonly (readonly string[])[]): number {
  return lists.flat().reduce((sum, entry) => sum + textBytes(entry), weighCount(lists));
}

/** Patterns of a role that are filed in a few milliseconds, once; more are filed on a thread of their own. */
export const LIGHT_PATTERNS = 3000;

/** The same without their characters. */
function weighCount(lists: readonly (readonly string[])[]): number {
  let entries = 0;
  let patterns = 0;
  for (const list of lists) {
    entries += list.length;
    for (const entry of list) if (entry.includes('*')) patterns += 1;
  }
  const filed = patterns > LIGHT_PATTERNS ? 0 : patterns;
  return ENTRY_BYTES * entries + PATTERN_BYTES * filed;
}

/** About how many bytes the lists of a role take, as they are and compiled, besides their characters. */
export const weighLists = (rules: ListedRules): number =>
  weighCount([
    rules.allowed_domains,
    rules.allowed_uri_sans,
    rules.allowed_other_sans,
    rules.allowed_serial_numbers,
    rules.allowed_user_ids,
  ]);

/** What the templates of a role name of groups and of what is said of aliases, with a key for all of it. */
export const listLookedUp = memoizeWeak(
  (rules: ListedRules): { selectors: readonly LookedUp[]; key: string } => {
    const templates = [
      ...(rules.allowed_domains_template ? rules.allowed_domains : []),
      ...(rules.allowed_uri_sans_template ? rules.allowed_uri_sans : []),
    ];
    const selectors = templates.flatMap(listSelectors).filter(isLookedUp);
    return { selectors, key: JSON.stringify(selectors) };
  },
);

function divide(entries: readonly string[], templating: boolean) {
  const fixed: string[] = [];
  const templates: string[] = [];
  for (const entry of entries) {
    if (templating && isTemplate(entry)) templates.push(entry);
    else if (entry !== '') fixed.push(toComparable(entry));
  }
  return { fixed, templates };
}

function toComparable(text: string): string {
  return isAscii(text) ? text : (toAsciiHostName(text) ?? text);
}

function compileDomains(entries: readonly string[]): DomainRules {
  const domains = new Set(entries);
  let longest = 0;
  for (const { length } of domains) longest = Math.max(longest, length);
  return {
    bare: new Set(entries.map((entry) => entry.toLowerCase())),
    domains,
    longest,
    globs: new PatternSet(entries.filter((entry) => entry.includes('*'))),
  };
}

/** Entries that cannot be read are passed over: they let nothing in. */
function compileOtherSans(entries: readonly string[]): Map<string, PatternSet> {
  const values = new Map<string, string[]>();
  for (const entry of entries) {
    const parsed = parseOtherSan(entry);
    if (!('oid' in parsed)) continue;
    const known = values.get(parsed.oid);
    if (known) known.push(parsed.value);
    else values.set(parsed.oid, [parsed.value]);
  }
  return new Map([...values].map(([oid, patterns]) => [oid, new PatternSet(patterns)]));
}

/** Whether a value may stand in an entry; `isWhole`: there is nothing else in it. */
type Fit = (value: string, place: { before: string; isWhole: boolean }) => boolean;

/** Where a `*` may come out of an identity, it counts as the letters that it stands for. */
const besidesStars =
  (fits: Fit): Fit =>
  (value, place) =>
    fits(value.replaceAll('*', 'a'), { ...place, before: place.before.replaceAll('*', 'a') });

const fitsDomain: Fit = (value, { isWhole }) => (isWhole ? isWholeName : isHostPart)(value);
const fitsUri: Fit = (value, { before, isWhole }) =>
  isWhole ? isWholeUri(value) : isUriPart(value, before);

/**
 * An entry with its templates filled in; none when that cannot be, or when a value from the
 * caller's identity could act as a pattern, change what stands around it or climb out of a path.
 */
function fillIn(entry: string, identity: IdentityFacts, fits: Fit): string[] {
  const isWhole = entry.startsWith('{{') && entry.indexOf('}}') === entry.length - 2;
  const text = expandTemplate(entry, identity, (value, before) => fits(value, { before, isWhole }));
  return text === undefined || text === '' || hasDotSegments(text) ? [] : [toComparable(text)];
}

/** Says whether a path in the text has a `.` or `..` segment. */
export function hasDotSegments(text: string): boolean {
  return text.split(/[/?#]/).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}

/** Says whether a text is within one of several sets. */
export function isListed(sets: readonly PatternSet[], text: string, budget: Budget): boolean {
  return sets.some((set) => set.has(text, budget));
}

/** Says whether the name is beneath one of the domains. */
export function isBeneath({ domains, longest }: DomainRules, name: string): boolean {
  // No domain is found farther from the end than the longest one reaches.
  let dot = name.indexOf('.', Math.max(0, name.length - longest - 1));
  for (; dot >= 0; dot = name.indexOf('.', dot + 1)) {
    if (domains.has(name.slice(dot + 1))) return true;
  }
  return false;
}
