import { Failure } from '../../core/failure.ts';

/** What an entity or a group is looked up by; an empty text is one that was not sent. */
export interface LookupInput {
  id: string;
  name: string;
  alias_id: string;
  alias_name: string;
  alias_mount_accessor: string;
}

export type Lookup =
  | { by: 'id'; id: string }
  | { by: 'name'; name: string }
  | { by: 'alias_id'; alias_id: string }
  | { by: 'alias'; alias_name: string; alias_mount_accessor: string };

/**
 * The one thing that a lookup is by.
 *
 * @throws Failure `invalid` for none, for more than one, and for half of an alias
 */
export function parseLookup(input: LookupInput): Lookup {
  const { id, name, alias_id, alias_name, alias_mount_accessor } = input;
  const byAlias = alias_name !== '' || alias_mount_accessor !== '';
  if ([id, name, alias_id].filter((one) => one !== '').length + (byAlias ? 1 : 0) !== 1) {
    throw new Failure(
      'invalid',
      'exactly one of id, name, alias_id, or alias_name with alias_mount_accessor is needed',
    );
  }
  if (id !== '') return { by: 'id', id };
  if (name !== '') return { by: 'name', name };
  if (alias_id !== '') return { by: 'alias_id', alias_id };
  if (alias_name === '' || alias_mount_accessor === '') {
    throw new Failure('invalid', 'alias_name and alias_mount_accessor are needed together');
  }
  return { by: 'alias', alias_name, alias_mount_accessor };
}
