import type { RecordFacts } from '../access/caller.ts';
import { Failure } from '../core/failure.ts';
import { NOT_RECORDED } from '../core/recorded-shape.ts';
import { holdsPrivateKey } from './private-keys.ts';

/**
 * Refuses a change of which the record would not say what it is: what a record leaves out because it may be a
 * secret is for requests that were refused, or somebody would hide behind it what they do.
 *
 * @throws Failure `invalid`, naming the field
 */
export function refuseUntold({ request, path, operation }: RecordFacts): void {
  for (const [name, value] of Object.entries(request)) {
    if (isLeftOut(value)) {
      throw new Failure('invalid', `${name}: has something nested that is not expected there`);
    }
    if (holdsPrivateKey(JSON.stringify(value) ?? '')) {
      throw new Failure('invalid', `${name}: has a private key, which is not expected there`);
    }
  }
  // What an older version took must be there to be removed.
  if (operation !== 'delete' && holdsPrivateKey(JSON.stringify(path))) {
    throw new Failure('invalid', 'the path has a private key');
  }
}

function isLeftOut(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === NOT_RECORDED;
  return Object.values(value).some((one) => one === NOT_RECORDED);
}
