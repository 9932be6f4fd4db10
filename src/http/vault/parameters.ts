import type { ParameterReader } from '../../acl/parameter-forms.ts';
import { readerOfFields } from '../../acl/parameter-reader.ts';
import type { AnyRoute } from '../../app/route.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';

/** How an endpoint reads its fields, as it declares them; one reader an endpoint. */
export const readerOf = memoizeWeak(
  ({ input, old_names }: AnyRoute): ParameterReader => readerOfFields(input.shape, old_names),
);
