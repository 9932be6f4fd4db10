import type { ParameterReader } from '../../acl/parameter-forms.ts';
import { readerOfFields } from '../../acl/parameter-reader.ts';
import type { AnyRoute } from '../../app/route.ts';

const readers = new WeakMap<AnyRoute, ParameterReader>();

/** How an endpoint reads its fields, as it declares them; one reader an endpoint. */
export function readerOf(route: AnyRoute): ParameterReader {
  const known = readers.get(route);
  if (known) return known;
  const reader = readerOfFields(route.input.shape, route.old_names);
  readers.set(route, reader);
  return reader;
}
