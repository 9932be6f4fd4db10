import { doAll, type Steps } from '../core/steps.ts';
import type { Comparisons } from './comparisons.ts';
import { ANY_SEGMENT, matchesTail, type WildPattern } from './path-pattern.ts';

interface Wild {
  pattern: WildPattern;
}

/** Rules of one head that can be told apart by one segment of a path after that head. */
interface Shelf {
  /** Which segment, counted from that in which the head ends. */
  at: number;
  /** How many characters of it are written; undefined: the whole segment is. */
  length: number | undefined;
  /** Places in the bucket by those characters, in its order. */
  byText: Map<string, number[]>;
  /** The longest list of them. */
  most: number;
}

interface Index {
  shelves: Shelf[];
  /** Places of those that have nothing but wildcards. */
  others: number[];
}

/** Fewer are looked at one by one sooner than anything is looked up. */
const FEW = 16;

const indices = new WeakMap<readonly Wild[], Index>();

/**
 * The first rule of a bucket that matches a path.
 *
 * @param bucket patterns of one head, in the order of precedence; never changed afterwards
 * @param path begins with that head
 * @param effort what looking at a pattern takes is taken from it
 */
export function* findFirst<Rule extends Wild>(
  bucket: readonly Rule[],
  path: string,
  effort?: Comparisons,
): Steps<Rule | undefined> {
  if (bucket.length <= FEW) {
    if (effort) effort.left -= bucket.length;
    return bucket.find(({ pattern }) => matchesTail(pattern, path));
  }
  let best = bucket.length;
  for (const places of candidatesAt(bucket, path, effort)) {
    for (const place of places) {
      if (place >= best) break;
      yield;
      if (matchesAt(bucket, place, path, effort)) best = place;
    }
  }
  return bucket[best];
}

/**
 * All rules of a bucket that match a path, as {@link findFirst} has it, in no order; and undefined for
 * each that does not.
 */
export function* walkMatching<Rule extends Wild>(
  bucket: readonly Rule[],
  path: string,
  effort?: Comparisons,
): Generator<Rule | undefined, void> {
  const groups = bucket.length <= FEW ? [bucket.keys()] : candidatesAt(bucket, path, effort);
  for (const places of groups) {
    for (const place of places) {
      yield matchesAt(bucket, place, path, effort) ? bucket[place] : undefined;
    }
  }
}

/** Places of those that could match, each group in order. */
function candidatesAt(
  bucket: readonly Wild[],
  path: string,
  effort: Comparisons | undefined,
): readonly (readonly number[])[] {
  const { shelves, others } = indexOf(bucket);
  const segments = segmentsAfterHead(bucket, path);
  if (effort) effort.left -= shelves.length;
  return [...shelves.flatMap((shelf) => [placesOn(shelf, segments) ?? []]), others];
}

function matchesAt(
  bucket: readonly Wild[],
  place: number,
  path: string,
  effort: Comparisons | undefined,
): boolean {
  const { pattern } = bucket[place] ?? {};
  if (!pattern) return false;
  if (effort) effort.left -= 1 + (pattern.tail.length >> 1);
  return matchesTail(pattern, path);
}

/** How many patterns of a bucket may have to be looked at for one path. */
export function countCandidates(bucket: readonly Wild[]): number {
  if (bucket.length <= FEW) return bucket.length;
  const { shelves, others } = indexOf(bucket);
  return shelves.reduce((sum, { most }) => sum + most, shelves.length + others.length);
}

/**
 * Makes the index of a bucket, so that nobody who asks has to wait for it.
 *
 * @param bucket as of {@link findFirst}
 */
export function* prepareIndex(bucket: readonly Wild[]): Steps<void> {
  if (bucket.length > FEW) indices.set(bucket, yield* makeIndex(bucket));
}

function indexOf(bucket: readonly Wild[]): Index {
  return indices.getOrInsertComputed(bucket, () => doAll(makeIndex(bucket)));
}

function segmentsAfterHead(bucket: readonly Wild[], path: string): string[] {
  return path.slice(bucket[0]?.pattern.head.length ?? 0).split('/');
}

function placesOn(
  { at, length, byText }: Shelf,
  segments: readonly string[],
): readonly number[] | undefined {
  const segment = segments[at];
  if (segment === undefined || (length ?? 0) > segment.length) return undefined;
  return byText.get(length === undefined ? segment : segment.slice(0, length));
}

/** What is written in a pattern after its first wildcard. */
interface Mark {
  at: number;
  length: number | undefined;
  text: string;
}

function* marksOf({ tail, open }: WildPattern): Generator<Mark, void> {
  for (let at = 0; at < tail.length; at++) {
    const text = tail[at] ?? '';
    const isBeginning = open && at === tail.length - 1;
    if (text === ANY_SEGMENT || (isBeginning && text === '')) continue;
    yield { at, length: isBeginning ? text.length : undefined, text };
  }
}

/**
 * Files each pattern under that of its marks which the fewest others have. All of them are looked at,
 * as nobody knows which tell patterns apart, and there may be a million characters of them: they are
 * counted by a number made of their text. That some share a number costs time and nothing else.
 */
function* makeIndex(bucket: readonly Wild[]): Steps<Index> {
  const counts = new Uint32Array(COUNTERS);
  for (const { pattern } of bucket) {
    yield;
    for (const mark of marksOf(pattern)) {
      const counter = counterOf(mark);
      counts[counter] = (counts[counter] ?? 0) + 1;
    }
  }
  const shelves = new Map<number, Filed[]>();
  const others: number[] = [];
  for (const [place, { pattern }] of bucket.entries()) {
    yield;
    const mark = findRarest(pattern, counts);
    if (mark) shelves.getOrInsert(shelfOf(mark), []).push({ mark, place });
    else others.push(place);
  }
  return yield* shelve([...shelves.values()], others);
}

/** A pattern under one of its marks. */
interface Filed {
  mark: Mark;
  place: number;
}

/** Equal for marks that the same segment, or as much of it, tells. */
const shelfOf = ({ at, length = LONGEST }: Mark): number => at * (LONGEST + 1) + length;

const LONGEST = 1 << 20;

function* shelve(groups: readonly (readonly Filed[])[], others: number[]): Steps<Index> {
  const shelves: Shelf[] = [];
  for (const group of groups) {
    const [first] = group;
    // A shelf costs a look at every path.
    if (!first || group.length < FEW_ON_SHELF) {
      others.push(...group.map(({ place }) => place));
      continue;
    }
    const byText = new Map<string, number[]>();
    for (const { mark, place } of group) {
      yield;
      byText.getOrInsert(mark.text, []).push(place);
    }
    const most = Math.max(...[...byText.values()].map(({ length }) => length));
    shelves.push({ at: first.mark.at, length: first.mark.length, byText, most });
  }
  return { shelves, others: others.sort((one, other) => one - other) };
}

/** As many are looked at one by one as soon as looked up. */
const FEW_ON_SHELF = 4;

const COUNTERS = 1 << 16;

function counterOf({ at, length, text }: Mark): number {
  let sum = Math.imul(at + 1, 0x9e3779b1) ^ (length ?? -1);
  for (let place = 0; place < text.length; place++) {
    sum = Math.imul(sum ^ text.charCodeAt(place), 0x01000193);
  }
  return (sum ^ (sum >>> 16)) & (COUNTERS - 1);
}

function findRarest(pattern: WildPattern, counts: Uint32Array): Mark | undefined {
  let rarest: Mark | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const mark of marksOf(pattern)) {
    const count = counts[counterOf(mark)] ?? 0;
    if (count >= fewest) continue;
    rarest = mark;
    fewest = count;
  }
  return rarest;
}
