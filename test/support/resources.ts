import { parseId } from '../../src/broker/resource/ids.ts';
import type { Resource } from '../../src/broker/resource/resource.ts';

/** A resource as some test needs it: its type and subtype by its id, the rest unremarkable. */
export function makeResource(id: string, more: Partial<Resource> = {}): Resource {
  const { type, subtype } = parseId(id) ?? { type: 'target', subtype: '' };
  const scope_id = more.scope_id ?? 'p_1';
  return {
    id,
    type,
    subtype,
    scope_id,
    container_id: scope_id,
    owner_id: '',
    name: null,
    description: null,
    unique_key: null,
    version: 1,
    created_ms: 1_000,
    updated_ms: 1_000,
    body: {},
    secret_sealed: null,
    ...more,
  };
}
