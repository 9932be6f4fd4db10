import type { Steps } from '../core/steps.ts';
import { walkAllowed } from './allowed-values.ts';
import type { Comparisons } from './comparisons.ts';
import { walkDenied } from './denied-values.ts';
import { NamedValues } from './named-values.ts';
import { NO_READER, type ParameterReader, Sent } from './parameter-forms.ts';
import {
  NO_PARAMETERS,
  type ParameterConditions,
  type ParameterRules,
  type ParameterValue,
} from './policy.ts';
import { Stride } from './stride.ts';

/** Parameters of a request, each read when it is first asked about, and once, however many rules judge it. */
export interface SentFields {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reader: ParameterReader;
  readonly each: readonly Sent[];
  /** All names that were sent, lower case. */
  readonly names: ReadonlySet<string>;
  /** By each of their names, lower case. */
  readonly byName: ReadonlyMap<string, readonly Sent[]>;
}

class LazyFields implements SentFields {
  readonly reader: ParameterReader;
  #parameters: Readonly<Record<string, unknown>> | undefined;
  #each: readonly Sent[] | undefined;
  #names: ReadonlySet<string> | undefined;
  #byName: ReadonlyMap<string, readonly Sent[]> | undefined;

  constructor(
    reader: ParameterReader,
    of: { parameters?: Readonly<Record<string, unknown>>; each?: readonly Sent[] },
  ) {
    this.reader = reader;
    this.#parameters = of.parameters;
    this.#each = of.each;
  }

  get parameters(): Readonly<Record<string, unknown>> {
    this.#parameters ??= Object.fromEntries(
      this.each.map(({ written, value }) => [written, value]),
    );
    return this.#parameters;
  }

  get each(): readonly Sent[] {
    if (this.#each) return this.#each;
    const { parameters, reader } = this;
    const unknown = new NamedValues();
    this.#each = Object.keys(parameters).map(
      (name) => new Sent(name, parameters[name], reader, unknown),
    );
    return this.#each;
  }

  get names(): ReadonlySet<string> {
    this.#names ??= new Set(Object.keys(this.parameters).map((name) => name.toLowerCase()));
    return this.#names;
  }

  get byName(): ReadonlyMap<string, readonly Sent[]> {
    if (this.#byName) return this.#byName;
    const byName = new Map<string, Sent[]>();
    for (const sent of this.each) {
      for (const name of sent.names) byName.getOrInsert(name, []).push(sent);
    }
    this.#byName = byName;
    return byName;
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
  const fields = new LazyFields(reader, { parameters });
  known.set(parameters, fields);
  return fields;
}

/** Some of them. */
export function pickFields(
  { each, reader }: SentFields,
  isWanted: (sent: Sent) => boolean,
): SentFields {
  return new LazyFields(reader, { each: each.filter(isWanted) });
}

/**
 * Says why a request's parameters are refused, or undefined if they are not. The
 * reason names parameters and never has a value in it. A value counts as what the endpoint makes
 * of it, and is denied by what was sent, too: neither `"t"` nor `1` gets past a rule about `true`.
 * Others may go first between two steps: fields and values may be thousands.
 *
 * @param fields names are compared without regard to case
 * @param budget when nothing is left of it, the answer says nothing
 * @see S-71
 */
export function* walkFields(
  rule: ParameterConditions,
  fields: SentFields,
  budget: Comparisons,
): Steps<string | undefined> {
  const stepwise = new Stride(budget);
  const because =
    (yield* walkRequired(rule, fields, stepwise)) ?? (yield* walkValues(rule, fields, stepwise));
  return because ?? (budget.left < 0 ? TOO_MANY_COMPARISONS : undefined);
}

const TOO_MANY_COMPARISONS = 'comparing the parameters takes too long';

/** Looking for a parameter that a rule speaks of takes as long as so many comparisons. */
const FINDING = 5;
/** And filing one under its name, once for all rules. */
const FIELD = 8;

function* walkRequired(
  { required_parameters }: ParameterConditions,
  fields: SentFields,
  budget: Stride,
): Steps<string | undefined> {
  for (const wanted of required_parameters) {
    while (budget.isStepOver) yield;
    budget.left -= FINDING;
    if (!isThere(wanted, fields)) return `parameter "${wanted}" is required`;
  }
  return undefined;
}

function* walkValues(
  rule: ParameterConditions,
  fields: SentFields,
  budget: Stride,
): Steps<string | undefined> {
  const { allowed_parameters, denied_parameters } = rule;
  if (denied_parameters.size + allowed_parameters.size === 0) return undefined;
  if (denied_parameters.has('*') && fields.each.length > 0) return 'no parameter is allowed';
  const sent = listNamed(rule, fields, budget);
  if (budget.left < 0) return TOO_MANY_COMPARISONS;
  const compared = sent.filter((each) => isCompared(rule, each));
  if (compared.reduce((sum, { foreign }) => sum + foreign.names, 0) > MOST_FOREIGN) {
    return `more than ${MOST_FOREIGN} names in other scripts are not compared`;
  }
  for (const each of compared) each.payForeign(budget);
  for (const each of sent) {
    while (budget.isStepOver) yield;
    if (budget.left < 0) return TOO_MANY_COMPARISONS;
    for (const values of valuesOf(denied_parameters, each)) {
      const isDenied = values.length === 0 || (yield* walkDenied(values, each, budget));
      if (isDenied) return `parameter "${each.name}" is denied`;
    }
  }
  if (allowed_parameters.size === 0) return undefined;
  const other = allowed_parameters.has('*') ? undefined : yield* walkOthers(rule, fields, budget);
  if (other) return `parameter "${other.name}" is not allowed`;
  for (const each of sent) {
    while (budget.isStepOver) yield;
    if (budget.left < 0) return TOO_MANY_COMPARISONS;
    for (const values of valuesOf(allowed_parameters, each)) {
      const isAllowed = values.length === 0 || (yield* walkAllowed(values, each, budget));
      if (!isAllowed) return `parameter "${each.name}" is not allowed with this value`;
    }
  }
  return undefined;
}

/** What a rule says of the field, by each of its names. */
function valuesOf(rules: ParameterRules, { names }: Sent): (readonly ParameterValue[])[] {
  return names.flatMap((name) => {
    const values = rules.get(name);
    return values ? [values] : [];
  });
}

const filed = new WeakSet<SentFields>();

/** The fields that a rule speaks of: those of a long body are found by its names. */
function listNamed(
  { allowed_parameters, denied_parameters }: ParameterConditions,
  fields: SentFields,
  budget: Comparisons,
): readonly Sent[] {
  if (!filed.has(fields)) {
    filed.add(fields);
    budget.left -= FIELD * fields.each.length;
  }
  const found = new Set<Sent>();
  for (const rules of [denied_parameters, allowed_parameters]) {
    budget.left -= rules.size;
    for (const name of rules.keys()) {
      for (const each of fields.byName.get(name) ?? []) found.add(each);
    }
  }
  budget.left -= FINDING * found.size;
  return [...found];
}

/** The first field that a rule does not speak of. */
function* walkOthers(
  { allowed_parameters }: ParameterConditions,
  { each }: SentFields,
  budget: Stride,
): Steps<Sent | undefined> {
  for (const sent of each) {
    while (budget.isStepOver) yield;
    budget.left -= 2;
    if (!sent.names.some((name) => allowed_parameters.has(name))) return sent;
  }
  return undefined;
}

/** Each is converted to be compared, in which time nobody else is served. */
const MOST_FOREIGN = 2_000;

/** Whether the values of a field are compared. */
function isCompared(
  { allowed_parameters, denied_parameters }: ParameterConditions,
  { names }: Sent,
): boolean {
  return names.some(
    (name) =>
      (denied_parameters.get(name)?.length ?? 0) + (allowed_parameters.get(name)?.length ?? 0) > 0,
  );
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
