import { Failure } from '../../core/failure.ts';
import { MAX_NAME_LENGTH } from '../../core/fields.ts';

/** Fields and descriptions may be the caller's own words: an answer does not repeat all of them. */
const MAX_FIELDS = 100;
const MAX_WORDS = 1_000;
const shorten = (text: string): string =>
  text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)}…` : text;

/** Refusals of single fields, gathered so that a caller hears of all of them at once. */
export class FieldErrors {
  readonly #fields = new Map<string, string>();

  /** A later word on the same field replaces an earlier one; what is beyond a page is left out. */
  add(field: string, description: string): void {
    if (this.#fields.size >= MAX_FIELDS && !this.#fields.has(field)) return;
    this.#fields.set(shorten(field), shorten(description));
  }

  has(field: string): boolean {
    return this.#fields.has(field);
  }

  /** @throws Failure `invalid` naming every field that was added, if any was */
  refuse(message: string): void {
    if (this.#fields.size === 0) return;
    throw new Failure('invalid', message, { fields: Object.fromEntries(this.#fields) });
  }
}

/**
 * Refuses texts that are longer than any real one, before they are looked at further.
 *
 * @param longest characters by field; what is not in it may have any length
 * @param prefix  of the fields' names, e.g. `attributes.`
 * @returns whether all of them fit
 */
export function checkLengths(
  values: Readonly<Record<string, unknown>>,
  longest: Readonly<Record<string, number>>,
  errors: FieldErrors,
  prefix = '',
): boolean {
  let fits = true;
  for (const [field, most] of Object.entries(longest)) {
    const value = values[field];
    if (typeof value !== 'string' || value.length <= most) continue;
    errors.add(`${prefix}${field}`, `This must have at most ${most} characters.`);
    fits = false;
  }
  return fits;
}

export const IN_REQUEST = 'Error in provided request.';
/** Of a field that comes twice. */
export const TWICE = 'This is given more than once.';
export const IN_FIELDS = 'Errors in provided fields.';

/** @throws Failure `invalid` for one field */
export function refuseField(field: string, description: string, message = IN_FIELDS): never {
  throw new Failure('invalid', message, { fields: { [shorten(field)]: shorten(description) } });
}

/** Fields that every resource takes; `undefined`: not given or null. */
export interface CommonFields {
  id?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
  created_time?: unknown;
  updated_time?: unknown;
  version?: number | undefined;
}

/** What is wrong with the fields that all new resources have in common. @see B-10, B-11 */
export function checkNew(item: CommonFields, errors: FieldErrors): void {
  // The empty text is what the format's standard has for a plain field that is not there.
  if (item.id) errors.add('id', 'This is a read only field.');
  for (const field of ['created_time', 'updated_time'] as const) {
    if (item[field] !== undefined) errors.add(field, 'This is a read only field.');
  }
  if (item.version) errors.add('version', 'Cannot specify this field in a create request.');
  checkTexts(item, errors);
}

/** What is wrong with the fields that all changed resources have in common. @see B-14 */
export function checkChanged(item: CommonFields, errors: FieldErrors): void {
  if (!item.version) {
    errors.add('version', 'Existing resource version is required for an update.');
  }
  for (const field of ['id', 'created_time', 'updated_time'] as const) {
    if (item[field] !== undefined && item[field] !== '') {
      errors.add(field, 'This is a read only field and cannot be specified in an update request.');
    }
  }
  checkTexts(item, errors);
}

/** Letters, marks, numbers, punctuation, symbols, and the ordinary blank. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;
const PRINTABLE_TEXT = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\s]*$/u;

/** Pages of lists hold a thousand of them, and are made in memory. */
const MAX_DESCRIPTION_LENGTH = 1024;

function checkTexts({ name, description }: CommonFields, errors: FieldErrors): void {
  if (name !== undefined) {
    const trimmed = name.trim();
    if (trimmed === '') errors.add('name', 'Cannot set empty string as name');
    else if (trimmed.length > MAX_NAME_LENGTH) {
      errors.add('name', `Name must have at most ${MAX_NAME_LENGTH} characters`);
    } else if (!PRINTABLE.test(trimmed)) errors.add('name', 'Name contains unprintable characters');
  }
  if (description !== undefined) {
    if (description.trim() === '') {
      errors.add('description', 'Cannot set empty string as description');
    } else if (description.trim().length > MAX_DESCRIPTION_LENGTH) {
      const because = `Description must have at most ${MAX_DESCRIPTION_LENGTH} characters`;
      errors.add('description', because);
    } else if (!PRINTABLE_TEXT.test(description)) {
      errors.add('description', 'Description contains unprintable characters');
    }
  }
}
