import { foldName } from '../core/fold.ts';
import { ANY_SEGMENT } from './path-pattern.ts';

/**
 * How a name in a path is spelt in more than one way: `lower_case`, upper case counts as lower
 * case; `default_word`, the word `default` is known however it is written, all else as it stands.
 */
export type NameForm = 'lower_case' | 'default_word';

/** A segment of a path that is a name with a form, counted from 0. */
export interface FormedSegment {
  at: number;
  form: NameForm;
}

/** A path by which something is asked for that has other ways to be named. */
export interface NamedPath {
  /** Canonical, after `/v1/`. */
  path: string;
  formed?: readonly FormedSegment[];
}

/** How the fields of a request are judged at a path of something that it names or finds elsewhere. */
export interface Sense {
  /** The same could be asked for there: with all fields but these, which the path stands for. */
  stands_for?: readonly string[];
  /**
   * Something else is asked for there: fields that say here what they say there. Without this, those
   * that the conditions there name.
   */
  alike?: readonly string[];
  /** A part of it could be asked for there: with these fields. */
  part?: readonly string[];
  /** The thing is only looked at. */
  isRead?: boolean;
  /** What is beneath the path is listed. */
  isList?: boolean;
}

/** A path of its own that such a thing has. */
export type OwnPath = NamedPath & Sense;

/** @param place with its last slash; the name is the segment behind it */
export function pathOfName(place: string, name: string, form: NameForm): NamedPath {
  return { path: place + name, formed: [{ at: place.split('/').length - 1, form }] };
}

/** The word that `default_word` is about. */
const WORD = 'default';

const isWord = (name: string): boolean => foldName(name) === WORD;

/** The one spelling of a name by which permission is judged. */
function canonicalName(form: NameForm, name: string): string {
  const folds = form === 'lower_case' || isWord(name);
  return folds ? foldName(name) : name;
}

/** A path with its names in their one spelling. */
export function canonicalNames(path: string, formed: readonly FormedSegment[]): string {
  if (formed.length === 0) return path;
  const segments = path.split('/');
  for (const { at, form } of formed) {
    const name = segments[at];
    if (name !== undefined) segments[at] = canonicalName(form, name);
  }
  return segments.join('/');
}

/**
 * The names of a path whose letters fold: a pattern that `Default` begins with speaks of the word
 * in any spelling, and of other names as it is written.
 */
export function foldingNames(
  path: string,
  formed: readonly FormedSegment[],
): readonly FormedSegment[] {
  if (formed.every(({ form }) => form === 'lower_case')) return formed;
  const segments = path.split('/');
  return formed.filter(({ at, form }) => form === 'lower_case' || isWord(segments[at] ?? ''));
}

/**
 * The same for the path of a policy's stanza, in the form that has marks for wildcards, where it
 * is held against a path that has these names.
 */
export function canonicalPattern(pattern: string, folding: readonly FormedSegment[]): string {
  const segments = pattern.split('/');
  for (const { at } of folding) {
    const written = segments[at];
    if (written === undefined || written === ANY_SEGMENT) continue;
    segments[at] = foldName(written);
  }
  return segments.join('/');
}
