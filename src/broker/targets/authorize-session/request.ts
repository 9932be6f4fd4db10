import type { FieldErrors } from '../../resource/field-errors.ts';
import { isIdOf } from '../../resource/ids.ts';

/** How a request says which target it means. */
interface TargetRef {
  /** The target's name; empty when the path has its id. */
  name: string;
  scope_id: string;
  scope_name: string;
  /** Empty for any. */
  host_id: string;
}

export function parseTargetRef(
  item: {
    readonly [Field in keyof TargetRef]?: string | undefined;
  },
): TargetRef {
  const { name = '', scope_id = '', scope_name = '', host_id = '' } = item;
  return { name, scope_id, scope_name, host_id };
}

const MALFORMED = 'Incorrectly formatted identifier.';
const NEITHER = 'Scope ID or scope name must be provided when target name is used.';
const BOTH = 'Scope ID and scope name cannot both be provided when target name is used.';

/** What is wrong with a request by itself. @see B-75 */
export function checkWanted(id: string, wanted: TargetRef, errors: FieldErrors): void {
  const { name, scope_id, scope_name, host_id } = wanted;
  if (name === '') {
    if (!isIdOf(id, 'target')) errors.add('id', MALFORMED);
    if (scope_id !== '') {
      errors.add('scope_id', 'Scope ID provided when target name was empty.');
    }
    if (scope_name !== '') {
      errors.add('scope_id', 'Scope name provided when target name was empty.');
    }
  } else {
    if (name !== id) {
      errors.add(
        'name',
        'Target name provided but does not match the given ID value from the URL.',
      );
    }
    const because = scope_id === '' ? NEITHER : BOTH;
    if ((scope_id === '') === (scope_name === '')) {
      errors.add('scope_id', because);
      errors.add('scope_name', because);
    }
  }
  if (host_id !== '' && !isIdOf(host_id, 'host')) errors.add('host_id', MALFORMED);
}
