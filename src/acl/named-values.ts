import { foldName } from '../core/fold.ts';
import type { Steps } from '../core/steps.ts';
import type { Comparisons } from './comparisons.ts';
import type { ParameterValue } from './policy.ts';
import { isSame } from './same-value.ts';
import type { Stride } from './stride.ts';
import { isGlob, LONG_TEXT, ValueSet } from './value-set.ts';
import { FOREIGN, instantsIn, spellingsOf, textOf, valuesIn } from './value-texts.ts';

/** Reading a value that a rule names takes as long as comparing this many texts. */
const READING = 100;
/** Finding one that was read. */
const FINDING = 3;
/** Filing a value that a rule names takes as long as so many comparisons. */
const FILING = 8;

/** Letters of other scripts are converted, which takes long. */
const weighText = (text: string): number =>
  FOREIGN.test(text) ? 8 * text.length : text.length >> 2;

/** Takes what reading a value costs; below zero: it is not to be read. */
function payReading(named: ParameterValue, budget: Comparisons, reading = READING): boolean {
  budget.left -= reading;
  if (typeof named === 'string') budget.left -= weighText(named);
  if (budget.left < 0) return false;
  return !isList(named) || named.every((each) => payReading(each, budget, 1));
}

export function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}

/** A value that a rule names, in the forms in which values sent are compared with it. */
export class Named {
  readonly value: ParameterValue;
  /** What the endpoint would read of it; undefined for what it does not know or refuses. */
  readonly meant: unknown;
  #items: readonly unknown[] | undefined;
  #folded: readonly string[] | undefined;
  #spellings: readonly string[] | undefined;
  #values: readonly string[] | undefined;
  #instants: readonly string[] | undefined;

  constructor(value: ParameterValue, meant: unknown) {
    this.value = value;
    this.meant = meant;
  }

  /** What of it stands for one item: itself, and what the endpoint would read of it. */
  get items(): readonly unknown[] {
    this.#items ??= itemsOf(this.value, this.meant);
    return this.#items;
  }

  /** The texts of those, in lower case. */
  get folded(): readonly string[] {
    this.#folded ??= this.items.flatMap((item) => {
      const text = textOf(item);
      return text === undefined ? [] : [foldName(text)];
    });
    return this.#folded;
  }

  get spellings(): readonly string[] {
    this.#spellings ??= this.folded.flatMap(spellingsOf);
    return this.#spellings;
  }

  /** The addresses and serial numbers that they are. */
  get values(): readonly string[] {
    this.#values ??= this.folded.flatMap(valuesIn);
    return this.#values;
  }

  /** The lengths of time and the times that it may stand for; the empty text stands for none. */
  get instants(): readonly string[] {
    const text = textOf(this.value);
    this.#instants ??= text ? instantsIn(text) : [];
    return this.#instants;
  }
}

function itemsOf(named: ParameterValue, meant: unknown): unknown[] {
  const [item, ...more]: unknown[] = Array.isArray(meant) ? meant : [meant];
  const isOne = item !== undefined && more.length === 0 && item !== named;
  // A pattern that is read as one stays one: `*.bücher.example` is a pattern of A-labels.
  if (isGlob(named))
    return isOne && isGlob(item) && sameEnds(named, item) ? [named, item] : [named];
  return isOne ? [named, item] : [named];
}

function sameEnds(one: string, other: string): boolean {
  return one.startsWith('*') === other.startsWith('*') && one.endsWith('*') === other.endsWith('*');
}

/** Values that are asked about for many others; a list is compared whole, element by element. */
export class NamedSet {
  readonly #all: ReadonlySet<unknown>;
  readonly #others: readonly unknown[];
  /** Made when it is first asked for: most values are named word for word. */
  #texts: ValueSet | undefined;

  constructor(all: readonly unknown[]) {
    this.#all = new Set(all);
    this.#others = all.filter((each) => typeof each !== 'string');
  }

  get #words(): ValueSet {
    this.#texts ??= new ValueSet([...this.#all].filter((each) => typeof each === 'string'));
    return this.#texts;
  }

  /** Whether it is named word for word. */
  names(text: string): boolean {
    return this.#all.has(text);
  }

  /** {@link has}: a long text is looked through in steps. */
  *walk(sent: unknown, budget: Stride): Steps<boolean | undefined> {
    const isLong = typeof sent === 'string' && sent.length > LONG_TEXT;
    return isLong ? yield* this.#words.walk(sent, budget) : this.has(sent, budget);
  }

  /** Whether a value is named, or fits a pattern; undefined when that would take too long. */
  has(sent: unknown, budget: Comparisons): boolean | undefined {
    if (typeof sent === 'string') return this.#words.has(sent, budget);
    const isOne = this.#others.some((each) => isSame(each, sent, budget));
    return isOne || budget.left >= 0 ? isOne : undefined;
  }
}

/** Takes what filing values costs; below zero: they are not to be filed. */
function payFiling(all: readonly unknown[], budget: Comparisons): boolean {
  budget.left -= FILING * all.length;
  for (const each of all) if (typeof each === 'string') budget.left -= each.length >> 3;
  return budget.left >= 0;
}

/** By the list in which rules name the values. */
type Filed = Map<readonly ParameterValue[], NamedSet>;

/** Undefined when nothing is left of the budget. */
function fileInto(
  filed: Filed,
  all: readonly ParameterValue[],
  values: readonly unknown[],
  budget: Comparisons,
): NamedSet | undefined {
  if (!payFiling(values, budget)) return undefined;
  const made = new NamedSet(values);
  filed.set(all, made);
  return made;
}

/**
 * The values that rules name of a field, each read, folded and filed once a request, however many rules
 * name it, and of however many names and spellings that the endpoint does not know.
 */
export class NamedValues {
  readonly #read: ((named: ParameterValue) => unknown) | undefined;
  readonly #known = new Map<ParameterValue, Named>();
  /** Each made when it is first needed: most fields need one of them. */
  #sets: Filed | undefined;
  #itemSets: Filed | undefined;
  #patterns: Map<readonly ParameterValue[], ValueSet | undefined> | undefined;

  /** @param read how the endpoint reads the field; without it, it does not know it */
  constructor(read?: (named: ParameterValue) => unknown) {
    this.#read = read;
  }

  /** Undefined when nothing is left of the budget. */
  find(named: ParameterValue, budget: Comparisons): Named | undefined {
    budget.left -= FINDING;
    const found = this.#known.get(named);
    if (found) return budget.left < 0 ? undefined : found;
    if (!payReading(named, budget)) return undefined;
    const made = new Named(named, this.#read?.(named));
    this.#known.set(named, made);
    return made;
  }

  /** What rules name, as they name it; undefined when nothing is left of the budget. */
  setOf(all: readonly ParameterValue[], budget: Comparisons): NamedSet | undefined {
    this.#sets ??= new Map();
    return this.#sets.get(all) ?? fileInto(this.#sets, all, all, budget);
  }

  /** The same, and what the endpoint would read of each. All of them have been found before. */
  itemsOf(all: readonly ParameterValue[], budget: Comparisons): NamedSet | undefined {
    this.#itemSets ??= new Map();
    const found = this.#itemSets.get(all);
    if (found) return found;
    const items = all.flatMap((named) => this.#known.get(named)?.items ?? []);
    return fileInto(this.#itemSets, all, items, budget);
  }

  /** The patterns among them, in lower case; undefined where there are none. Likewise. */
  patternsOf(all: readonly ParameterValue[], budget: Comparisons): ValueSet | undefined {
    if (this.#patterns?.has(all)) return this.#patterns.get(all);
    const globs = all.filter(isGlob);
    const texts = globs.flatMap((named) => this.#known.get(named)?.folded ?? []);
    payFiling(texts, budget);
    const made = texts.length > 0 ? new ValueSet(texts) : undefined;
    this.#patterns ??= new Map();
    this.#patterns.set(all, made);
    return made;
  }
}
