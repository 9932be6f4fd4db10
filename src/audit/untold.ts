import type { RecordFacts } from '../app/caller.ts';
import { invalid } from '../core/failure.ts';
import { NOT_RECORDED } from '../core/recorded-shape.ts';
import { holdsPrivateKey } from './private-keys.ts';

/** What stands in records for a secret: a name like it would be told as the secret is. */
const HASH = /hmac-sha256:[0-9a-f]{64}/;

/**
 * Refuses a change of which the record would not say what it is: what a record leaves out because it may be a
 * secret is for requests that were refused, or somebody would hide behind it what they do.
 *
 * @throws Failure `invalid`, naming the field
 */
export function refuseUntold(record: RecordFacts): void {
  for (const [name, value] of Object.entries(record.request)) {
    if (isLeftOut(value)) throw invalid(`${name}: has something nested that is not expected there`);
  }
  for (const { where, value } of partsOf(record)) {
    if (HASH.test(textOf(value))) {
      throw invalid(`${where} has a hash as only audit records have it`);
    }
  }
}

/**
 * As {@link refuseUntold}, of a change in whose record something is hidden as a private key.
 *
 * @throws Failure `invalid`, naming the field
 */
export function refusePrivateKey(record: RecordFacts): void {
  for (const { where, value } of partsOf(record)) {
    if (holdsPrivateKey(JSON.stringify(value) ?? '')) {
      throw invalid(`${where} has a private key, which is not expected there`);
    }
  }
}

/** What was sent; without names of what is removed, since what an older version took must be there to be removed. */
function partsOf({
  request,
  path,
  operation,
}: RecordFacts): readonly { where: string; value: unknown }[] {
  const fields = Object.entries(request).map(([name, value]) => ({ where: `${name}:`, value }));
  if (operation !== 'delete') return [...fields, { where: 'the path', value: path }];
  return fields.filter(({ value }) => typeof value !== 'string' || !path.includes(value));
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

function isLeftOut(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === NOT_RECORDED;
  return Object.values(value).some((one) => one === NOT_RECORDED);
}
