import type { z } from 'zod';
import { bare } from '../app/output.ts';

/**
 * How an answer stands in its body: `bare` at paths that command lines of before ask for, in the `data` of an
 * envelope at those of present ones.
 */
export type AnswerForm = 'bare' | 'data';

export const outputAs = <S extends z.ZodType>(form: AnswerForm, schema: S) =>
  form === 'bare' ? bare(schema) : schema;

/** @param warnings told in a field of their own where there is no envelope */
export function resultAs<Value extends object>(
  form: AnswerForm,
  value: Value,
  warnings?: string[],
) {
  const told = warnings && { warnings };
  return form === 'bare' ? { bare: { ...value, ...told } } : { data: value, ...told };
}
