import type { z } from 'zod';
import type { AnyBoundaryRoute } from '../../broker/resource/route.ts';
import { recordable } from '../../core/recorded-shape.ts';
import { MAX_REFERENCE, type NamedFields } from './body.ts';

/** What of a request its record is taken from. */
export function recordedOf(
  route: AnyBoundaryRoute,
  query: URLSearchParams,
  item: NamedFields,
  mask: readonly string[],
): NamedFields {
  const asked = route.query ? Object.keys(route.query.shape) : [];
  const sent = asked.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : []));
  // Only what this endpoint has: a name may be anything.
  const update_mask = mask.filter((path) => {
    const [name = '', within] = path.split('.');
    const isKnown = name !== 'version' && Object.hasOwn(route.input.shape, name);
    return isKnown && (within ?? '').length <= MAX_REFERENCE;
  });
  const shown = Object.entries(item).map(([name, value]) => [
    name,
    recordedField(route, name, value),
  ]);
  return { ...Object.fromEntries([...sent, ...shown]), update_mask };
}

/** `attributes` are checked where it is known of what; in the record they are as one of those kinds has them. */
function recordedField({ input, attributes = {} }: AnyBoundaryRoute, name: string, value: unknown) {
  if (name !== 'attributes' || typeof value !== 'object' || value === null) {
    const schema = Object.hasOwn(input.shape, name) ? input.shape[name] : undefined;
    return recordable(schema ? [schema] : [], value);
  }
  const shapes = Object.values(attributes).map(({ shape }) => shape);
  const kindsOf = (field: string): z.ZodType[] =>
    shapes.flatMap((shape) => (Object.hasOwn(shape, field) ? (shape[field] ?? []) : []));
  const fields = Object.entries(value).map(([field, each]) => [
    field,
    recordable(kindsOf(field), each),
  ]);
  return Object.fromEntries(fields);
}
