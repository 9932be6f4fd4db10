import { IN_REQUEST, refuseField } from '../field-errors.ts';
import { type Expression, parseExpression } from '../filter/expression.ts';
import { isIdOf } from '../ids.ts';

/** The most items of a page, and their number unless the request says. */
const MAX_PAGE_SIZE = 1000;

/** What a request lists. */
export interface ListQuery {
  page_size: number;
  filter: Expression | undefined;
  recursive: boolean;
  list_token: string;
}

export const BAD_LIST = 'Improperly formatted identifier.';

/**
 * @throws Failure `invalid` naming the parameter
 * @see B-18
 */
export function parsePaging(query: URLSearchParams): Omit<ListQuery, 'filter'> {
  const size = query.get('page_size') ?? '';
  const page_size = Number(size);
  if (!/^\d{0,9}$/.test(size) || page_size > MAX_PAGE_SIZE) {
    refuseField(
      'page_size',
      `This must be a whole number from 1 to ${MAX_PAGE_SIZE}, or absent.`,
      IN_REQUEST,
    );
  }
  const recursive = query.get('recursive') ?? '';
  if (!/^(|0|1|t|f|true|false)$/i.test(recursive)) {
    refuseField('recursive', 'This must be true or false.', IN_REQUEST);
  }
  return {
    page_size: page_size || MAX_PAGE_SIZE,
    recursive: /^(1|t|true)$/i.test(recursive),
    list_token: query.get('list_token') ?? '',
  };
}

/**
 * Reads what of a list is wanted: an expression that is costly to read, so only once the caller
 * may list at all.
 *
 * @throws Failure `invalid` naming the parameter
 */
export function parseListQuery(query: URLSearchParams): ListQuery {
  const paging = parsePaging(query);
  const text = query.get('filter') ?? '';
  const parsed = text === '' ? undefined : parseExpression(text);
  if (parsed?.valid === false) {
    refuseField('filter', `This field could not be parsed. ${parsed.because}.`, BAD_LIST);
  }
  return { ...paging, filter: parsed?.valid ? parsed.expression : undefined };
}

/** @throws Failure `invalid` */
export function checkProjectList(query: URLSearchParams, recursive: boolean): void {
  if (recursive || isIdOf(query.get('scope_id') ?? '', 'scope', 'project')) return;
  refuseField(
    'scope_id',
    'This field must be a valid project scope ID or the list operation must be recursive.',
    'Improperly formatted identifier.',
  );
}
