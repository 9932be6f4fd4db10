import { LONGEST_DOMAIN } from '../core/domain-names.ts';
import { foldName } from '../core/fold.ts';
import type { Steps } from '../core/steps.ts';
import type { Comparisons } from './comparisons.ts';
import { NamedValues } from './named-values.ts';
import type { Stride } from './stride.ts';
import { type Items, TextItems } from './text-items.ts';
import {
  FOREIGN,
  instantsIn,
  listItems,
  MAX_ITEMS,
  mayBeValue,
  textOf,
  valuesIn,
} from './value-texts.ts';

/** How the endpoint that is asked reads its fields. */
export interface ParameterReader {
  knows(name: string): boolean;
  /** What a value comes to; undefined for one that the endpoint refuses. */
  read(name: string, value: unknown): unknown;
  /** {@link read}, for whoever lets others go first in between; says nothing once nothing is left. */
  walk(name: string, value: unknown, budget: Stride): Steps<unknown>;
  /** What tells more that a text which was read says; undefined for a field whose texts say no more. */
  also(name: string): ((text: string) => readonly string[]) | undefined;
  /** All names of the field that has this one, itself among them. */
  namesOf(name: string): readonly string[];
}

/** Of an endpoint whose fields are not known. */
export const NO_READER: ParameterReader = {
  knows: () => false,
  read: () => undefined,
  *walk() {
    yield;
  },
  also: () => undefined,
  namesOf: (name) => [name],
};

/** Filing an item of a list takes as long as so many comparisons. */
const ITEM = 8;
/** And one that stays where it is in its text. */
const TEXT_ITEM = 2;
/** Reading one that looks like an address or a serial number. */
const VALUE = 20;
/** Asking what more an item says. */
const ALSO = 4;
/** Converting a name in another script, and each of its characters. */
const CONVERTING = 150;
const CONVERTING_CHARACTER = 2;

/** Texts that take long to read, and those of their characters that are converted. */
interface Foreign {
  names: number;
  characters: number;
}

/** A parameter as it was sent, and as the endpoint reads it; each form is made when it is first asked for. */
export class Sent {
  /** With the letter case that it came in. */
  readonly written: string;
  /** Lower case. */
  readonly name: string;
  /** All names of its field, lower case. */
  readonly names: readonly string[];
  readonly value: unknown;
  /** What rules name of it. */
  readonly named: NamedValues;
  /** Of a field that the endpoint knows. */
  readonly #reader: ParameterReader | undefined;
  #read: { of: unknown } | undefined;
  #items: Map<string, Items | undefined> | undefined;
  #forms: Forms | undefined;
  #instants: ReadonlySet<string> | undefined;
  #foreign: Foreign | undefined;
  #isPaid = false;

  /**
   * @param written with the letter case that it came in
   * @param unknown what rules name of all fields that the endpoint does not know
   */
  constructor(written: string, value: unknown, reader: ParameterReader, unknown: NamedValues) {
    const isKnown = reader.knows(written);
    this.written = written;
    this.value = value;
    this.name = written.toLowerCase();
    this.names = isKnown ? reader.namesOf(written).map((name) => name.toLowerCase()) : [this.name];
    this.#reader = isKnown ? reader : undefined;
    this.named = isKnown ? new NamedValues((named) => reader.read(written, named)) : unknown;
  }

  /** Undefined for what the endpoint does not know or refuses; {@link walkRead} comes before it. */
  get read(): unknown {
    return this.#read?.of;
  }

  /** Reads it, once for all rules. @returns false when there is more than is paid for */
  *walkRead(budget: Stride): Steps<boolean> {
    if (this.#read) return true;
    const reader = this.#isLong() ? undefined : this.#reader;
    const of = reader ? yield* reader.walk(this.written, this.value, budget) : undefined;
    if (budget.left < 0) return false;
    this.#read = { of };
    return true;
  }

  /** A text of more items than are looked at passes by no list: it need not be read. */
  #isLong(): boolean {
    return (this.itemsIn(this.value)?.length ?? 0) > MAX_ITEMS;
  }

  /** The items of a text that it is or is read as, as {@link listItems} has it. */
  itemsIn(text: unknown): Items | undefined {
    if (typeof text !== 'string') return undefined;
    this.#items ??= new Map();
    if (!this.#items.has(text)) this.#items.set(text, listItems(text));
    return this.#items.get(text);
  }

  /** Undefined when there are more than can be looked at, or than are paid for. */
  *walkForms(budget: Stride): Steps<Forms | undefined> {
    this.#forms ??= yield* this.#makeForms(budget);
    return this.#forms;
  }

  *#makeForms(budget: Stride): Steps<Forms | undefined> {
    if (!(yield* this.walkRead(budget))) return undefined;
    const { value, read } = this;
    const forms = new Forms(value, read);
    // Mostly it is read as it was sent.
    for (const whole of value === read ? [value] : [value, read]) {
      const items: Items | undefined = Array.isArray(whole) ? whole : this.itemsIn(whole);
      const count = items?.length ?? 0;
      budget.left -= 1 + (items instanceof TextItems ? TEXT_ITEM * count : 0);
      if (count > MAX_ITEMS || budget.left < 0) return undefined;
      forms.add(whole);
      if (items instanceof TextItems) forms.addItems(items);
      else if (items) yield* addEach(forms, items, budget);
    }
    yield* this.#addMore(forms, budget);
    return budget.left < 0 ? undefined : forms;
  }

  *#addMore(forms: Forms, budget: Stride): Steps<undefined> {
    const { read } = this;
    const also = this.#reader?.also(this.written);
    if (!also) return;
    for (const each of Array.isArray(read) ? read : [read]) {
      while (budget.isStepOver) yield;
      budget.left -= ALSO;
      if (budget.left < 0) return;
      const text = textOf(each);
      if (text === undefined) continue;
      if (FOREIGN.test(text)) yield;
      for (const other of also(text)) {
        budget.left -= ITEM;
        forms.add(other);
      }
    }
  }

  /** The lengths of time and the times that it may stand for. */
  get instants(): ReadonlySet<string> {
    this.#instants ??= instantsOf([this.value, this.read]);
    return this.#instants;
  }

  /** Its texts that take long to read: names in other scripts, in whichever form. */
  get foreign(): Foreign {
    this.#foreign ??= this.#reader ? this.#countForeign() : { names: 0, characters: 0 };
    return this.#foreign;
  }

  #countForeign(): Foreign {
    const { value } = this;
    const items: Items = Array.isArray(value) ? value : (this.itemsIn(value) ?? [value]);
    const foreign = { names: 0, characters: 0 };
    for (let at = 0; at < items.length; at++) {
      const item = items.at(at);
      if (typeof item !== 'string' || !FOREIGN.test(item)) continue;
      foreign.names += 1;
      foreign.characters += Math.min(item.length, LONGEST_DOMAIN);
    }
    return foreign;
  }

  /** Those names are converted for a rule: they are not for the next. */
  payForeign(budget: Comparisons): void {
    const { names, characters } = this.foreign;
    if (!this.#isPaid) budget.left -= CONVERTING * names + CONVERTING_CHARACTER * characters;
    this.#isPaid = true;
  }
}

function* addEach(forms: Forms, items: Items, budget: Stride): Steps<undefined> {
  for (let at = 0; at < items.length && budget.left >= 0; at++) {
    while (budget.isStepOver) yield;
    budget.left -= ITEM;
    forms.add(items.at(at));
  }
}

/** A value's texts in lower case, those of its items too, and the lists that it is or is read as. */
export class Forms {
  readonly lists: readonly (readonly unknown[])[];
  readonly #read: unknown;
  readonly #texts = new Set<string>();
  readonly #inTexts: TextItems[] = [];
  #items: ReadonlySet<unknown> | undefined;
  #values: ReadonlySet<string> | undefined;

  constructor(value: unknown, read: unknown) {
    this.#read = read;
    this.lists = [value, read].filter((whole) => Array.isArray(whole));
  }

  add(one: unknown): void {
    const text = textOf(one);
    if (text === undefined) return;
    const folded = foldName(text);
    if (this.#isThere(folded)) return;
    this.#texts.add(folded);
    this.#texts.add(folded.trim());
  }

  addItems(items: TextItems): void {
    const folded = foldName(items.text);
    // Letters fold one by one, and none to a comma or a blank.
    this.#inTexts.push(folded === items.text ? items : new TextItems(folded, items.length));
  }

  /** Whether it is one of the texts, or one of them but for the dot that may end a name of a host. */
  has(text: string): boolean {
    return this.#isThere(text) || (text !== '' && this.#isThere(`${text}.`));
  }

  #isThere(text: string): boolean {
    return this.#texts.has(text) || this.#inTexts.some((items) => items.has(text));
  }

  /** All texts, also without the dot at their end. */
  *distinct(): Generator<string, void, undefined> {
    for (const text of this.#all()) {
      yield text;
      if (text.length > 1 && text.endsWith('.')) yield text.slice(0, -1);
    }
  }

  *#all(): Generator<string, void, undefined> {
    yield* this.#texts;
    for (const items of this.#inTexts) yield* items.distinct();
  }

  /** Whether it is one of the list that is read. */
  hasItem(item: unknown): boolean {
    this.#items ??= new Set(Array.isArray(this.#read) ? this.#read : []);
    return this.#items.has(item);
  }

  /** Whether one of the texts is the address, or the serial number, that another text is. */
  hasValue(value: string): boolean {
    return this.#values?.has(value) ?? true;
  }

  /** To be done before {@link hasValue}: thousands of texts are read only once a rule names something of the kind. */
  *readValues(budget: Stride): Steps<undefined> {
    if (this.#values) return;
    const found = new Set<string>();
    for (const each of this.#all()) {
      while (budget.isStepOver) yield;
      budget.left -= 1;
      const text = each.trim();
      if (!mayBeValue(text)) continue;
      budget.left -= VALUE;
      // Too many of them: as if each were there.
      if (budget.left < 0) return;
      for (const value of valuesIn(text)) found.add(value);
    }
    this.#values = found;
  }
}

function instantsOf(values: readonly unknown[]): ReadonlySet<string> {
  const texts = values.map((each) => (typeof each === 'boolean' ? '' : textOf(each)?.trim()));
  return new Set(texts.flatMap((text) => (text ? instantsIn(text) : [])));
}
