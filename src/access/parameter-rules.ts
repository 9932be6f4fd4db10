import { foldName } from '../core/fold.ts';
import {
  FOREIGN,
  isSameInstant,
  itemsNamed,
  MAX_ITEMS,
  NO_READER,
  type ParameterReader,
  readSent,
  type Sent,
  spellingsOf,
  textOf,
} from './parameter-forms.ts';
import type { ParameterRules, ParameterValue } from './policy.ts';
import { holdsEntries, isSame } from './same-value.ts';
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
  budget: Comparisons = { left: MOST_COMPARISONS },
): string | undefined {
  if (!hasConditions(rule)) return undefined;
  return judgeFields(rule, readFields(parameters, reader), budget);
}

/** Parameters of a request, each read when it is first asked about, and once, however many rules judge it. */
export interface SentFields {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reader: ParameterReader;
  readonly each: readonly Sent[];
  /** All names that were sent, lower case. */
  readonly names: ReadonlySet<string>;
}

class LazyFields implements SentFields {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reader: ParameterReader;
  #each: readonly Sent[] | undefined;
  #names: ReadonlySet<string> | undefined;

  constructor(
    parameters: Readonly<Record<string, unknown>>,
    reader: ParameterReader,
    each?: readonly Sent[],
  ) {
    this.parameters = parameters;
    this.reader = reader;
    this.#each = each;
  }

  get each(): readonly Sent[] {
    const { parameters, reader } = this;
    this.#each ??= Object.keys(parameters).map((name) => readSent(name, parameters[name], reader));
    return this.#each;
  }

  get names(): ReadonlySet<string> {
    this.#names ??= new Set(Object.keys(this.parameters).map((name) => name.toLowerCase()));
    return this.#names;
  }
}

/** By the object that a request's parameters are: they are judged at several places, and read once. */
const known = new WeakMap<object, SentFields>();

export function readFields(
  parameters: Readonly<Record<string, unknown>>,
  reader: ParameterReader = NO_READER,
): SentFields {
  const before = known.get(parameters);
  if (before?.reader === reader) return before;
  const fields = new LazyFields(parameters, reader);
  known.set(parameters, fields);
  return fields;
}

/** Some of them. */
export function pickFields(
  { each, reader }: SentFields,
  isWanted: (sent: Sent) => boolean,
): SentFields {
  const wanted = each.filter(isWanted);
  const parameters = Object.fromEntries(wanted.map(({ written, value }) => [written, value]));
  return new LazyFields(parameters, reader, wanted);
}

/** As {@link judgeParameters}; when nothing is left of the budget, the answer says nothing. */
export function judgeFields(
  rule: ParameterConditions,
  fields: SentFields,
  budget: Comparisons,
): string | undefined {
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  budget.left -= required_parameters.length;
  const missing = required_parameters.find((wanted) => !isThere(wanted, fields));
  if (missing !== undefined) return `parameter "${missing}" is required`;
  if (denied_parameters.size + allowed_parameters.size === 0) return undefined;

  const sent = fields.each;
  budget.left -= FIELD * sent.length;
  if (budget.left < 0) return TOO_MANY_COMPARISONS;
  if (denied_parameters.has('*') && sent.length > 0) return 'no parameter is allowed';
  if (countForeign(rule, sent) > MOST_FOREIGN) {
    return `more than ${MOST_FOREIGN} names in other scripts are not compared`;
  }
  payForeign(rule, sent, budget);
  for (const each of sent) {
    if (budget.left < 0) return TOO_MANY_COMPARISONS;
    const rules = each.names.flatMap((name) => denied_parameters.get(name) ?? []);
    const any = each.names.some((name) => denied_parameters.get(name)?.length === 0);
    if (any || isDenied(rules, each, budget)) {
      return `parameter "${each.name}" is denied`;
    }
  }

  if (allowed_parameters.size === 0) return undefined;
  const others = allowed_parameters.has('*');
  for (const each of sent) {
    if (budget.left < 0) return TOO_MANY_COMPARISONS;
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

const TOO_MANY_COMPARISONS = 'comparing the parameters takes too long';

/** Looking for what a rule says of a parameter takes as long as so many comparisons. */
const FIELD = 4;

/** Each is converted to be compared, in which time nobody else is served. */
const MOST_FOREIGN = 2_000;

/** Converting a name in another script takes as long as so many comparisons. */
const CONVERTING = 150;

/** Names in other scripts in all the fields whose values are compared. */
function countForeign(rule: ParameterConditions, sent: readonly Sent[]): number {
  let count = 0;
  for (const each of sent) if (isCompared(rule, each)) count += each.foreign;
  return count;
}

function isCompared(
  { allowed_parameters, denied_parameters }: ParameterConditions,
  { names }: Sent,
): boolean {
  return names.some(
    (name) =>
      (denied_parameters.get(name)?.length ?? 0) + (allowed_parameters.get(name)?.length ?? 0) > 0,
  );
}

/** Those that were converted for a rule: they are not for the next. */
const converted = new WeakSet<Sent>();

function payForeign(rule: ParameterConditions, sent: readonly Sent[], budget: Comparisons): void {
  for (const each of sent) {
    if (converted.has(each) || !isCompared(rule, each)) continue;
    budget.left -= CONVERTING * each.foreign;
    converted.add(each);
  }
}

/**
 * Whether a required parameter came along. A field of the endpoint must be there as the endpoint
 * finds it: by its own name, and not as null, which stands for nothing sent.
 */
function isThere(wanted: string, { names, parameters, reader }: SentFields): boolean {
  if (!reader.knows(wanted)) return names.has(wanted);
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

/** Takes what reading values that a rule names costs; below zero: they are not to be read. */
function payReading(
  all: readonly ParameterValue[],
  budget: Comparisons,
  reading = READING,
): boolean {
  for (const named of all) {
    budget.left -= reading;
    if (typeof named === 'string') budget.left -= lengthOf(named);
    if (budget.left < 0 || (isList(named) && !payReading(named, budget, 1))) return false;
  }
  return budget.left >= 0;
}

/** Letters of other scripts are converted, which takes long. */
const lengthOf = (text: string): number =>
  FOREIGN.test(text) ? 8 * text.length : text.length >> 2;

/**
 * Whether what the endpoint reads is what it would read of a value named, or a list of such. What
 * it refuses to read is compared as it was sent.
 */
function isAllowed(allowed: readonly ParameterValue[], sent: Sent, budget: Comparisons): boolean {
  const { read, readNamed, value } = sent;
  if (read === undefined) return isNamed(allowed, value, sent, budget);
  if (allowed.includes('*') || areAmong(allowed, read, budget)) return true;
  if (!payReading(allowed, budget, 2 * READING)) return false;
  if (allowed.some((named) => isSame(readNamed(named), read, budget))) return true;
  if (budget.left < 0) return false;
  const items = allowed.flatMap((named) => itemsNamed(named, sent));
  if (!Array.isArray(read)) return isNamed(items, textOf(read) ?? read, sent, budget);
  if (read.length === 0 || read.length > MAX_ITEMS) return false;
  const named = namedBy(items, budget);
  return read.every((item) => named(item) === true);
}

/** Whether what is read is a text that is named word for word, or a list of such. */
function areAmong(allowed: readonly ParameterValue[], read: unknown, budget: Comparisons): boolean {
  const texts: readonly unknown[] = Array.isArray(read) ? read : [read];
  budget.left -= allowed.length + (texts.length >> 3);
  if (budget.left < 0) return false;
  const named = new Set<unknown>(allowed);
  return texts.length > 0 && texts.every((text) => typeof text === 'string' && named.has(text));
}

/**
 * Whether a value is among those named. A text may be read as a list later, `a,b` or
 * `["a","b"]`, so a pattern lets such a text pass only where some pattern fits each item of it:
 * `*.example.com` must not let in `evil.test,www.example.com`.
 */
function isNamed(
  allowed: readonly unknown[],
  value: unknown,
  sent: Sent,
  budget: Comparisons,
): boolean {
  const named = namedBy(allowed, budget);
  const items = sent.itemsIn(value);
  if (items === undefined) return named(value) === true;
  if (typeof value === 'string' && (allowed.includes(value) || allowed.includes('*'))) return true;
  return items.length <= MAX_ITEMS && items.every((item) => named(item) === true);
}

/** Filing a value that a rule names takes as long as so many comparisons. */
const FILING = 8;

/** Whether a value is one of those that rules name; a list is compared whole, element by element. */
function namedBy(
  all: readonly unknown[],
  budget: Comparisons,
): (sent: unknown) => boolean | undefined {
  const named = all.filter((each) => typeof each === 'string');
  budget.left -= FILING * all.length;
  for (const { length } of named) budget.left -= length >> 3;
  if (budget.left < 0) return () => undefined;
  const texts = new ValueSet(named);
  const others = all.filter((each) => typeof each !== 'string');
  return (sent) => {
    if (typeof sent === 'string') return texts.has(sent, budget);
    const isOne = others.some((each) => isSame(each, sent, budget));
    return isOne || budget.left >= 0 ? isOne : undefined;
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
  if (!payReading(rules, budget)) return true;
  if (rules.some((named) => isDeniedAlone(named, sent, texts, budget))) return true;
  if (budget.left < 0) return true;
  const globs = rules.filter(isGlob);
  if (globs.length === 0) return false;
  const patterns = new ValueSet(globs.flatMap((named) => textsNamed(named, sent)));
  return texts.values().some((each) => patterns.has(each, budget) !== false);
}

/** {@link isDenied}, but for what a pattern fits. */
function isDeniedAlone(
  named: ParameterValue,
  sent: Sent,
  texts: ReadonlySet<string>,
  budget: Comparisons,
): boolean {
  const { lists, hasValue } = sent.forms;
  if (isList(named)) {
    return lists.some((list) => isSame(named, list, budget)) || isReadAs(named, sent, budget);
  }
  const wanted = textOf(named);
  if (wanted === undefined) return sent.value === null;
  const isThere = (text: string): boolean =>
    spellingsOf(text).some((each) => texts.has(each)) || hasValue(text);
  if (!isGlob(named) && textsNamed(named, sent).some(isThere)) return true;
  return isSameInstant(wanted, sent) || isReadAs(named, sent, budget);
}

const textsNamed = (named: ParameterValue, sent: Sent): string[] =>
  itemsNamed(named, sent).flatMap((item) => {
    const text = textOf(item);
    return text === undefined ? [] : [foldName(text)];
  });

/** Whether what is read is what the endpoint would read of a value named. */
function isReadAs(named: ParameterValue, sent: Sent, budget: Comparisons): boolean {
  const { read, readNamed } = sent;
  if (read === undefined) return false;
  const meant = readNamed(named);
  if (meant === undefined) return false;
  if (isSame(meant, read, budget) || holdsEntries(read, meant, budget)) return true;
  if (isList(named) || !Array.isArray(meant) || !Array.isArray(read)) return false;
  return meant.length === 1 && sent.forms.items.has(meant[0]);
}

function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}
