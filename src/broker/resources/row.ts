import type { ResourceRow } from '../../store/tables.ts';
import type { Resource } from '../resource.ts';
import type { ResourceTypeName } from '../resource-types.ts';

/** A resource as it is stored, with its body read. */
export function resourceOf(row: ResourceRow): Resource {
  return { ...row, type: row.type as ResourceTypeName, body: JSON.parse(row.body) };
}
