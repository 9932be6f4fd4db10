/** A block of addresses that begin with the same bits. */
export interface AddressBlock {
  /** Its first address, 4 or 16 bytes. */
  bytes: Uint8Array;
  /** How many bits they have in common. */
  prefix: number;
}

interface Span<Known> {
  /** Its first and its last address, a character for each byte: they are in order as their addresses are. */
  first: string;
  last: string;
  known: Known;
}

/**
 * Finds which of many blocks one lies in, by halving. Of two blocks either holds the other or they have nothing in
 * common, so that those which lie in another one need not be kept: the rest is in one order.
 */
export class AddressBlocks<Known> {
  readonly #of = new Map<number, Span<Known>[]>();

  /** @param blocks each with what is known of it; of those alike the first counts */
  constructor(blocks: Iterable<readonly [AddressBlock, Known]>) {
    for (const [block, known] of blocks) {
      const { length } = block.bytes;
      this.#of.getOrInsert(length, []).push({ ...endsOf(block), known });
    }
    for (const [length, spans] of this.#of) this.#of.set(length, outermost(spans));
  }

  /** What is known of the block that another one lies in. */
  find(block: AddressBlock): Known | undefined {
    const spans = this.#of.get(block.bytes.length);
    if (!spans) return undefined;
    const { first, last } = endsOf(block);
    let from = 0;
    let to = spans.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((spans[middle]?.first ?? '') <= first) from = middle + 1;
      else to = middle;
    }
    const found = spans[from - 1];
    return found && found.last >= last ? found.known : undefined;
  }
}

function outermost<Known>(spans: readonly Span<Known>[]): Span<Known>[] {
  const kept: Span<Known>[] = [];
  // Of those that begin alike the widest comes first.
  for (const span of spans.toSorted(
    (a, b) => compare(a.first, b.first) || compare(b.last, a.last),
  )) {
    const before = kept.at(-1);
    if (!before || before.last < span.last) kept.push(span);
  }
  return kept;
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Bits of an address beyond those in common do not count. */
function endsOf({ bytes, prefix }: AddressBlock): { first: string; last: string } {
  const first = Buffer.from(bytes);
  if (prefix === 8 * bytes.length) {
    const only = first.toString('latin1');
    return { first: only, last: only };
  }
  const last = Buffer.from(bytes);
  const at = prefix >> 3;
  const open = 0xff >> (prefix % 8);
  first[at] = (first[at] ?? 0) & ~open;
  last[at] = (last[at] ?? 0) | open;
  first.fill(0, at + 1);
  last.fill(0xff, at + 1);
  return { first: first.toString('latin1'), last: last.toString('latin1') };
}
