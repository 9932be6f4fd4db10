import { mixCode } from './text-ends.ts';

/** Items that are looked at one by one. */
export interface Items {
  readonly length: number;
  at(index: number): unknown;
}

const COMMA = 0x2c;

/**
 * The items of a text between its commas, without the blanks around them: many thousands may be asked
 * about, and none is cut out before it is looked at by itself.
 */
export class TextItems implements Items {
  readonly text: string;
  readonly length: number;
  /** Where each begins, and ends. */
  readonly #places: Uint32Array;
  #filed: { sums: Int32Array; slots: Uint32Array } | undefined;

  /** @param most what is behind so many is left out */
  constructor(text: string, most: number) {
    this.text = text;
    this.length = Math.min(most, 1 + countCommas(text, most));
    this.#places = new Uint32Array(2 * this.length);
    let from = 0;
    for (let nth = 0; nth < this.length; nth++) {
      const comma = text.indexOf(',', from);
      const to = comma < 0 ? text.length : comma;
      this.#place(nth, from, to);
      from = to + 1;
    }
  }

  #place(nth: number, from: number, to: number): void {
    const { text } = this;
    let [start, end] = [from, to];
    // Blanks are below or far above the letters that most items have at their ends.
    if (end > start && !(isPlain(text.charCodeAt(start)) && isPlain(text.charCodeAt(end - 1)))) {
      const item = text.slice(start, end);
      start = end - item.trimStart().length;
      end = Math.max(start, from + item.trimEnd().length);
    }
    this.#places[2 * nth] = start;
    this.#places[2 * nth + 1] = end;
  }

  at(index: number): string | undefined {
    if (index >= this.length) return undefined;
    return this.text.slice(this.#places[2 * index], this.#places[2 * index + 1]);
  }

  /** Whether a text is one of them. */
  has(text: string): boolean {
    let sum = 0;
    for (let at = 0; at < text.length; at++) sum = mixCode(sum, text.charCodeAt(at));
    return this.#find(text, 0, text.length, sum) >= 0;
  }

  /** Each that differs from those before it. */
  *distinct(): Generator<string, void, undefined> {
    for (const nth of this.#file().slots) {
      const item = nth > 0 && this.at(nth - 1);
      if (typeof item === 'string') yield item;
    }
  }

  /** By a number made of the characters of each, which nobody can foresee, as of the ends of texts. */
  #file(): { sums: Int32Array; slots: Uint32Array } {
    if (this.#filed) return this.#filed;
    const sums = new Int32Array(this.length);
    const slots = new Uint32Array(2 ** Math.ceil(Math.log2(2 * this.length + 1)));
    this.#filed = { sums, slots };
    const { text } = this;
    for (let nth = 0; nth < this.length; nth++) {
      const start = this.#places[2 * nth] ?? 0;
      const end = this.#places[2 * nth + 1] ?? 0;
      let sum = 0;
      for (let at = start; at < end; at++) sum = mixCode(sum, text.charCodeAt(at));
      sums[nth] = sum;
      const free = -1 - this.#find(text, start, end, sum);
      if (free >= 0) slots[free] = nth + 1;
    }
    return this.#filed;
  }

  /** The slot of the item that a piece of a text is; below zero: of -1 less the free one where it belongs. */
  #find(text: string, start: number, end: number, sum: number): number {
    const { sums, slots } = this.#file();
    const mask = slots.length - 1;
    for (let slot = sum & mask; ; slot = (slot + 1) & mask) {
      const nth = (slots[slot] ?? 0) - 1;
      if (nth < 0) return -1 - slot;
      if (sums[nth] === sum && this.#isItem(nth, text, start, end)) return slot;
    }
  }

  #isItem(nth: number, text: string, start: number, end: number): boolean {
    const from = this.#places[2 * nth] ?? 0;
    if ((this.#places[2 * nth + 1] ?? 0) - from !== end - start) return false;
    for (let at = start; at < end; at++) {
      if (this.text.charCodeAt(from + at - start) !== text.charCodeAt(at)) return false;
    }
    return true;
  }
}

const isPlain = (code: number): boolean => code > 0x20 && code < 0x7f;

function countCommas(text: string, most: number): number {
  let count = 0;
  for (let at = 0; at < text.length && count < most; at++) {
    if (text.charCodeAt(at) === COMMA) count += 1;
  }
  return count;
}
