import type { ResourceRow } from '../../store/tables.ts';
import type { Resource } from './resource.ts';
import type { ResourceTypeName } from './types.ts';

/** Columns that may be long: what is read at once has a bound in their bytes. */
export const LONG = ['body', 'secret_sealed'] as const;

/** A resource as it is stored, with its body read. */
export function resourceOf(row: ResourceRow): Resource {
  return { ...row, type: row.type as ResourceTypeName, body: JSON.parse(row.body) };
}
