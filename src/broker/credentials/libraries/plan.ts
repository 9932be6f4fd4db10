import type { ResourceInput } from '../../resource/handler.ts';
import { credentialTypeOf, DEFAULTS, type LibraryBody, libraryAttributes } from './library.ts';
import { CREDENTIAL_TYPES } from './mapping.ts';

/** Paths of `update_mask` that a library of some type can change. */
export function libraryPaths(type: string): string[] {
  const attributes = Object.keys(libraryAttributes[type]?.shape ?? {});
  const overrides = 'credential_mapping_overrides';
  const names = Object.values(CREDENTIAL_TYPES).flat();
  return [
    ...attributes.map((name) => `attributes.${name}`),
    ...(type === 'vault-generic'
      ? [overrides, ...names.map((name) => `${overrides}.${name}_attribute`)]
      : []),
  ];
}

/**
 * A library after a request; what it does not speak of stays.
 *
 * @param before undefined for a new one
 */
export function planLibrary(
  type: string,
  before: LibraryBody | undefined,
  item: ResourceInput,
  mask: readonly string[],
): LibraryBody {
  const attributes: Record<string, unknown> = { ...before?.attributes };
  const speaksOf = (path: string): boolean => before === undefined || mask.includes(path);
  for (const name of Object.keys(libraryAttributes[type]?.shape ?? {})) {
    if (!speaksOf(`attributes.${name}`)) continue;
    const value = item.attributes?.[name];
    if (value === undefined || value === '') delete attributes[name];
    else attributes[name] = value;
  }
  if (typeof attributes.http_method === 'string') {
    attributes.http_method = attributes.http_method.toUpperCase();
  }
  return {
    credential_type: before?.credential_type ?? credentialTypeOf(type, item),
    overrides: planOverrides(before?.overrides ?? {}, item, speaksOf),
    attributes: { ...DEFAULTS[type], ...attributes },
    mount_id: before?.mount_id ?? '',
    ...(before?.saved_by ? { saved_by: before.saved_by } : {}),
  };
}

function planOverrides(
  before: Readonly<Record<string, string>>,
  item: ResourceInput,
  speaksOf: (path: string) => boolean,
): Readonly<Record<string, string>> {
  const field = 'credential_mapping_overrides';
  const given = (item[field] ?? {}) as Readonly<Record<string, unknown>>;
  const next: Record<string, string> = speaksOf(field) ? {} : { ...before };
  for (const [name, value] of Object.entries(given)) {
    if (!speaksOf(field) && !speaksOf(`${field}.${name}`)) continue;
    if (typeof value === 'string' && value !== '') next[name] = value;
    else delete next[name];
  }
  return next;
}
