import { parseSelector, type Selector } from '../core/identity-template.ts';
import { findText } from '../core/text-search.ts';

/**
 * Path patterns of policies. A trailing `*` stands for any rest, the empty one and
 * slashes included; `+` as a whole segment for any one segment that is not empty. Anywhere else
 * both are ordinary characters.
 *
 * Internally a wildcard is a control character, which no path and no policy may contain, so an
 * identity's name that happens to be `*` or `+` can never become one.
 */
export const ANY_SEGMENT = '\u0001';
export const ANY_REST = '\u0002';
const SLOT = '\u0003';

export interface PathPattern {
  /** As a person wrote it, without a leading slash, e.g. `pki/+/web*`. */
  text: string;
  /** The same with marks for wildcards and template slots; equal forms are the same pattern. */
  form: string;
  /** What fills the slots, in order. Empty: the pattern can be matched as it is. */
  selectors: readonly Selector[];
}

type PatternVerdict = { ok: true; pattern: PathPattern } | { ok: false; because: string };

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const TEMPLATE = /\{\{([^{}]*)\}\}/g;

/** Reads a pattern as a policy has it. Judges only; the reader of the policy words the refusal. */
export function parsePathPattern(written: string): PatternVerdict {
  const text = written.startsWith('/') ? written.slice(1) : written;
  if (CONTROL.test(text)) return refuse('a path has no control characters');
  const selectors: Selector[] = [];
  let unknown: string | undefined;
  const slotted = text.replace(TEMPLATE, (_whole, inner: string) => {
    const selector = parseSelector(inner.trim());
    if (selector) selectors.push(selector);
    else unknown ??= inner.trim();
    return SLOT;
  });
  if (unknown !== undefined) return refuse(`unknown template "{{${unknown}}}"`);
  if (slotted.includes('{{') || slotted.includes('}}')) return refuse('unbalanced template braces');
  // Neither "any segment" nor "any rest" describes it, and guessing would be a grant.
  if (slotted.includes('+*')) return refuse('"+*" is not allowed');
  const open = slotted.endsWith('*');
  const body = open ? slotted.slice(0, -1) : slotted;
  const form = body
    .split('/')
    .map((segment) => (segment === '+' ? ANY_SEGMENT : segment))
    .join('/');
  return { ok: true, pattern: { text, form: open ? form + ANY_REST : form, selectors } };
}

/** Why no path could look as a pattern has it: paths are decoded, without empty or relative segments. */
export function doubtPattern({ text }: PathPattern): string | undefined {
  const body = text.replace(/\*$/, '').replaceAll(TEMPLATE, 'x');
  if (text !== text.trim()) return 'a path has no blanks at its ends';
  if (body.startsWith('v1/')) return 'a path is written without "v1/"';
  if (/(^|\/)\.{1,2}(\/|$)|^\/|\/\//.test(body)) return 'a path has no empty or relative segments';
  if (/%[0-9a-fA-F]{2}|[?#]/.test(body))
    return 'a path is compared decoded, without query or fragment';
  if (body.includes('*')) return 'a star is a wildcard at the end alone';
  return undefined;
}

function refuse(because: string): PatternVerdict {
  return { ok: false, because };
}

/**
 * Puts an identity's values into a pattern's slots.
 *
 * @param values one for each selector, in order
 * @returns with the slots left open whose value is missing, empty, or could not be within one
 *          segment of a path: `a/b` would reach into what belongs to `a`
 */
export function fillPattern(
  pattern: PathPattern,
  values: readonly (string | undefined)[],
): PathPattern {
  let next = 0;
  const selectors: Selector[] = [];
  const form = pattern.form.replaceAll(SLOT, () => {
    const at = next++;
    const value = values[at];
    if (value && !value.includes('/') && !CONTROL.test(value)) return value;
    const selector = pattern.selectors[at];
    if (selector) selectors.push(selector);
    return SLOT;
  });
  return { text: selectors.length > 0 ? pattern.text : textOf(form), form, selectors };
}

/** A form with open slots, as the widest pattern that one of its fillings could match. */
export function widenForm(form: string): string {
  const open = form.endsWith(ANY_REST);
  const segments = (open ? form.slice(0, -ANY_REST.length) : form).split('/');
  const last = segments.length - 1;
  const wide = segments.map((segment, at) => {
    const slot = segment.indexOf(SLOT);
    if (slot < 0) return segment;
    return open && at === last ? segment.slice(0, slot) : ANY_SEGMENT;
  });
  return wide.join('/') + (open ? ANY_REST : '');
}

/** A segment with slots: what is written before, between and behind them. */
export interface SlottedSegment {
  at: number;
  texts: readonly string[];
  /** More may follow. */
  open: boolean;
}

/** The segments of a form that have slots, read once: thousands of forms may be asked about one path. */
export function slotsOf(form: string): SlottedSegment[] {
  const open = form.endsWith(ANY_REST);
  const segments = (open ? form.slice(0, -ANY_REST.length) : form).split('/');
  return segments.flatMap((segment, at) =>
    segment.includes(SLOT)
      ? [{ at, texts: segment.split(SLOT), open: open && at === segments.length - 1 }]
      : [],
  );
}

/**
 * A form whose open slots are filled with what a path has in their place, so that its rank is that
 * of a pattern which is written for this path.
 *
 * @param slots those of the form
 * @param segments of a path that matches the form as {@link widenForm} has it
 * @returns undefined if no value makes the form match: `x-{{name}}` is not `y`
 */
export function fillFromPath(
  form: string,
  slots: readonly SlottedSegment[],
  segments: readonly string[],
): string | undefined {
  if (!slots.every((slotted) => couldBe(slotted, segments[slotted.at] ?? ''))) return undefined;
  const open = form.endsWith(ANY_REST);
  const wanted = (open ? form.slice(0, -ANY_REST.length) : form).split('/');
  for (const { at } of slots) wanted[at] = segments[at] ?? '';
  return wanted.join('/') + (open ? ANY_REST : '');
}

/** Whether a segment is one with slots, of at least a character each, and perhaps with more behind it. */
function couldBe({ texts, open }: SlottedSegment, segment: string): boolean {
  const [first = ''] = texts;
  if (!segment.startsWith(first)) return false;
  let at = first.length;
  for (let place = 1; place < texts.length; place++) {
    const text = texts[place] ?? '';
    const isLast = place === texts.length - 1;
    const found = isLast && !open ? segment.length - text.length : findText(segment, text, at + 1);
    if (found < at + 1 || !segment.startsWith(text, found)) return false;
    at = found + text.length;
  }
  return true;
}

function textOf(form: string): string {
  return form.replaceAll(ANY_SEGMENT, '+').replace(ANY_REST, '*');
}

/** A pattern that has a wildcard, made ready for matching. */
export interface WildPattern {
  form: string;
  /** As a person would write it. */
  text: string;
  /** All before the first wildcard. */
  head: string;
  /** Segments from the first wildcard on; empty when that is the rest. */
  tail: readonly string[];
  /** Ends in "any rest": the last segment of `tail` needs only to begin so. */
  open: boolean;
  segmentWildcards: number;
}

/** @returns undefined for an exact path */
export function compilePattern(form: string): WildPattern | undefined {
  const open = form.endsWith(ANY_REST);
  const body = open ? form.slice(0, -1) : form;
  const text = textOf(form);
  const first = body.indexOf(ANY_SEGMENT);
  if (first < 0) {
    return open ? { form, text, head: body, tail: [], open, segmentWildcards: 0 } : undefined;
  }
  const segmentWildcards = body.split(ANY_SEGMENT).length - 1;
  return {
    form,
    text,
    head: body.slice(0, first),
    tail: body.slice(first).split('/'),
    open,
    segmentWildcards,
  };
}

/**
 * Orders patterns that match one path, the deciding one first: the first wildcard later, then
 * without "any rest", then fewer `+`, then longer, then larger as text.
 */
export function comparePrecedence(a: WildPattern, b: WildPattern): number {
  return (
    b.head.length - a.head.length ||
    Number(a.open) - Number(b.open) ||
    a.segmentWildcards - b.segmentWildcards ||
    b.form.length - a.form.length ||
    (a.text < b.text ? 1 : -1)
  );
}

/** Whether a path that begins with the pattern's head matches the pattern. */
export function matchesTail(pattern: WildPattern, path: string): boolean {
  const { tail, open } = pattern;
  let at = pattern.head.length;
  for (let index = 0; index < tail.length; index++) {
    const wanted = tail[index] ?? '';
    const last = index === tail.length - 1;
    if (last && open) return path.startsWith(wanted, at);
    const slash = path.indexOf('/', at);
    const end = slash < 0 ? path.length : slash;
    if (
      wanted === ANY_SEGMENT
        ? end === at
        : end - at !== wanted.length || !path.startsWith(wanted, at)
    ) {
      return false;
    }
    if (last) return slash < 0;
    if (slash < 0) return false;
    at = slash + 1;
  }
  return open;
}
