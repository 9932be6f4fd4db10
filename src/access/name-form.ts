import { ANY_REST, ANY_SEGMENT } from './path-pattern.ts';

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

const FORMS: Readonly<
  Record<NameForm, { name(name: string): string; start(start: string): string }>
> = {
  lower_case: { name: (name) => name.toLowerCase(), start: (start) => start.toLowerCase() },
  default_word: {
    name: (name) => (name.toLowerCase() === 'default' ? 'default' : name),
    // Names that begin so may be anybody's; only the whole word has two spellings.
    start: (start) => start,
  },
};

/** The one spelling of a name by which permission is judged. */
export function canonicalName(form: NameForm, name: string): string {
  return FORMS[form].name(name);
}

/** A path with its names in their one spelling. */
export function canonicalNames(path: string, formed: readonly FormedSegment[]): string {
  if (formed.length === 0) return path;
  const segments = path.split('/');
  for (const { at, form } of formed) {
    const name = segments[at];
    if (name !== undefined) segments[at] = FORMS[form].name(name);
  }
  return segments.join('/');
}

/** The same for the path of a policy's stanza, in the form that has marks for wildcards. */
export function canonicalPattern(pattern: string, formed: readonly FormedSegment[]): string {
  const segments = pattern.split('/');
  for (const { at, form } of formed) {
    const written = segments[at];
    if (written === undefined || written === ANY_SEGMENT) continue;
    segments[at] = written.endsWith(ANY_REST)
      ? FORMS[form].start(written.slice(0, -ANY_REST.length)) + ANY_REST
      : FORMS[form].name(written);
  }
  return segments.join('/');
}
