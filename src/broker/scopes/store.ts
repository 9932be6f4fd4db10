import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { Resource } from '../resource.ts';
import type { ScopeBody } from './scope.ts';

/**
 * A scope whose primary auth method goes has none afterwards. It is asked when the write set runs:
 * whoever is making the method the primary one holds it until that is durable.
 */
export function clearPrimary(method: Pick<Resource, 'id' | 'scope_id'>, now_ms: number): Write {
  const bodyWith = (primary_auth_method_id: string): string =>
    JSON.stringify({ primary_auth_method_id } satisfies ScopeBody);
  return write(
    build
      .updateTable('resource')
      .set((row) => ({
        body: bodyWith(''),
        version: row('version', '+', 1),
        // Later than before even within one millisecond, so that a refreshed list sees it.
        updated_ms: row
          .case()
          .when('updated_ms', '<', now_ms)
          .then(now_ms)
          .else(row('updated_ms', '+', 1))
          .end(),
      }))
      .where('id', '=', method.scope_id)
      .where('body', '=', bodyWith(method.id)),
  );
}
