import type { ParameterReader } from '../access/parameter-rules.ts';
import type { AnyRoute } from './route.ts';

const readers = new WeakMap<AnyRoute, ParameterReader>();

/** How an endpoint reads its fields, as it declares them; one reader an endpoint. */
export function readerOf(route: AnyRoute): ParameterReader {
  const known = readers.get(route);
  if (known) return known;
  const { shape } = route.input;
  const reader: ParameterReader = {
    knows: (name) => Object.hasOwn(shape, name),
    read(name, value) {
      const reading = Object.hasOwn(shape, name) ? shape[name]?.safeParse(value) : undefined;
      return reading?.success ? reading.data : undefined;
    },
    namesOf: (name) => sameNames(route.old_names ?? {}, name),
  };
  readers.set(route, reader);
  return reader;
}

function sameNames(old_names: Readonly<Record<string, string>>, name: string): string[] {
  const present = old_names[name] ?? name;
  const old = Object.keys(old_names).filter((each) => old_names[each] === present);
  return [present, ...old];
}
