import { ANY_SEGMENT, matchesTail, type WildPattern } from './path-pattern.ts';
import type { Comparisons } from './value-set.ts';

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
 * @param effort one for each pattern that is looked at is taken from it
 */
export function findFirst<Rule extends Wild>(
  bucket: readonly Rule[],
  path: string,
  effort?: Comparisons,
): Rule | undefined {
  if (effort) effort.left -= Math.min(bucket.length, FEW);
  if (bucket.length <= FEW) return bucket.find(({ pattern }) => matchesTail(pattern, path));
  const index = indexOf(bucket);
  let best = bucket.length;
  const look = (places: readonly number[]): void => {
    if (effort) effort.left -= places.length;
    for (const place of places) {
      if (place >= best) return;
      const candidate = bucket[place];
      if (candidate && matchesTail(candidate.pattern, path)) best = place;
    }
  };
  const segments = segmentsAfterHead(bucket, path);
  for (const shelf of index.shelves) {
    const places = placesOn(shelf, segments);
    if (places) look(places);
  }
  look(index.others);
  return bucket[best];
}

/** All rules of a bucket that match a path, as {@link findFirst} has it; in no order. */
export function listMatching<Rule extends Wild>(
  bucket: readonly Rule[],
  path: string,
  effort?: Comparisons,
): Rule[] {
  if (effort) effort.left -= Math.min(bucket.length, FEW);
  const isMatch = ({ pattern }: Rule): boolean => matchesTail(pattern, path);
  if (bucket.length <= FEW) return bucket.filter(isMatch);
  const { shelves, others } = indexOf(bucket);
  const segments = segmentsAfterHead(bucket, path);
  const places = [...shelves.flatMap((shelf) => placesOn(shelf, segments) ?? []), ...others];
  if (effort) effort.left -= places.length;
  return places.flatMap((place) => bucket[place] ?? []).filter(isMatch);
}

function indexOf(bucket: readonly Wild[]): Index {
  const index = indices.get(bucket) ?? makeIndex(bucket);
  indices.set(bucket, index);
  return index;
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
  /** Equal for marks that the same segments have. */
  key: string;
}

function marksOf({ tail, open }: WildPattern): Mark[] {
  const marks: Mark[] = [];
  for (const [at, text] of tail.entries()) {
    const isBeginning = open && at === tail.length - 1;
    if (text === ANY_SEGMENT || (isBeginning && text === '')) continue;
    const length = isBeginning ? text.length : undefined;
    marks.push({ at, length, text, key: `${at} ${length ?? ''} ${text}` });
  }
  return marks.length > MOST_MARKS ? [...marks.slice(0, 4), ...marks.slice(-4)] : marks;
}

/** Of a long pattern the first and the last few tell enough. */
const MOST_MARKS = 8;

/** Files each pattern under that of its marks which the fewest others have. */
function makeIndex(bucket: readonly Wild[]): Index {
  const marks = bucket.map(({ pattern }) => marksOf(pattern));
  const counts = new Map<string, number>();
  for (const { key } of marks.flat()) counts.set(key, (counts.get(key) ?? 0) + 1);
  const countOf = ({ key }: Mark): number => counts.get(key) ?? 0;
  const shelves = new Map<string, Shelf>();
  const others: number[] = [];
  for (const [place, own] of marks.entries()) {
    const [first, ...more] = own;
    if (!first) {
      others.push(place);
      continue;
    }
    const rarest = more.reduce(
      (best, mark) => (countOf(mark) < countOf(best) ? mark : best),
      first,
    );
    file(shelves, rarest, place);
  }
  return { shelves: [...shelves.values()], others };
}

function file(shelves: Map<string, Shelf>, { at, length, text }: Mark, place: number): void {
  const key = `${at} ${length ?? ''}`;
  const shelf = shelves.get(key) ?? { at, length, byText: new Map<string, number[]>() };
  shelves.set(key, shelf);
  const places = shelf.byText.get(text);
  if (places) places.push(place);
  else shelf.byText.set(text, [place]);
}
