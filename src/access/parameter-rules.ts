import { isDeepStrictEqual } from 'node:util';
import { foldName } from '../core/fold.ts';
import {
  holdsEntries,
  isSameInstant,
  itemsNamed,
  listItems,
  MAX_ITEMS,
  NO_READER,
  type ParameterReader,
  readSent,
  type Sent,
  spellingsOf,
  textOf,
} from './parameter-forms.ts';
import type { ParameterRules, ParameterValue } from './policy.ts';
import { type Comparisons, isGlob, MOST_COMPARISONS, ValueSet } from './value-set.ts';

/** The three conditions on parameters of a rule; names in lower case. */
export interface ParameterConditions {
  allowed_parameters: ParameterRules;
  denied_parameters: ParameterRules;
  required_parameters: readonly string[];
}

/** Whether any of the three is there. */
export function hasConditions(rule: ParameterConditions): boolean {
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  return allowed_parameters.size + denied_parameters.size + required_parameters.length > 0;
}

/**
 * Says why a request's parameters are refused, or undefined if they are not (contract 5.4). The
 * reason names parameters and never has a value in it. A value counts as what the endpoint makes
 * of it, and is denied by what was sent, too: neither `"t"` nor `1` gets past a rule about `true`.
 *
 * @param parameters as sent; names are compared without regard to case
 */
export function judgeParameters(
  rule: ParameterConditions,
  parameters: Readonly<Record<string, unknown>>,
  reader: ParameterReader = NO_READER,
): string | undefined {
  if (!hasConditions(rule)) return undefined;
  return judgeFields(rule, readFields(parameters, reader), { left: MOST_COMPARISONS });
}

/** Parameters of a request, each read when it is first asked about, and once, however many rules judge it. */
export interface SentFields {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reader: ParameterReader;
  readonly each: readonly Sent[];
}

class LazyFields implements SentFields {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reader: ParameterReader;
  #each: readonly Sent[] | undefined;

  constructor(parameters: Readonly<Record<string, unknown>>, reader: ParameterReader) {
    this.parameters = parameters;
    this.reader = reader;
  }

  get each(): readonly Sent[] {
    const { parameters, reader } = this;
    this.#each ??= Object.keys(parameters).map((name) => readSent(name, parameters[name], reader));
    return this.#each;
  }
}

export function readFields(
  parameters: Readonly<Record<string, unknown>>,
  reader: ParameterReader = NO_READER,
): SentFields {
  return new LazyFields(parameters, reader);
}

/** Some of them. */
export function pickFields(
  { each, reader }: SentFields,
  isWanted: (sent: Sent) => boolean,
): SentFields {
  const wanted = each.filter(isWanted);
  const parameters = Object.fromEntries(wanted.map(({ written, value }) => [written, value]));
  return { parameters, reader, each: wanted };
}

/** As {@link judgeParameters}; when nothing is left of the budget, the answer says nothing. */
export function judgeFields(
  rule: ParameterConditions,
  fields: SentFields,
  budget: Comparisons,
): string | undefined {
  const { parameters, reader } = fields;
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  const missing = required_parameters.find((wanted) => !isThere(wanted, parameters, reader));
  if (missing !== undefined) return `parameter "${missing}" is required`;
  if (denied_parameters.size + allowed_parameters.size === 0) return undefined;

  const sent = fields.each;
  budget.left -= sent.length;
  if (denied_parameters.has('*') && sent.length > 0) return 'no parameter is allowed';
  if (countForeign(rule, sent) > MOST_FOREIGN) {
    return `more than ${MOST_FOREIGN} names in other scripts are not compared`;
  }
  for (const each of sent) {
    const rules = each.names.flatMap((name) => denied_parameters.get(name) ?? []);
    const any = each.names.some((name) => denied_parameters.get(name)?.length === 0);
    if (any || isDenied(rules, each, budget)) {
      return `parameter "${each.name}" is denied`;
    }
  }

  if (allowed_parameters.size === 0) return undefined;
  const others = allowed_parameters.has('*');
  for (const each of sent) {
    const rules = each.names.flatMap((name) => {
      const values = allowed_parameters.get(name);
      return values ? [values] : [];
    });
    if (rules.length === 0 && !others) return `parameter "${each.name}" is not allowed`;
    const isBeyond = (values: readonly ParameterValue[]): boolean =>
      values.length > 0 && !isAllowed(values, each, budget);
    if (rules.some(isBeyond)) return `parameter "${each.name}" is not allowed with this value`;
  }
  return undefined;
}

/** Each is converted to be compared, in which time nobody else is served. */
const MOST_FOREIGN = 2_000;

/** Names in other scripts in all the fields whose values are compared. */
function countForeign(
  { allowed_parameters, denied_parameters }: ParameterConditions,
  sent: readonly Sent[],
): number {
  let count = 0;
  for (const each of sent) {
    const isCompared = each.names.some(
      (name) => denied_parameters.get(name)?.length || allowed_parameters.get(name)?.length,
    );
    if (isCompared) count += each.foreign;
  }
  return count;
}

/**
 * Whether a required parameter came along. A field of the endpoint must be there as the endpoint
 * finds it: by its own name, and not as null, which stands for nothing sent.
 */
function isThere(
  wanted: string,
  parameters: Readonly<Record<string, unknown>>,
  reader: ParameterReader,
): boolean {
  if (!reader.knows(wanted)) {
    return Object.keys(parameters).some((name) => name.toLowerCase() === wanted);
  }
  return reader
    .namesOf(wanted)
    .some((name) => Object.hasOwn(parameters, name) && (parameters[name] ?? null) !== null);
}

/** Unites what several stanzas say about parameters; a name with any value stays with any value. */
export function mergeParameters(all: readonly ParameterRules[]): ParameterRules {
  const [first, second] = all.filter(({ size }) => size > 0);
  if (!second) return first ?? NO_PARAMETERS;
  const merged = new Map<string, ParameterValue[]>();
  for (const [name, values] of all.flatMap((rules) => [...rules])) {
    const known = merged.get(name);
    if (!known) merged.set(name, [...values]);
    else if (values.length === 0) known.length = 0;
    else if (known.length > 0) for (const value of values) known.push(value);
  }
  return merged;
}

const NO_PARAMETERS: ParameterRules = new Map();

/** Reading a value that a rule names takes as long as comparing this many texts. */
const READING = 100;

/**
 * Whether what the endpoint reads is what it would read of a value named, or a list of such. What
 * it refuses to read is compared as it was sent.
 */
function isAllowed(allowed: readonly ParameterValue[], sent: Sent, budget: Comparisons): boolean {
  const { read, readNamed, value } = sent;
  if (read === undefined) return isNamed(allowed, value, budget);
  if (allowed.includes('*') || areAmong(allowed, read, budget)) return true;
  budget.left -= 2 * READING * allowed.length;
  if (budget.left < 0) return false;
  if (allowed.some((named) => isDeepStrictEqual(readNamed(named), read))) return true;
  const items = allowed.flatMap((named) => itemsNamed(named, sent));
  if (!Array.isArray(read)) return isNamed(items, textOf(read) ?? read, budget);
  if (read.length === 0 || read.length > MAX_ITEMS) return false;
  const named = namedBy(items, budget);
  return read.every((item) => named(item) === true);
}

/** Whether what is read is a text that is named word for word, or a list of such. */
function areAmong(allowed: readonly ParameterValue[], read: unknown, budget: Comparisons): boolean {
  const texts: readonly unknown[] = Array.isArray(read) ? read : [read];
  budget.left -= texts.length >> 3;
  const named = new Set<unknown>(allowed);
  return texts.length > 0 && texts.every((text) => typeof text === 'string' && named.has(text));
}

/**
 * Whether a value is among those named. A text may be read as a list later, `a,b` or
 * `["a","b"]`, so a pattern lets such a text pass only where some pattern fits each item of it:
 * `*.example.com` must not let in `evil.test,www.example.com`.
 */
function isNamed(allowed: readonly unknown[], sent: unknown, budget: Comparisons): boolean {
  const named = namedBy(allowed, budget);
  const items = listItems(sent);
  if (items === undefined) return named(sent) === true;
  if (typeof sent === 'string' && (allowed.includes(sent) || allowed.includes('*'))) return true;
  return items.length <= MAX_ITEMS && items.every((item) => named(item) === true);
}

/** Whether a value is one of those that rules name; a list is compared whole, element by element. */
function namedBy(
  all: readonly unknown[],
  budget: Comparisons,
): (sent: unknown) => boolean | undefined {
  const texts = new ValueSet(all.filter((named) => typeof named === 'string'));
  const others = all.filter((named) => typeof named !== 'string');
  return (sent) => {
    if (typeof sent === 'string') return texts.has(sent, budget);
    budget.left -= others.length;
    if (budget.left < 0) return undefined;
    return others.some((named) => isDeepStrictEqual(named, sent));
  };
}

/**
 * Also true if an element of a list is what a rule names, or an item of a text that can be
 * read as one: otherwise a denied value would be let in by a bracket, a comma or a blank beside
 * it. Upper case, another form of the same length of time and another way to write the same
 * boolean or number are no ways around a denial either.
 */
function isDenied(rules: readonly ParameterValue[], sent: Sent, budget: Comparisons): boolean {
  if (rules.length === 0) return false;
  const { texts } = sent.forms;
  if (!texts) return true;
  budget.left -= READING * rules.length;
  if (budget.left < 0 || rules.some((named) => isDeniedAlone(named, sent, texts))) return true;
  const globs = rules.filter(isGlob);
  if (globs.length === 0) return false;
  const patterns = new ValueSet(globs.flatMap((named) => textsNamed(named, sent)));
  return texts.values().some((each) => patterns.has(each, budget) !== false);
}

/** {@link isDenied}, but for what a pattern fits. */
function isDeniedAlone(named: ParameterValue, sent: Sent, texts: ReadonlySet<string>): boolean {
  const { lists, hasValue } = sent.forms;
  if (isList(named)) {
    return lists.some((list) => isDeepStrictEqual(named, list)) || isReadAs(named, sent);
  }
  const wanted = textOf(named);
  if (wanted === undefined) return sent.value === null;
  const isThere = (text: string): boolean =>
    spellingsOf(text).some((each) => texts.has(each)) || hasValue(text);
  if (!isGlob(named) && textsNamed(named, sent).some(isThere)) return true;
  return isSameInstant(wanted, sent) || isReadAs(named, sent);
}

const textsNamed = (named: ParameterValue, sent: Sent): string[] =>
  itemsNamed(named, sent).flatMap((item) => {
    const text = textOf(item);
    return text === undefined ? [] : [foldName(text)];
  });

/** Whether what is read is what the endpoint would read of a value named. */
function isReadAs(named: ParameterValue, sent: Sent): boolean {
  const { read, readNamed } = sent;
  if (read === undefined) return false;
  const meant = readNamed(named);
  if (meant === undefined) return false;
  if (isDeepStrictEqual(meant, read) || holdsEntries(read, meant)) return true;
  if (isList(named) || !Array.isArray(meant) || !Array.isArray(read)) return false;
  return meant.length === 1 && sent.forms.items.has(meant[0]);
}

function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}
