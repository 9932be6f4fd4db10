import type { Migration } from '../migration.ts';

/** By what a share is known for right before the others are there; see `seal/share-hash.ts`. */
export const shareHashes: Migration = {
  number: 18,
  name: 'share-hashes',
  // Null for an older seal: its hashes are worked out when enough of its shares have come.
  up: (t) => [`alter table seal add column share_hashes ${t.bytes}`],
};
