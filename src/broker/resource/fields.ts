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
