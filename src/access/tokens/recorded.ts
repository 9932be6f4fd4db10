import type { RecordFacts } from '../../app/caller.ts';
import { hashText } from '../../audit/record.ts';
import type { Token } from './token.ts';

/**
 * Has a request's record say which token it is about, besides the one that it came with: by the same keyed
 * hash, and by its accessor where it is known. A batch token has none.
 */
export function noteToken(
  { record }: { record: RecordFacts },
  { id, accessor, entity_id }: Pick<Token, 'id'> & Partial<Pick<Token, 'accessor' | 'entity_id'>>,
): void {
  Object.assign(record.outcome, {
    token: hashText(Buffer.from(id, 'base64url')),
    accessor: accessor || undefined,
    entity_id: entity_id || undefined,
  });
}
