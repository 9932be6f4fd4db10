import type { Migration } from '../migration.ts';

/** A seal key that a device or another server encrypts is stored as that. */
export const wrappedSealKeys: Migration = {
  number: 91,
  name: 'wrapped seal keys',
  up: (t) => [`alter table seal add column seal_key_wrapped ${t.bytes}`],
};
