/**
 * Directory names held to the constraints on them (RFC 5280 §4.2.1.10, §7.1). A name is within a subtree that it begins
 * with, part by part. Verifiers differ in what they find equal, so that a name is permitted by what is the same to all
 * of them, and excluded by what may be the same to one.
 */

import { memoizeWeak } from '../core/memoize-weak.ts';
import { TAG } from './der.ts';
import { DerError, onlyChild, readDer } from './der-reader.ts';
import { GENERAL_NAME_TAG } from './general-names.ts';
import { type NameAttribute, nameText, parseName, type RdnSequence } from './names.ts';

export interface DirectoryConstraints {
  permitted_directory_names?: readonly RdnSequence[];
  excluded_directory_names?: readonly RdnSequence[];
}

export interface NamesOfDirectory {
  /** DER of the Name; an empty one is not judged. */
  subject?: Uint8Array;
  /** GeneralNames, directory names among them. */
  unknown?: readonly Uint8Array[];
}

/** Says why the constraints stop a name; undefined where they let all of them pass. */
export function findForbiddenName(
  constraints: DirectoryConstraints,
  { subject, unknown = [] }: NamesOfDirectory,
): string | undefined {
  const { permits, excludes } = indexConstraints(constraints);
  if (!permits && !excludes) return undefined;
  const judge = (label: string, name: RdnSequence | undefined): string | undefined => {
    if (!name) return `${label} is none that can be read, and there are constraints on them`;
    const exclusion = excludes?.(looseKeysOf(name));
    if (exclusion) {
      return `${label} "${shorten(name)}" is excluded by constraint "${shorten(exclusion)}"`;
    }
    if (!permits || permits(strictKeysOf(name))) return undefined;
    return `${label} "${shorten(name)}" is not permitted by any constraint`;
  };
  const own = subject && readSubject(subject);
  const forbidden = own?.length === 0 || !subject ? undefined : judge('subject', own);
  if (forbidden !== undefined) return forbidden;
  for (const name of unknown) {
    if (name[0] !== GENERAL_NAME_TAG.directoryName) continue;
    const because = judge('directory name', readGeneralName(name));
    if (because !== undefined) return because;
  }
  return undefined;
}

const shorten = (name: RdnSequence): string => nameText({ attributes: name }).slice(0, 256);

/** Undefined for what is no Name. */
function readOrNone(read: () => Uint8Array): RdnSequence | undefined {
  try {
    return parseName(read()).attributes;
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

// Once for all constraints above them, and for each common name beside which they are judged.
const readSubject = memoizeWeak((der: Uint8Array) => readOrNone(() => der));
const readGeneralName = memoizeWeak((der: Uint8Array) =>
  readOrNone(() => onlyChild(readDer(der)).raw),
);
const strictKeysOf = memoizeWeak((name: RdnSequence) => name.map(strictKey));
const looseKeysOf = memoizeWeak((name: RdnSequence) => name.map(looseKey));

/** Finds the subtree that a name begins with, by the keys of its parts. */
type Lookup = (keys: readonly string[]) => RdnSequence | undefined;

const indexConstraints = memoizeWeak(
  ({ permitted_directory_names = [], excluded_directory_names = [] }: DirectoryConstraints) => ({
    permits: indexSubtrees(permitted_directory_names.map((name) => [name, name.map(strictKey)])),
    excludes: indexSubtrees(excluded_directory_names.map((name) => [name, name.map(looseKey)])),
  }),
);

interface Branch {
  subtree?: RdnSequence;
  beneath: Map<string, Branch>;
}

/** Part by part, so that a name is looked up in the time that its own parts take. */
function indexSubtrees(subtrees: readonly [RdnSequence, string[]][]): Lookup | undefined {
  if (subtrees.length === 0) return undefined;
  const root: Branch = { beneath: new Map() };
  for (const [subtree, keys] of subtrees) {
    let at = root;
    for (const key of keys) {
      at = at.beneath.getOrInsertComputed(key, () => ({ beneath: new Map() }));
    }
    at.subtree ??= subtree;
  }
  return (keys) => {
    let at: Branch | undefined = root;
    for (const key of keys) {
      if (!at || at.subtree) break;
      at = at.beneath.get(key);
    }
    return at?.subtree;
  };
}

/** A part is a set: the order of its attributes says nothing. */
const strictKey = (part: readonly NameAttribute[]): string => part.map(strictValue).sort().join();
const looseKey = (part: readonly NameAttribute[]): string =>
  [...new Set(part.map(looseValue))].sort().join();

/** Types of strings whose texts are compared, whichever of them has it. */
const TEXTS: ReadonlySet<number> = new Set([
  TAG.utf8String,
  TAG.printableString,
  TAG.teletexString,
  TAG.ia5String,
  TAG.visibleString,
  TAG.universalString,
  TAG.bmpString,
]);

const UPPER = /[A-Z]+/g;
const SPACES = /[\t-\r ]+/g;

/** Of any other type byte by byte. */
function strictValue({ oid, tag, value }: NameAttribute): string {
  if (!TEXTS.has(tag)) return JSON.stringify([oid, tag, value]);
  const lower = value.replaceAll(UPPER, (letters) => letters.toLowerCase());
  return JSON.stringify([oid, trim(lower.replaceAll(SPACES, ' '))]);
}

/** What RFC 4518 §2.2 leaves out, and whatever else is not seen. */
const VANISHING = /[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]--[\t-\r\u0085]]/gv;
/** Marks are put into order pair by pair: beyond the 30 that Unicode UAX #15 (D4) has they are not compared. */
const TOO_MANY_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;
const ALL_SPACES = /[\s\u0085]+/g;

/** As the most liberal reading of RFC 4518 has it: in any script without case, of any width. */
function looseValue({ oid, tag, value }: NameAttribute): string {
  if (!TEXTS.has(tag) && tag !== TAG.numericString) return JSON.stringify([oid, tag, value]);
  const visible = value.replaceAll(VANISHING, '').replaceAll(TOO_MANY_MARKS, '$1');
  const folded = visible.normalize('NFKD').toLowerCase().toUpperCase().normalize('NFKC');
  return JSON.stringify([oid, trim(folded.replaceAll(ALL_SPACES, ' '))]);
}

/** Without the one at either end that runs of them have become. */
function trim(text: string): string {
  return text.slice(text.startsWith(' ') ? 1 : 0, text.endsWith(' ') ? -1 : undefined);
}
