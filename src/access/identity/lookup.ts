import { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import { text } from '../../core/fields.ts';

/** What an entity or a group is looked up by; an empty text is one that was not sent. */
export const lookupInput = z.object({
  id: text('').describe('By id.'),
  name: text('').describe('By name.'),
  alias_id: text('').describe('By the id of an alias.'),
  alias_name: text('').describe('By the name of an alias, with alias_mount_accessor.'),
  alias_mount_accessor: text('').describe('Accessor of the mount that alias_name is of.'),
});
export type LookupInput = z.output<typeof lookupInput>;

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
    throw invalid(
      'exactly one of id, name, alias_id, or alias_name with alias_mount_accessor is needed',
    );
  }
  if (id !== '') return { by: 'id', id };
  if (name !== '') return { by: 'name', name };
  if (alias_id !== '') return { by: 'alias_id', alias_id };
  if (alias_name === '' || alias_mount_accessor === '') {
    throw invalid('alias_name and alias_mount_accessor are needed together');
  }
  return { by: 'alias', alias_name, alias_mount_accessor };
}
