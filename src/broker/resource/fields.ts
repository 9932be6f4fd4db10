import { z } from 'zod';

/** Whole numbers come as numbers or as text. */
export const wholeNumber = () =>
  z
    .union([z.number(), z.string().regex(/^-?\d{1,16}$/)])
    .transform(Number)
    .pipe(
      z
        .int()
        .min(-(2 ** 31))
        .max(2 ** 32 - 1),
    );

/** Reads a flag of a query; one that is absent is not set. @returns undefined for what is no flag */
export function parseFlag(text: string | null): boolean | undefined {
  if (/^(1|t|true)$/i.test(text ?? '')) return true;
  return /^(|0|f|false)$/i.test(text ?? '') ? false : undefined;
}
