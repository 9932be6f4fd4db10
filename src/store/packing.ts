import { isHold } from './holding.ts';
import { type Effect, isAuditEntry, type Value, type Write } from './write.ts';

/**
 * A batch of write sets on its way to the committer's thread: one list, one piece of memory, and
 * each statement's text once for all batches. Copying the sets as they were took the
 * thread that answers 4.0 µs for the set of an issuance; this takes 2.2.
 */
export interface PackedBatch {
  /** Texts not sent before; they have the numbers after those that were. */
  texts: string[];
  /** Forget all texts sent before: these are the first. */
  anew: boolean;
  sets: number;
  /**
   * For each set the number of its effects, and for each effect the number of its text, the
   * rows it must touch, the message of its conflict (`null` where there is none), how many
   * parameters it has, and these; bytes are represented by `undefined`, and a long text that a hold
   * compares by `true` and its number among `compared`. An audit record is −1 and its text.
   */
  items: Item[];
  /** Long texts that holds compare: mostly the same ones in all sets of a batch. */
  compared: string[];
  /** Of all parameters that are bytes, in order. */
  lengths: number[];
  bytes: Uint8Array<ArrayBuffer>;
}

type Item = Value | undefined | true;

/** What the parts of a batch are collected in. */
interface Parts {
  texts: string[];
  items: Item[];
  parts: Uint8Array[];
  compared: Map<string, number>;
}

/** Texts up to here are sent as they are. */
const SHORT = 256;

/** Texts remembered; statements of varying shape would make it grow without end. */
const MOST_TEXTS = 1000;
const AUDIT = -1;

/** The sender's side: knows which texts the other one has. */
export class BatchPacker {
  readonly #numbers = new Map<string, number>();

  pack(batch: readonly (readonly Effect[])[]): PackedBatch {
    const anew = this.#numbers.size > MOST_TEXTS;
    if (anew) this.#numbers.clear();
    const to: Parts = { texts: [], items: [], parts: [], compared: new Map() };
    const { texts, items, parts } = to;
    for (const set of batch) {
      items.push(set.length);
      for (const effect of set) {
        if (isAuditEntry(effect)) items.push(AUDIT, effect.audit);
        else this.#packWrite(effect, to);
      }
    }
    const lengths = parts.map((part) => part.length);
    const compared = [...to.compared.keys()];
    return { texts, anew, sets: batch.length, items, compared, lengths, bytes: joined(parts) };
  }

  #packWrite(
    { sql, rows, conflict, parameters }: Write,
    { texts, items, parts, compared }: Parts,
  ): void {
    let number = this.#numbers.get(sql);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(sql, number);
      texts.push(sql);
    }
    items.push(number, rows ?? null, conflict ?? null, parameters.length);
    const compares = isHold(sql);
    for (const value of parameters) {
      if (value instanceof Uint8Array) {
        parts.push(value);
        items.push(undefined);
      } else if (compares && typeof value === 'string' && value.length > SHORT) {
        const known = compared.get(value) ?? compared.size;
        compared.set(value, known);
        items.push(true, known);
      } else {
        items.push(value);
      }
    }
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0;
  for (const part of parts) length += part.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The receiver's side: has the texts that were sent. */
export class BatchUnpacker {
  #texts: string[] = [];

  unpack(packed: PackedBatch): Effect[][] {
    if (packed.anew) this.#texts = [];
    this.#texts.push(...packed.texts);
    const from = new Items(packed);
    const batch: Effect[][] = [];
    for (let set = 0; set < packed.sets; set += 1) {
      const effects: Effect[] = [];
      for (let left = from.number(); left > 0; left -= 1) effects.push(this.#unpackEffect(from));
      batch.push(effects);
    }
    return batch;
  }

  #unpackEffect(from: Items): Effect {
    const number = from.number();
    if (number === AUDIT) return { audit: String(from.value()) };
    const sql = this.#texts[number];
    if (sql === undefined) throw new TypeError('a statement came without its text');
    const rows = from.value();
    const conflict = from.value();
    const parameters: Value[] = [];
    for (let left = from.number(); left > 0; left -= 1) parameters.push(from.value());
    return {
      sql,
      parameters,
      ...(typeof rows === 'number' && { rows }),
      ...(typeof conflict === 'string' && { conflict }),
    };
  }
}

function missing(): never {
  throw new TypeError('a batch ends before its last parameter');
}

/** Takes the items of a batch one by one. */
class Items {
  readonly #packed: PackedBatch;
  #next = 0;
  #part = 0;
  #offset = 0;

  constructor(packed: PackedBatch) {
    this.#packed = packed;
  }

  number(): number {
    const value = this.value();
    if (typeof value !== 'number') throw new TypeError('a batch is not packed as it should be');
    return value;
  }

  value(): Value {
    const { items, compared, lengths, bytes } = this.#packed;
    const item = items[this.#next++];
    if (item === true) return compared[this.number()] ?? missing();
    if (item !== undefined) return item;
    const length = lengths[this.#part++];
    if (length === undefined) return missing();
    this.#offset += length;
    return bytes.subarray(this.#offset - length, this.#offset);
  }
}
