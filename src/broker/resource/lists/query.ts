import { IN_REQUEST, refuseField } from '../field-errors.ts';
import { parseFlag } from '../fields.ts';
import { type Expression, parseExpression } from '../filter/expression.ts';
import { isIdOf } from '../ids.ts';

/** The most items of a page, and their number unless the request says. */
export const MAX_PAGE_SIZE = 1000;

/** What a request lists. */
export interface ListRequest {
  /** What holds the items. */
  place: string;
  page_size: number;
  recursive: boolean;
  list_token: string;
  /** Text of an expression; empty for none. */
  filter: string;
}

export const BAD_LIST = 'Improperly formatted identifier.';

/**
 * @param containerField names the parameter that says what holds the items
 * @throws Failure `invalid` naming the parameter
 * @see B-18
 */
export function parseListRequest(query: URLSearchParams, containerField: string): ListRequest {
  const size = query.get('page_size') ?? '';
  const page_size = Number(size);
  if (!/^\d{0,9}$/.test(size) || page_size > MAX_PAGE_SIZE) {
    refuseField(
      'page_size',
      `This must be a whole number from 1 to ${MAX_PAGE_SIZE}, or absent.`,
      IN_REQUEST,
    );
  }
  const recursive = parseFlag(query.get('recursive'));
  if (recursive === undefined) {
    refuseField('recursive', 'This must be true or false.', IN_REQUEST);
  }
  return {
    place: query.get(containerField) ?? '',
    page_size: page_size || MAX_PAGE_SIZE,
    recursive,
    list_token: query.get('list_token') ?? '',
    filter: query.get('filter') ?? '',
  };
}

/**
 * Reads the expression that items are picked by: costly, so only once the caller may list at all.
 *
 * @throws Failure `invalid` naming the parameter
 */
export function parseListFilter({ filter }: ListRequest): Expression | undefined {
  if (filter === '') return undefined;
  const parsed = parseExpression(filter);
  if (parsed.valid) return parsed.expression;
  return refuseField('filter', `This field could not be parsed. ${parsed.because}.`, BAD_LIST);
}

/** @throws Failure `invalid` */
export function checkProjectList({ place, recursive }: ListRequest): void {
  if (recursive || isIdOf(place, 'scope', 'project')) return;
  refuseField(
    'scope_id',
    'This field must be a valid project scope ID or the list operation must be recursive.',
    'Improperly formatted identifier.',
  );
}
