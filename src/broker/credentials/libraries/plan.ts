import {
  credentialTypeOf,
  DEFAULTS,
  KEY_SIZES,
  type LibraryBody,
  type LibraryItem,
  listAttributes,
} from './library.ts';
import { CREDENTIAL_TYPES } from './mapping.ts';

/** Paths of `update_mask` that a library of some type can change. */
export function libraryPaths(type: string): string[] {
  const overrides = 'credential_mapping_overrides';
  const names = Object.values(CREDENTIAL_TYPES).flat();
  return [
    ...listAttributes(type).map((name) => `attributes.${name}`),
    ...(type === 'vault-generic'
      ? [overrides, ...names.map((name) => `${overrides}.${name}_attribute`)]
      : []),
  ];
}

/**
 * A library after a request; what it does not speak of stays. A key's size that is taken back is the
 * usual one of the key's type.
 *
 * @param before undefined for a new one
 */
export function planLibrary(
  type: string,
  before: LibraryBody | undefined,
  item: LibraryItem,
  mask: readonly string[],
): LibraryBody {
  const speaksOf = (path: string): boolean => before === undefined || mask.includes(path);
  const isNamed = (name: string): boolean => speaksOf(`attributes.${name}`);
  const attributes = {
    ...DEFAULTS[type],
    ...pick(before?.attributes ?? {}, (name) => !isNamed(name)),
    ...pick(item.attributes ?? {}, isNamed),
  };
  if (isNamed('key_bits') && !attributes.key_bits) {
    const [size] = KEY_SIZES.get(attributes.key_type ?? '') ?? [];
    if (size === undefined) delete attributes.key_bits;
    else attributes.key_bits = size;
  }
  const { http_method } = attributes;
  return {
    credential_type: before?.credential_type ?? credentialTypeOf(type, item),
    overrides: planOverrides(before?.overrides ?? {}, item, speaksOf),
    attributes: {
      ...attributes,
      ...(http_method === undefined ? {} : { http_method: http_method.toUpperCase() }),
    },
    mount_id: before?.mount_id ?? '',
    ...(before?.saved_by ? { saved_by: before.saved_by } : {}),
  };
}

/** Those fields that are wanted and say something. */
function pick<T extends object>(
  fields: T,
  isWanted: (name: string) => boolean,
): { [Name in keyof T]?: NonNullable<T[Name]> } {
  const picked: { [Name in keyof T]?: NonNullable<T[Name]> } = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined && value !== null && value !== '' && isWanted(name)) {
      picked[name] = value;
    }
  }
  return picked;
}

function planOverrides(
  before: Readonly<Record<string, string>>,
  { credential_mapping_overrides: given = {} }: LibraryItem,
  speaksOf: (path: string) => boolean,
): Readonly<Record<string, string>> {
  const field = 'credential_mapping_overrides';
  const next: Record<string, string> = speaksOf(field) ? {} : { ...before };
  for (const [name, value] of Object.entries(given)) {
    if (!speaksOf(field) && !speaksOf(`${field}.${name}`)) continue;
    if (typeof value === 'string' && value !== '') next[name] = value;
    else delete next[name];
  }
  return next;
}
